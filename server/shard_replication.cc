#include "server/shard_replication.h"

#include <utility>

namespace plov::server {

using enum verify::Counter;

namespace {

// Writes that other replicas do not hold yet.
constexpr size_t kStagedMax = 4096;

}  // namespace

ShardReplication::ShardReplication(Store* store, Sessions* sessions, Options options)
    : store_(store),
      options_(std::move(options)),
      replicated_(store, sessions, this, options_.server, std::move(options_.replica),
                  options_.kept ? *std::exchange(options_.kept, std::nullopt)
                                : ReplicatedStore::Kept{EntryApplier(store, sessions)},
                  options_.now_us()) {}

Batch::Outcome ShardReplication::Ask(const verify::Request& request, WriteReply* refusal) const {
  using enum Batch::Outcome;
  if (const Code failure = replicated_.failure(); failure != Code::kOk) {
    *refusal = RefusalOf(failure);
    return kDone;
  }
  if (!replicated_.takes_writes())
    return kLogs;  // until there are enough replicas, or its client's connection ends
  if (!store_->MayWrite(request) || store_->pending() >= kStagedMax) return kLogs;
  if (replicated_.is_behind()) return kLogs;
  const cluster::Full full = replicated_.other_full();
  if (full == cluster::Full::kLog) {
    *refusal = RefusalOf(Code::kNoSpace);
    return kDone;
  }
  if (full == cluster::Full::kMemory && request.operation != verify::Operation::kDelete) {
    *refusal = store_->RefuseForOther();
    return kDone;
  }
  const size_t value_bytes = request.rendezvous ? request.value_bytes : request.value.size();
  return replicated_.HasRoom(verify::LoggedBytes(request.key.size(), value_bytes)) ? kDone : kLogs;
}

// One question for all that was read in this turn; what was written in it is sent after that. Those of an epoch that has
// ended, while this is the primary still, are asked again; where it is not, their clients are gone.
bool ShardReplication::Step() {
  const bool asks = !unasked_.empty();
  const auto question = replicated_.Ask();
  for (const Waiting& waiting : std::exchange(unasked_, {})) {
    unsettled_.push_back({waiting, question});
  }
  const bool did = replicated_.Step(options_.now_us());
  if (asks) replicated_.Press(question);
  if (const bool had = std::exchange(has_served_, serves()); has_served_ && !had) ++promotions_;
  const bool are_of_epoch =
      unsettled_.empty() || unsettled_.front().question.epoch == replicated_.replica().epoch();
  if (are_of_epoch || !replicated_.serves()) return did || asks;
  for (const Unsettled& one : std::exchange(unsettled_, {})) unasked_.push_back(one.waiting);
  return true;
}

void ShardReplication::AnswerSnapshot(verify::Reply* reply) {
  if (const ReplicaLog* log = replicated_.disk_log()) {
    reply->version = log->feed()->Ask();
  } else {
    reply->status = Code::kInvalidArgument;
  }
}

void ShardReplication::PublishTo(CounterPage* page) {
  if (const ReplicaLog* log = replicated_.disk_log()) {
    counted_.Publish(*log->commit(), log::CommitMode::kStrict, log->feed(), *store_, page);
  }
  const cluster::Replica& replica = replicated_.replica();
  const cluster::Tail& tail = replica.tail();
  const auto& held = replica.held();
  page->Set(kReplicas, options_.replica.config.replicas);
  page->Set(kReplicaPrimary, serves());
  page->Set(kReplicasInSync, held ? held->shard.in_sync.size() : 0);
  page->Set(kReplicaEpoch, replica.epoch());
  page->Set(kReplicaPending, tail.end().number - tail.published().number);
  if (const uint64_t at = store_->safe_unix_us()) page->Set(kReplicaSafeAtUs, at);
  page->Set(kPromotions, promotions_);
}

std::optional<Waiting> ShardReplication::NextSettled() {
  while (!unsettled_.empty()) {
    const auto [waiting, question] = unsettled_.front();
    const Peer* peer = waiting.peer();
    const bool is_there = peer != nullptr && peer->batch != nullptr;
    if (is_there && !replicated_.MayAnswer(question)) return std::nullopt;
    unsettled_.pop_front();
    if (is_there) return waiting;
  }
  return std::nullopt;
}

int ShardReplication::SleepMs() const {
  const uint64_t now_us = options_.now_us();
  const uint64_t tick_us = replicated_.next_tick_us();
  return tick_us <= now_us ? 0 : static_cast<int>((tick_us - now_us + 999) / 1000);
}

}  // namespace plov::server
