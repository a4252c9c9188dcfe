// SimulatedDisk: a Disk in memory that forgets at a power cut what was not synced, as a real one does, and
// fails when told to. What it does depends on its seed and on the calls alone.
//
// Of each file it keeps what is durable, and of each 512-byte sector what was written since and not synced; of
// the names what is durable, and the changes since, in their order. After a power cut
//  - a sector that was not synced holds what it held before, or anything that was written to it since;
//  - a file is as long as it was, or as any write since has made it;
//  - the first few changes of names have happened, and the others have not.
//
// Threads: as Disk; Crash and the methods that damage files while no other thread is at work.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "log/disk.h"

namespace plov::test {

class SimulatedDisk : public log::Disk {
 public:
  enum class Call : uint8_t {
    kOpen,  // of a file that is there
    kCreate,
    kRead,
    kWrite,
    kSync,
    kRename,
    kRemove,
    kLink,
    kSyncNames,
    kList,
  };
  static constexpr size_t kCalls = 10;
  static constexpr size_t kSectorBytes = 512;
  using Random = std::mt19937_64;

  explicit SimulatedDisk(uint64_t seed = 1) : random_(seed) {}

  std::expected<std::unique_ptr<log::File>, Error> Open(const std::string& name,
                                                        Mode mode) override;
  std::expected<void, Error> Rename(const std::string& from, const std::string& to) override;
  std::expected<void, Error> Remove(const std::string& name) override;
  std::expected<void, Error> Link(const std::string& from, const std::string& to) override;
  std::expected<void, Error> SyncNames() override;
  std::expected<std::vector<std::string>, Error> List() override;
  std::string PathOf(const std::string& name) const override { return "sim/" + name; }

  // Faults. A write that fails has changed any of its sectors. A sync that fails has made any sectors durable;
  // the others are lost at a power cut even if a later sync succeeds, and can be read until then. SyncNames
  // that fails has made the first few changes durable. Any other call that fails has done nothing.

  // The `after`-th call of this kind from now on, from 0 on, fails once.
  void FailNext(Call call, Code code, uint64_t after = 0);
  // Each call that writes or opens fails with this probability from now on.
  void FailAtRandom(double probability);
  // The `after`-th call of any kind fails, and all after it do and do nothing: the power is going.
  void FailAllAfter(uint64_t after);
  // A write that makes a file longer fails with kNoSpace.
  void SetFull(bool is_full);
  // No fault from now on; a full disk has room again.
  void ClearFaults();
  // Calls of all kinds so far.
  uint64_t calls() const;
  // Calls of this kind so far.
  uint64_t calls(Call call) const;

  // The disk as it may be after a power cut, without faults. This one stays as it is.
  std::unique_ptr<SimulatedDisk> Crash(Random* random) const;
  // The disk as the next process finds it when this one is killed, without faults: all that was written can be
  // read, and what was not synced still is not. This one stays as it is.
  std::unique_ptr<SimulatedDisk> AfterKill(Random* random) const;

  // Files as they are read, and damage, which is durable at once. A file named here is there, except for
  // those that `Put` and `Copy` make.

  std::vector<std::string> Names() const;
  bool Has(const std::string& name) const {
    const std::lock_guard lock(mutex_);
    return directory_.contains(name);
  }
  std::vector<std::byte> Get(const std::string& name) const;
  void Put(const std::string& name, std::vector<std::byte> bytes);
  void Flip(const std::string& name, uint64_t offset, std::byte bits);
  void Truncate(const std::string& name, uint64_t bytes);
  void Erase(const std::string& name);
  void Swap(const std::string& one, const std::string& other);
  void Copy(const std::string& from, const std::string& to) { Put(to, Get(from)); }

 private:
  class OpenFile;
  using Sector = std::array<std::byte, kSectorBytes>;

  // A file's content, whatever its names.
  struct Content {
    std::vector<std::byte> bytes;    // as it is read
    std::vector<std::byte> durable;  // and after a power cut, as far as `durable_bytes`
    uint64_t durable_bytes = 0;
    std::map<uint64_t, std::vector<Sector>> unsynced;  // by number, each write since
    std::vector<uint64_t> unsynced_sizes;

    // Writes the part of `from`, which lies at `offset`, that is in this sector.
    void WriteSector(uint64_t sector, uint64_t offset, log::Bytes from);
    void SyncSector(uint64_t sector);
    void SyncSize();
    void DropCache();
    std::vector<std::byte> AfterPowerCut(Random* random) const;
  };
  using ContentPtr = std::shared_ptr<Content>;
  using Directory = std::map<std::string, ContentPtr>;

  // A change of names. Without `content` the name goes, without `from` nothing else does.
  struct Change {
    std::string from;  // goes
    std::string to;    // is there from now on
    ContentPtr content;
  };
  static void Apply(const Change& change, Directory* directory);

  // Below, with mutex_ held.

  // Counts the call; an error if it is to fail.
  std::expected<void, Error> Enter(Call call, const std::string& name);
  std::expected<ContentPtr, Error> Find(const std::string& name) const;
  void Make(Change change);
  bool OneOf(uint64_t count) { return random_() % count == 0; }
  std::expected<void, Error> WriteTo(OpenFile* file, uint64_t offset, log::Bytes from);
  void WritePartOf(OpenFile* file, uint64_t offset, log::Bytes from);
  std::expected<void, Error> SyncFile(OpenFile* file);

  mutable std::mutex mutex_;
  Random random_;
  Directory directory_;
  Directory durable_directory_;
  std::vector<Change> unsynced_changes_;
  std::array<uint64_t, kCalls> calls_{};
  struct Fault {
    uint64_t at;  // of the calls of its kind
    Code code;
  };
  std::array<std::vector<Fault>, kCalls> faults_;
  double fault_probability_ = 0;
  std::optional<uint64_t> all_fail_from_;  // of all calls
  bool power_is_off_ = false;              // the first one has failed
  bool is_full_ = false;
};

}  // namespace plov::test
