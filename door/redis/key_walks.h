// KeyWalks: walks of the server's table, whose items KEYS and SCAN tell.
//
// A walk serves all commands that waited for one when it began; those that come meanwhile wait for the next. So a
// hundred clients cost two walks. An index stays for a while, and SCANs go on in it: what matters to one is that its
// walk began after its iteration did, and each walk begins after the one before. That makes a cursor's guarantee
// without anything being kept for it: an element that is there from the first SCAN with the cursor 0 to the last is in
// every index that serves them, and they go through all positions.
//
// Threads: any.
#pragma once

#include <plov/client.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <expected>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "door/blocking_calls.h"
#include "door/budget.h"
#include "door/redis/key_index.h"

namespace plov::door::redis {

class KeyWalks {
 public:
  using Index = std::shared_ptr<const KeyIndex>;
  // Set by who asked: nobody waits any more. It stands alone: relaxed.
  using Abandoned = std::shared_ptr<std::atomic<bool>>;
  // Called in the walks' thread.
  using Done = std::move_only_function<void(const std::expected<Index, Error>&)>;
  struct Job {
    uint64_t position = 0;  // that the index is to have
    bool wants_all = false;
    Abandoned abandoned;
    Done done;
  };

  KeyWalks(const std::string& server, const ClientOptions& options, Budget* budget)
      : budget_(budget), calls_(server, options, [this] { return Age(); }) {}
  // Ends the walk under way; jobs are dropped.
  ~KeyWalks() { is_stopping_.store(true, std::memory_order_relaxed); }

  // For an index whose walk begins after the call.
  void Ask(Job job);
  // The last one, if it has the position and is not too old; else nullptr.
  Index Last(uint64_t position);

 private:
  using Clock = std::chrono::steady_clock;

  void AskFirst(std::vector<Job> jobs);
  void AddWalk();
  void Walk(std::expected<Client*, Error> client);
  std::vector<Job> TakeJobs();
  uint64_t FirstPosition(const Job& oldest) const;
  std::expected<Index, Error> Build(Client* client, const std::vector<Job>& jobs);
  bool MayStop(const std::vector<Job>& jobs) const;
  void Give(std::vector<Job>* jobs, const std::expected<Index, Error>& index);
  void Publish(const Index& index, Clock::time_point began_at);
  bool Age();

  Budget* const budget_;
  std::atomic<bool> is_stopping_ = false;  // stands alone: relaxed
  std::mutex mutex_;
  std::vector<Job> jobs_;              // under mutex_
  bool is_walk_due_ = false;           // under mutex_: calls_ has one that has not begun
  Index last_;                         // under mutex_
  Clock::time_point useful_to_;        // under mutex_: of last_
  uint64_t reached_ = KeyIndex::kEnd;  // the walks' thread's: where the last walk from 0 ended
  BlockingCalls calls_;                // its thread uses all of the above
};

}  // namespace plov::door::redis
