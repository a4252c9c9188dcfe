// AreaWorld: a record area with records in it, and who owns them: what a store would know, by
// version.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "server/record_area.h"
#include "tests/server/units.h"
#include "verify/record.h"

namespace plov::server {

inline constexpr uint64_t kAreaSeed = 77;

class AreaWorld {
 public:
  explicit AreaWorld(size_t budget_bytes = 16 * kMiB, size_t begin = kPageBytes)
      : region_(*Region::Create({.budget_bytes = budget_bytes})),
        memory_(&region_, begin),
        area_(&region_, &memory_) {}

  Region& region() { return region_; }
  Memory& memory() { return memory_; }
  RecordArea& area() { return area_; }

  struct Owned {
    uint64_t offset;
    size_t bytes;
  };
  const std::map<uint64_t, Owned>& owned() const { return owned_; }

  // A whole record of so many bytes; its version, or nullopt when memory is full.
  std::optional<uint64_t> Put(size_t record_bytes) {
    const auto offset = area_.Allocate(record_bytes);
    if (!offset) return std::nullopt;
    Write(*offset, record_bytes, ++last_version_);
    return last_version_;
  }
  void Write(uint64_t offset, size_t record_bytes, uint64_t version) {
    const char letter = static_cast<char>('a' + version % 26);
    const size_t rest_bytes = record_bytes - verify::kRecordHeaderBytes;
    const std::string key(std::min(verify::kKeyBytesMax, rest_bytes), letter);
    const std::string value(rest_bytes - key.size(), letter);
    uint64_t* shared = verify::WordsAt(region_.data(), offset);
    const auto mask = verify::Mask::Of(verify::Mix(version));
    verify::WriteRecordHead(shared, {key, value, version, 0, 0, mask}, value.size());
    verify::WriteRecordValue(shared, key.size(), value, mask);
    verify::SealRecord(shared, record_bytes, kAreaSeed);
    owned_[version] = {offset, record_bytes};
    versions_[offset] = version;
  }
  void Remove(uint64_t version) {
    const Owned owned = owned_.at(version);
    verify::RetractLive(verify::WordsAt(region_.data(), owned.offset) + 1);
    versions_.erase(owned.offset);
    owned_.erase(version);
    area_.Free(owned.offset, owned.bytes);
  }
  void RemoveAll() {
    while (!owned_.empty()) Remove(owned_.begin()->first);
  }
  std::vector<uint64_t> Fill(size_t record_bytes) {
    std::vector<uint64_t> versions;
    while (const auto version = Put(record_bytes)) versions.push_back(*version);
    return versions;
  }

  bool Clean(size_t bytes, size_t wanted_bytes = SIZE_MAX) {
    const auto relocate = [this](uint64_t offset, size_t record_bytes) {
      asked_.push_back(offset);
      Relocate(offset, record_bytes);
    };
    return area_.Clean(bytes, relocate, wanted_bytes);
  }
  // Offsets that cleaning has asked about.
  const std::vector<uint64_t>& asked() const { return asked_; }

  // Every owned record is whole where its owner believes it to be, and none overlaps another.
  ::testing::AssertionResult IsSound() {
    size_t live_bytes = 0;
    uint64_t end = 0;
    for (const auto& [offset, version] : versions_) {
      const Owned& owned = owned_.at(version);
      if (offset < end) return ::testing::AssertionFailure() << "overlap at " << offset;
      end = offset + owned.bytes;
      live_bytes += owned.bytes;
      if (region_.CommittedIn(offset, owned.bytes) < owned.bytes) {
        return ::testing::AssertionFailure() << "not committed: " << offset;
      }
      const auto item = verify::CheckRecord({region_.data() + offset, owned.bytes}, kAreaSeed);
      if (!item || item->version() != version) {
        return ::testing::AssertionFailure() << "record at " << offset << " is gone";
      }
    }
    if (area_.allocated_bytes() < live_bytes) return ::testing::AssertionFailure() << "allocated";
    if (area_.used_bytes() < area_.allocated_bytes()) {
      return ::testing::AssertionFailure()
             << "used " << area_.used_bytes() << " for " << area_.allocated_bytes();
    }
    if (memory_.used_bytes() < area_.used_bytes()) {
      return ::testing::AssertionFailure() << "memory is not told";
    }
    return ::testing::AssertionSuccess();
  }

 private:
  void Relocate(uint64_t offset, size_t record_bytes) {
    const auto found = versions_.find(offset);
    if (found == versions_.end() || owned_.at(found->second).bytes != record_bytes) return;
    const uint64_t version = found->second;
    const auto to = area_.MoveTo(record_bytes);
    if (!to) return;
    verify::MoveRecord(verify::WordsAt(region_.data(), *to),
                       verify::WordsAt(region_.data(), offset), record_bytes);
    Remove(version);
    owned_[version] = {*to, record_bytes};
    versions_[*to] = version;
  }

  Region region_;
  Memory memory_;
  RecordArea area_;
  std::map<uint64_t, Owned> owned_;        // by version
  std::map<uint64_t, uint64_t> versions_;  // by offset
  std::vector<uint64_t> asked_;
  uint64_t last_version_ = 0;
};

}  // namespace plov::server
