// WarmTail: the end of a shard's log that a killed server may not have written yet, kept in a file beside its
// warm memory, so that the next server can log it (--warm with --log).
//
// The memory itself has the items. What it lacks is here: which keys were deleted, whose writes were applied,
// and of which life of which log all that is. The last `entries` are kept until the disk has them; the server
// that finds them logs them (server/unlogged.h).
//
// The file, in words: a page, and a ring of entries behind it.
//    0 magic   1 format   2, 3 log id   4 incarnation of the memory   5 life   6 next life   7 state
//    8, 9 boot id   10 published   11 durable   12 begin   13 end, both in bytes since the file was made
//    14 announced: where `end` is to be once the memory has what was announced
//    16 to 18 the write that is about to be published: version, client, sequence
//   entry: version, client, sequence, key bytes (0: a PUT), the key in whole words
// A killed process leaves its stores as far as it got, in their order (verify::KeepStoreOrder): so an entry is
// there once `end` is behind it. After a restart of the host nothing of it is believed.
//
// Threads: one at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <expected>
#include <functional>
#include <string>
#include <string_view>

#include "fabric/os.h"
#include "verify/log.h"

namespace plov::server {

class WarmTail {
 public:
  struct Entry {
    uint64_t version = 0;
    uint64_t client_id = 0;  // as the log names it
    uint64_t sequence = 0;
    std::string_view key = {};  // of a DELETE; empty: a PUT, whose item the memory has
  };

  // What a former server left beside the memory.
  enum class Former {
    kNone,        // no log was kept with it, or nobody knows which
    kUnfinished,  // it was being restored from the log: the log has all of it
    kStale,       // it is of before the host restarted: the log is what counts
    kServed,
  };

  // Of the memory in this file; made where there is none. kNoSpace, kPermission, kInvalidArgument (no plain
  // file), kSystem.
  static std::expected<WarmTail, Error> Open(const std::string& warm_path);
  // A server without a log goes on with the memory, and no log is of it any more.
  static void Remove(const std::string& warm_path);

  Former former() const { return former_; }
  // The memory of this incarnation is what was served last with this log, whose newest segment is of `life`.
  bool IsOf(const verify::LogId& log, uint64_t incarnation, uint64_t life) const;
  // The memory's recovery has redone what was announced.
  void ShowAnnounced();
  // All writes up to this version, that the log has, are in the memory.
  uint64_t published() const;
  // The log has all up to this version, unless it is another one by the same name.
  uint64_t durable_version() const { return durable_version_; }
  // Each entry in order, and at last the write that was about to be published. kCorrupt: they make no sense.
  std::expected<void, Error> ForEach(const std::function<void(const Entry&)>& visit) const;

  // The memory is being restored from the log: who finds it so begins anew.
  void BeginRestore();
  // Before the log begins a segment of `life`; and once it has, if the memory IsOf the log before.
  void AnnounceLife(uint64_t life);
  void GoOn(uint64_t life);
  // The memory is of this log from now on, and has all that the log has. There are no entries.
  struct Life {
    verify::LogId log;
    uint64_t incarnation = 0;
    uint64_t life = 0;
  };
  struct Versions {
    uint64_t published = 0;  // in the memory, or none of the log's
    uint64_t durable = 0;    // the log's last
  };
  void BeginLife(const Life& life, const Versions& versions);
  // The log has all of it.
  void Forget(const Versions& versions);

  // While it serves; the batches are those of the log, `durable` the last one that the disk has.

  // Room for more entries.
  bool HasRoom(uint64_t durable);
  // So much waits for the disk that it should be asked to hurry.
  bool is_half_full() const { return end_ - begin_ > capacity_ / 2; }
  // Before the table shows the write, and after: a PUT needs both.
  void Intend(uint64_t version, uint64_t client_id, uint64_t sequence);
  void Add(const Entry& entry, uint64_t batch);
  // What is Added from now on counts only once it is shown: the memory has all of it then, or a restart will redo it.
  void Announce();
  bool announces() const { return announces_; }
  void Show();
  void SetPublished(uint64_t version);
  void SetDurable(uint64_t version);

 private:
  // Of the entries before `end` the last is in `batch`.
  struct Mark {
    uint64_t batch;
    uint64_t end;
    uint64_t version;
  };

  WarmTail(std::string path, fabric::Mapping memory);

  uint64_t* Word(size_t index) const;
  uint64_t* RingWord(uint64_t at) const;
  void ReadFormer();
  void Clear();

  std::string path_;
  fabric::Mapping memory_;
  Former former_ = Former::kNone;
  uint64_t capacity_ = 0;
  uint64_t begin_ = 0;
  uint64_t end_ = 0;
  bool announces_ = false;
  uint64_t durable_version_ = 0;
  std::deque<Mark> marks_;
};

}  // namespace plov::server
