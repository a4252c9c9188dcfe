// WriteHandler: a shard's answer to writes: at most once (server/sessions.h), when log or replicas take
// it (server/shard_commit.h), large values by a READ of the client's memory.
//
// Threads: the shard's.
#pragma once

#include <optional>
#include <string_view>

#include "fabric/fabric.h"
#include "server/batch.h"
#include "server/endpoint.h"
#include "server/shard_commit.h"
#include "server/shard_counters.h"
#include "server/slice.h"
#include "server/store.h"
#include "verify/message.h"

namespace plov::server {

class WriteHandler {
 public:
  // All outlive it.
  WriteHandler(Store* store, const Slices* slices, ShardCounters* counters)
      : store_(store), slices_(slices), counters_(counters) {}
  // Before the first write, if at all.
  void CommitBy(ShardCommit* commit) { commit_ = commit; }
  void Join(const Siblings* siblings) { siblings_ = siblings; }

  // The request at hand of the peer's batch: its reply, when the outcome is kDone.
  Batch::Outcome Handle(Endpoint* endpoint, fabric::PeerId id, Peer* peer, verify::Reply* reply);
  // The value that it waits for cannot be READ.
  void Fail(Peer* peer, verify::Reply* reply);

 private:
  // Whether its session knows the answer.
  bool Answered(Peer* peer, const verify::Request& request, WriteReply* reply);
  void FindNumber(const verify::Request& request, uint64_t now_us, WriteReply* reply);
  Batch::Outcome Modify(Peer* peer, WriteReply* write);
  Batch::Outcome Ask(Peer* peer, WriteReply* refusal);
  Batch::Outcome Commit(Batch* batch, WriteReply* write);
  Batch::Outcome GivePlace(Batch* batch, const verify::Request& request, WriteReply* write);
  Batch::Outcome StoreLong(Batch* batch, const verify::Request& request, WriteReply* write);
  Batch::Outcome HandleLarge(Endpoint* endpoint, fabric::PeerId id, Peer* peer, WriteReply* write);
  Batch::Outcome CommitLarge(Batch* batch, const verify::Request& request, WriteReply* write);
  Batch::Outcome Applied(const std::optional<WriteReply>& applied, const Batch& batch,
                         WriteReply* write) const;

  Store* store_;
  const Slices* slices_;
  ShardCounters* counters_;
  ShardCommit* commit_ = nullptr;
  const Siblings* siblings_ = nullptr;  // null: COMMITs have its own keys alone
};

}  // namespace plov::server
