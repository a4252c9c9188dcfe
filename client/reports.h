// Reports: what the servers are told of GETs, which they do not see - once in a while one shard, how many there were
// since it was told last, and each shard that asks for it what was found there.
#pragma once

#include <plov/client.h>

#include <chrono>

#include "client/link.h"
#include "verify/message.h"

namespace plov {

class Reports {
 public:
  // period: 0 for none.
  explicit Reports(std::chrono::microseconds period)
      : period_(period), told_at_(fabric::Clock::now()) {}

  // stats: returns what was done so far; called when that is to be told.
  void Tell(Link* link, Deadline now, auto&& stats) {
    if (period_.count() == 0) return;
    if (now - told_at_ >= period_) TellGets(link, now, stats());
    link->LookAtHits(now);
  }

 private:
  void TellGets(Link* link, Deadline now, const ClientStats& all) {
    told_at_ = now;
    const verify::GetReport done{all.gets, all.reads, all.torn_buckets + all.torn_records};
    if (done.gets == told_.gets || !link->quiet()) return;
    link->Report({done.gets - told_.gets, done.reads - told_.reads, done.torn - told_.torn});
    told_ = done;
  }

  std::chrono::microseconds period_;
  Deadline told_at_;
  verify::GetReport told_;  // all in all
};

}  // namespace plov
