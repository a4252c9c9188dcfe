// GetHandler: a shard's answer to a GET by message: the value, or a record that is held while the client
// READs it. What a client suspects is verified. And to a REDUCE and a FILTER, which look at the value here.
//
// Threads: the shard's.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "server/batch.h"
#include "server/endpoint.h"
#include "server/shard_counters.h"
#include "server/slice.h"
#include "server/store.h"
#include "verify/message.h"

namespace plov::server {

class GetHandler {
 public:
  // All outlive it. hold_us: how long a record is held at most.
  GetHandler(Store* store, const Slices* slices, uint64_t hold_us, ShardCounters* counters)
      : store_(store), slices_(slices), hold_us_(hold_us), counters_(counters) {}

  // The request at hand of the peer's batch: its reply, of at most so many bytes, when the outcome is
  // kDone.
  Batch::Outcome Handle(Peer* peer, size_t room, verify::Reply* reply);
  // The same of a REDUCE or a FILTER.
  Batch::Outcome Scan(Peer* peer, size_t room, verify::Reply* reply);
  // Gives up what is held for it until then or shorter.
  void Release(Peer* peer, uint64_t until_us);
  // The same of all, and of what is being verified: it goes.
  void Abandon(Peer* peer);
  bool holds_any() const { return holds_ > 0; }

 private:
  Batch::Outcome Verify(Batch* batch);
  void ReplyGet(Peer* peer, const Store::Hit& hit, size_t room, verify::Reply* reply);

  Store* store_;
  const Slices* slices_;
  uint64_t hold_us_;
  ShardCounters* counters_;
  uint64_t holds_ = 0;
  std::string value_;  // of the reply at hand
};

}  // namespace plov::server
