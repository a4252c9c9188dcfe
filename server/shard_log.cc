// The shard and its log: replies wait until what they say is durable, and writes until the log takes
// them.
#include <spdlog/spdlog.h>

#include <algorithm>

#include "server/shard.h"

namespace plov::server {

namespace {

// Writes that are in the log and not yet in the table: more than a commit takes, and a few hundred KiB.
constexpr size_t kPendingMax = 4096;
// Of these, what is published before others have their turn.
constexpr size_t kPublishedPerTurn = 64;

}  // namespace

void Shard::LogTo(log::GroupCommit* log, log::CommitMode mode, log::SnapshotFeed* feed,
                  WarmTail* tail) {
  log_ = log;
  commit_mode_ = mode;
  appended_batch_ = log->last_batch();
  store_->LogTo(log, mode, tail);
  if (feed != nullptr) snapshot_.emplace(store_.get(), &sessions_, log, feed);
}

// kDone: it takes the write, or `refusal` says why not.
Shard::Outcome Shard::AskLog(Peer* peer, WriteReply* refusal) {
  if (log_ == nullptr) return Outcome::kDone;
  if (const Code failure = log_->failure(); failure != Code::kOk) {
    *refusal = {failure, failure == Code::kNoSpace ? verify::kLogIsFull : 0};
    return Outcome::kDone;
  }
  const verify::Request& request = *peer->batch->request;
  if (store_->IsPending(request.key) || store_->pending() >= kPendingMax) return Outcome::kLogs;
  if (snapshot_ && snapshot_->is_behind()) return Outcome::kLogs;
  if (!store_->TailHasRoom()) return Outcome::kLogs;
  const size_t value_bytes = request.rendezvous ? request.value_bytes : request.value.size();
  return log_->HasRoom(verify::LoggedBytes(request.key.size(), value_bytes)) ? Outcome::kDone
                                                                             : Outcome::kLogs;
}

// The reply waits as one to a write does (rule D4), in every mode.
void Shard::AnswerSync(Batch* batch, verify::Reply* reply) {
  if (log_ == nullptr) {
    reply->status = Code::kInvalidArgument;
    return;
  }
  if (!log_->pending()) return;
  if (const Code failure = log_->failure(); failure != Code::kOk) {
    reply->status = failure;
    reply->version = failure == Code::kNoSpace ? verify::kLogIsFull : 0;
    return;
  }
  batch->rests_on = std::max(batch->rests_on, log_->RequestSync());
}

bool Shard::StepLog() {
  log_->PassOn();
  if (log_->last_batch() != appended_batch_) {
    appended_batch_ = log_->last_batch();
    unattested_ = true;
  }
  TellOfLog();
  const bool published = store_->PublishDurable(kPublishedPerTurn);
  const size_t waiting = unsettled_.size();
  SendSettled();
  const bool has_read = snapshot_ && snapshot_->Step();
  return published || has_read || unsettled_.size() != waiting;
}

// In the order in which they were finished; none rests on a later batch than those after it.
void Shard::SendSettled() {
  const uint64_t settled = std::min(log_->durable(), store_->first_pending_batch() - 1);
  while (!unsettled_.empty()) {
    const Waiting next = unsettled_.front();
    const auto it = next.endpoint->peers.find(next.peer);
    const bool is_there = it != next.endpoint->peers.end() && it->second.batch != nullptr;
    if (is_there && it->second.batch->rests_on > settled) return;
    unsettled_.pop_front();
    if (is_there) SendReplies(next.endpoint, next.peer, &it->second);
  }
}

void Shard::TellOfLog() {
  const uint32_t shard = store_->superblock().shard;
  if (const uint64_t failures = log_->failures(); failures != log_failures_) {
    if (!log_fails_) {
      spdlog::error("shard {} cannot write its log, so writes are refused: {}", shard,
                    log_->failure_message());
    }
    log_failures_ = failures;
    log_fails_ = true;
  }
  if (log_fails_ && log_->failure() == Code::kOk) {
    log_fails_ = false;
    spdlog::info("shard {} writes its log again", shard);
  }
}

// A second after the last write, so that damage to its batch is told from a torn end (rule D5).
void Shard::AttestLog() {
  if (!unattested_ || log_->pending()) return;
  log_->Attest();
  unattested_ = false;
}

void Shard::AnswerSnapshot(verify::Reply* reply) {
  if (snapshot_) {
    reply->version = snapshot_->feed().Ask();
  } else {
    reply->status = Code::kInvalidArgument;
  }
}

}  // namespace plov::server
