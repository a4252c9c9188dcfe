// Flush: deletes all of a shard's items that are there when it begins, some in each turn, each by a DELETE of its version,
// so log and replicas see those. What is stored meanwhile stays.
//
// An item that is there when a flush begins is gone when it ends, and its DELETE waits for log and replicas as any other.
// Clients name a flush at random: who asks again, since the reply was lost, waits for the same one. Those that are asked for
// while one is under way begin together when it is over. Where the log cannot be written the flush stands still until it can.
//
// Threads: the shard's.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>

#include "cuckoo/table_pass.h"
#include "server/batch.h"
#include "server/shard_commit.h"
#include "server/store.h"
#include "verify/message.h"

namespace plov::server {

class Flush {
 public:
  // It outlives it.
  explicit Flush(Store* store) : store_(store) {}
  // Before the first one, if at all.
  void CommitBy(ShardCommit* commit) { commit_ = commit; }

  // A FLUSH, which may ask for one, or how far that is.
  void Answer(Batch* batch, verify::Reply* reply);

  // Whether Step may have something to do, now or later.
  bool is_wanted() const { return asked_ != finished_ || due_us_ != 0; }
  // Looks at some places, or deletes so many items. False: there was nothing to do now.
  bool Step(uint64_t now_us, size_t items);
  // Milliseconds after which time alone may make work; needs is_wanted.
  int SleepMs(uint64_t now_us) const;
  // Another one serves the clients from now on. What was over here may not be so where they come back: those DELETEs can
  // have been given up.
  void Forget();

 private:
  struct Named {
    uint64_t name;
    uint64_t number;  // of the flush that serves it
    uint64_t deleted = 0;
  };
  struct Found {
    std::string key;
    uint64_t version;
  };

  const Named& Find(uint64_t name);
  // The next one, or what is to be it.
  void Ask();
  bool Begin(uint64_t now_us);
  void Meet(const verify::Bucket& bucket);
  bool Delete(const Found& found, uint64_t now_us);
  void End(uint64_t now_us);

  Store* store_;
  ShardCommit* commit_ = nullptr;
  uint64_t due_us_ = 0;  // when the next one is asked for; 0: none is to be
  std::deque<Named> named_;
  uint64_t asked_ = 0;          // the number of the last
  uint64_t asked_version_ = 0;  // the last that was given out before
  uint64_t finished_ = 0;       // of the last that is over
  // Of the one under way.
  uint64_t number_ = 0;        // 0: none is
  uint64_t last_version_ = 0;  // that it deletes
  uint64_t begun_us_ = 0;
  uint64_t steps_ = 0;
  uint64_t deleted_ = 0;
  std::optional<cuckoo::TablePass> pass_;  // once what is to be deleted is in the table
  bool is_read_ = false;
  std::deque<Found> found_;
};

}  // namespace plov::server
