#include "tests/log/simulated_disk.h"

#include <algorithm>
#include <cassert>
#include <cerrno>
#include <numeric>
#include <utility>

namespace plov::test {
namespace {

using Fallible = std::expected<void, Error>;

std::pair<uint64_t, uint64_t> SectorsOf(uint64_t offset, size_t bytes) {
  constexpr uint64_t kBytes = SimulatedDisk::kSectorBytes;
  return {offset / kBytes, (offset + bytes + kBytes - 1) / kBytes};
}

std::vector<std::byte> Joined(std::span<const log::Bytes> pieces) {
  std::vector<std::byte> joined;
  for (const log::Bytes piece : pieces) joined.insert(joined.end(), piece.begin(), piece.end());
  return joined;
}

}  // namespace

class SimulatedDisk::OpenFile : public log::File {
 public:
  OpenFile(SimulatedDisk* disk, std::string name, ContentPtr content, Mode mode)
      : disk_(disk), name_(std::move(name)), content_(std::move(content)), mode_(mode) {}

  uint64_t bytes() const override {
    const std::lock_guard lock(disk_->mutex_);
    return content_->bytes.size();
  }
  bool has_other_names() const override {
    const std::lock_guard lock(disk_->mutex_);
    return std::ranges::count(disk_->directory_, content_, &Directory::value_type::second) > 1;
  }
  Fallible Read(uint64_t offset, std::span<std::byte> to) override {
    const std::lock_guard lock(disk_->mutex_);
    if (auto fails = disk_->Enter(Call::kRead, name_); !fails) return fails;
    const auto& bytes = content_->bytes;
    if (offset > bytes.size() || to.size() > bytes.size() - offset) {
      return Fail(Code::kCorrupt, disk_->PathOf(name_) + " ends before");
    }
    std::copy_n(bytes.begin() + static_cast<ptrdiff_t>(offset), to.size(), to.begin());
    return {};
  }
  Fallible Write(uint64_t offset, std::span<const log::Bytes> pieces) override {
    const std::lock_guard lock(disk_->mutex_);
    return disk_->WriteTo(this, offset, Joined(pieces));
  }
  Fallible Sync() override {
    const std::lock_guard lock(disk_->mutex_);
    return disk_->SyncFile(this);
  }
  void DropCache() override {
    const std::lock_guard lock(disk_->mutex_);
    content_->DropCache();
  }

  const std::string& name() const { return name_; }
  Content* content() const { return content_.get(); }
  Mode mode() const { return mode_; }

 private:
  SimulatedDisk* disk_;
  std::string name_;
  ContentPtr content_;
  Mode mode_;
};

// Content.

void SimulatedDisk::Content::WriteSector(uint64_t sector, uint64_t offset, log::Bytes from) {
  const uint64_t begin = std::max(offset, sector * kSectorBytes);
  const uint64_t end = std::min(offset + from.size(), (sector + 1) * kSectorBytes);
  if (end > bytes.size()) {
    bytes.resize(end);
    unsynced_sizes.push_back(end);
  }
  std::copy_n(from.begin() + static_cast<ptrdiff_t>(begin - offset), end - begin,
              bytes.begin() + static_cast<ptrdiff_t>(begin));
  Sector now{};
  const size_t here = std::min<size_t>(kSectorBytes, bytes.size() - sector * kSectorBytes);
  std::copy_n(bytes.begin() + static_cast<ptrdiff_t>(sector * kSectorBytes), here, now.begin());
  unsynced[sector].push_back(now);
}

void SimulatedDisk::Content::SyncSector(uint64_t sector) {
  const auto found = unsynced.find(sector);
  if (found == unsynced.end()) return;
  const uint64_t end = (sector + 1) * kSectorBytes;
  if (durable.size() < end) durable.resize(end);
  std::ranges::copy(found->second.back(),
                    durable.begin() + static_cast<ptrdiff_t>(end - kSectorBytes));
  unsynced.erase(found);
}

void SimulatedDisk::Content::SyncSize() {
  for (const uint64_t size : unsynced_sizes) durable_bytes = std::max(durable_bytes, size);
  unsynced_sizes.clear();
}

void SimulatedDisk::Content::DropCache() {
  for (uint64_t sector = 0; sector * kSectorBytes < bytes.size(); ++sector) {
    if (unsynced.contains(sector)) continue;
    const size_t end = std::min<size_t>(bytes.size(), (sector + 1) * kSectorBytes);
    for (size_t i = sector * kSectorBytes; i < end; ++i) {
      bytes[i] = i < durable.size() ? durable[i] : std::byte{0};
    }
  }
}

std::vector<std::byte> SimulatedDisk::Content::AfterPowerCut(Random* random) const {
  uint64_t size = durable_bytes;
  if (!unsynced_sizes.empty() && (*random)() % 2 == 0) {
    size = std::max(size, unsynced_sizes[(*random)() % unsynced_sizes.size()]);
  }
  std::vector<std::byte> after = durable;
  after.resize(size);
  // Often all or none of them: neither is likely when each sector is drawn on its own.
  const uint64_t kept_of_8 = (*random)() % 9;
  for (const auto& [sector, writes] : unsynced) {
    const uint64_t at = sector * kSectorBytes;
    if (at >= size || (*random)() % 8 >= kept_of_8) continue;
    const Sector& kept = (*random)() % 2 == 0 ? writes.back() : writes[(*random)() % writes.size()];
    std::copy_n(kept.begin(), std::min<uint64_t>(kSectorBytes, size - at),
                after.begin() + static_cast<ptrdiff_t>(at));
  }
  return after;
}

// Faults.

void SimulatedDisk::FailNext(Call call, Code code, uint64_t after) {
  const std::lock_guard lock(mutex_);
  const auto index = static_cast<size_t>(call);
  faults_[index].push_back({calls_[index] + after, code});
}

void SimulatedDisk::FailAtRandom(double probability) {
  const std::lock_guard lock(mutex_);
  fault_probability_ = probability;
}

void SimulatedDisk::FailAllAfter(uint64_t after) {
  const uint64_t now = calls();
  const std::lock_guard lock(mutex_);
  all_fail_from_ = now + after;
}

void SimulatedDisk::SetFull(bool is_full) {
  const std::lock_guard lock(mutex_);
  is_full_ = is_full;
}

void SimulatedDisk::ClearFaults() {
  const std::lock_guard lock(mutex_);
  for (auto& faults : faults_) faults.clear();
  fault_probability_ = 0;
  all_fail_from_.reset();
  power_is_off_ = false;
  is_full_ = false;
}

uint64_t SimulatedDisk::calls() const {
  const std::lock_guard lock(mutex_);
  return std::accumulate(calls_.begin(), calls_.end(), uint64_t{0});
}

uint64_t SimulatedDisk::calls(Call call) const {
  const std::lock_guard lock(mutex_);
  return calls_[static_cast<size_t>(call)];
}

Fallible SimulatedDisk::Enter(Call call, const std::string& name) {
  const uint64_t before = std::accumulate(calls_.begin(), calls_.end(), uint64_t{0});
  const auto index = static_cast<size_t>(call);
  const uint64_t number = calls_[index]++;
  if (all_fail_from_ && before >= *all_fail_from_) {
    power_is_off_ = before > *all_fail_from_;
    return FailErrno(PathOf(name), EIO);
  }
  for (const Fault& fault : faults_[index]) {
    if (fault.at == number) return Fail(fault.code, PathOf(name) + ": a fault of the test");
  }
  const bool is_read = call == Call::kRead || call == Call::kList;
  if (fault_probability_ > 0 && !is_read &&
      std::uniform_real_distribution<>(0, 1)(random_) < fault_probability_) {
    const Code code = call == Call::kWrite && OneOf(3) ? Code::kNoSpace : Code::kSystem;
    return Fail(code, PathOf(name) + ": a random fault");
  }
  return {};
}

// Files.

std::expected<std::unique_ptr<log::File>, Error> SimulatedDisk::Open(const std::string& name,
                                                                     Mode mode) {
  const std::lock_guard lock(mutex_);
  const Call call = mode == Mode::kCreate ? Call::kCreate : Call::kOpen;
  if (auto fails = Enter(call, name); !fails) return std::unexpected(fails.error());
  if (mode == Mode::kCreate) {
    if (directory_.contains(name)) return FailErrno(PathOf(name), EEXIST);
    Make({.from = {}, .to = name, .content = std::make_shared<Content>()});
  }
  const auto content = Find(name);
  if (!content) return std::unexpected(content.error());
  return std::make_unique<OpenFile>(this, name, *content, mode);
}

Fallible SimulatedDisk::WriteTo(OpenFile* file, uint64_t offset, log::Bytes from) {
  assert(file->mode() != Mode::kRead);
  if (auto fails = Enter(Call::kWrite, file->name()); !fails) {
    if (!power_is_off_) WritePartOf(file, offset, from);
    return fails;
  }
  Content* content = file->content();
  if (is_full_ && offset + from.size() > content->bytes.size()) {
    return Fail(Code::kNoSpace, PathOf(file->name()) + ": the disk is full");
  }
  const auto [begin, end] = SectorsOf(offset, from.size());
  for (uint64_t sector = begin; sector < end; ++sector) {
    content->WriteSector(sector, offset, from);
    if (file->mode() == Mode::kDurable) content->SyncSector(sector);
  }
  if (file->mode() == Mode::kDurable) {
    content->durable_bytes = std::max<uint64_t>(content->durable_bytes, offset + from.size());
  }
  return {};
}

void SimulatedDisk::WritePartOf(OpenFile* file, uint64_t offset, log::Bytes from) {
  Content* content = file->content();
  const auto [begin, end] = SectorsOf(offset, from.size());
  const bool all = OneOf(4);
  for (uint64_t sector = begin; sector < end; ++sector) {
    if (!all && OneOf(2)) continue;
    if (is_full_ && (sector + 1) * kSectorBytes > content->bytes.size()) continue;
    content->WriteSector(sector, offset, from);
    if (file->mode() != Mode::kDurable) continue;
    if (all || OneOf(2)) content->SyncSector(sector);
    if (!all && OneOf(2)) content->unsynced.erase(sector);
  }
}

Fallible SimulatedDisk::SyncFile(OpenFile* file) {
  Content* content = file->content();
  const auto fails = Enter(Call::kSync, file->name());
  if (!fails && power_is_off_) return fails;
  const bool all = fails || OneOf(4);
  std::vector<uint64_t> sectors;
  for (const auto& [sector, writes] : content->unsynced) sectors.push_back(sector);
  for (const uint64_t sector : sectors) {
    if (all || OneOf(2)) content->SyncSector(sector);
  }
  if (all || OneOf(2)) content->SyncSize();
  // What is left was dropped: nobody will write it any more.
  content->unsynced.clear();
  content->unsynced_sizes.clear();
  return fails;
}

// Names.

void SimulatedDisk::Apply(const Change& change, Directory* directory) {
  if (!change.from.empty()) directory->erase(change.from);
  if (!change.to.empty()) (*directory)[change.to] = change.content;
}

std::expected<SimulatedDisk::ContentPtr, Error> SimulatedDisk::Find(const std::string& name) const {
  const auto found = directory_.find(name);
  if (found == directory_.end()) return FailErrno(PathOf(name), ENOENT);
  return found->second;
}

void SimulatedDisk::Make(Change change) {
  Apply(change, &directory_);
  unsynced_changes_.push_back(std::move(change));
}

Fallible SimulatedDisk::Rename(const std::string& from, const std::string& to) {
  const std::lock_guard lock(mutex_);
  if (auto fails = Enter(Call::kRename, from); !fails) return fails;
  const auto content = Find(from);
  if (!content) return std::unexpected(content.error());
  if (from != to) Make({.from = from, .to = to, .content = *content});
  return {};
}

Fallible SimulatedDisk::Remove(const std::string& name) {
  const std::lock_guard lock(mutex_);
  if (auto fails = Enter(Call::kRemove, name); !fails) return fails;
  if (!directory_.contains(name)) return FailErrno(PathOf(name), ENOENT);
  Make({.from = name, .to = {}, .content = nullptr});
  return {};
}

Fallible SimulatedDisk::Link(const std::string& from, const std::string& to) {
  const std::lock_guard lock(mutex_);
  if (auto fails = Enter(Call::kLink, from); !fails) return fails;
  auto content = Find(from);
  if (!content) return std::unexpected(content.error());
  if (directory_.contains(to)) return FailErrno(PathOf(to), EEXIST);
  Make({.from = {}, .to = to, .content = *content});
  return {};
}

Fallible SimulatedDisk::SyncNames() {
  const std::lock_guard lock(mutex_);
  const auto fails = Enter(Call::kSyncNames, "");
  if (!fails && power_is_off_) return fails;
  const size_t changes = unsynced_changes_.size();
  const auto done = static_cast<ptrdiff_t>(fails ? changes : random_() % (changes + 1));
  for (ptrdiff_t i = 0; i < done; ++i) {
    Apply(unsynced_changes_[static_cast<size_t>(i)], &durable_directory_);
  }
  unsynced_changes_.erase(unsynced_changes_.begin(), unsynced_changes_.begin() + done);
  return fails;
}

std::expected<std::vector<std::string>, Error> SimulatedDisk::List() {
  std::unique_lock lock(mutex_);
  if (auto fails = Enter(Call::kList, ""); !fails) return std::unexpected(fails.error());
  lock.unlock();
  return Names();
}

// A power cut, and damage.

std::unique_ptr<SimulatedDisk> SimulatedDisk::Crash(Random* random) const {
  const std::lock_guard lock(mutex_);
  Directory names = durable_directory_;
  const size_t changes = (*random)() % (unsynced_changes_.size() + 1);
  for (size_t i = 0; i < changes; ++i) Apply(unsynced_changes_[i], &names);
  auto after = std::make_unique<SimulatedDisk>((*random)());
  std::map<const Content*, ContentPtr> copies;  // a file with two names stays one
  for (const auto& [name, content] : names) {
    ContentPtr& copy = copies[content.get()];
    if (copy == nullptr) {
      copy = std::make_shared<Content>();
      copy->bytes = content->AfterPowerCut(random);
      copy->durable = copy->bytes;
      copy->durable_bytes = copy->bytes.size();
    }
    after->directory_[name] = copy;
  }
  after->durable_directory_ = after->directory_;
  return after;
}

std::unique_ptr<SimulatedDisk> SimulatedDisk::AfterKill(Random* random) const {
  const std::lock_guard lock(mutex_);
  auto after = std::make_unique<SimulatedDisk>((*random)());
  std::map<const Content*, ContentPtr> copies;
  const auto copy_of = [&copies](const ContentPtr& content) {
    ContentPtr& copy = copies[content.get()];
    if (copy == nullptr && content != nullptr) copy = std::make_shared<Content>(*content);
    return copy;
  };
  for (const auto& [name, content] : directory_) after->directory_[name] = copy_of(content);
  for (const auto& [name, content] : durable_directory_) {
    after->durable_directory_[name] = copy_of(content);
  }
  after->unsynced_changes_ = unsynced_changes_;
  for (Change& change : after->unsynced_changes_) change.content = copy_of(change.content);
  return after;
}

std::vector<std::string> SimulatedDisk::Names() const {
  const std::lock_guard lock(mutex_);
  std::vector<std::string> names;
  for (const auto& [name, content] : directory_) names.push_back(name);
  return names;
}

std::vector<std::byte> SimulatedDisk::Get(const std::string& name) const {
  const std::lock_guard lock(mutex_);
  return directory_.at(name)->bytes;
}

void SimulatedDisk::Put(const std::string& name, std::vector<std::byte> bytes) {
  const std::lock_guard lock(mutex_);
  auto content = std::make_shared<Content>();
  content->durable = bytes;
  content->durable_bytes = bytes.size();
  content->bytes = std::move(bytes);
  directory_[name] = content;
  durable_directory_[name] = content;
}

void SimulatedDisk::Flip(const std::string& name, uint64_t offset, std::byte bits) {
  auto bytes = Get(name);
  bytes.at(offset) ^= bits;
  Put(name, std::move(bytes));
}

void SimulatedDisk::Truncate(const std::string& name, uint64_t bytes) {
  auto kept = Get(name);
  kept.resize(bytes);
  Put(name, std::move(kept));
}

void SimulatedDisk::Erase(const std::string& name) {
  const std::lock_guard lock(mutex_);
  directory_.erase(name);
  durable_directory_.erase(name);
}

void SimulatedDisk::Swap(const std::string& one, const std::string& other) {
  auto bytes = Get(one);
  Put(one, Get(other));
  Put(other, std::move(bytes));
}

}  // namespace plov::test
