#include "server/shard_log.h"

#include <algorithm>

namespace plov::server {

namespace {

// Writes that are in the log and not yet in the table: more than a commit takes, and a few hundred KiB.
constexpr size_t kPendingMax = 4096;
// Of these, what is published before others have their turn.
constexpr size_t kPublishedPerTurn = 64;
// Nobody waits for async's batches, and to wake the log's thread takes as long as some ten writes: so one is
// passed on in so many turns, when it has so many bytes, and before the shard sleeps.
constexpr uint64_t kTurnsPerPass = 32;
constexpr size_t kPassBytes = size_t{64} << 10;

}  // namespace

ShardLog::ShardLog(Store* store, const Sessions* sessions, const Options& options)
    : store_(store),
      log_(options.log),
      mode_(options.mode),
      appended_batch_(options.log->last_batch()) {
  store_->LogTo(log_, mode_, options.tail);
  if (options.feed != nullptr) snapshot_.emplace(store_, sessions, log_, options.feed);
}

Batch::Outcome ShardLog::Ask(const verify::Request& request, WriteReply* refusal) const {
  const size_t value_bytes = request.rendezvous ? request.value_bytes : request.value.size();
  const auto outcome = AskForRoom(verify::LoggedBytes(request.key.size(), value_bytes), refusal);
  const bool may_write = refusal->status != Code::kOk || store_->MayWrite(request);
  return may_write ? outcome : Batch::Outcome::kLogs;
}

// All of it in one batch, so that a torn end of the log has none of it.
Batch::Outcome ShardLog::AskTogether(const Store::Together& all, WriteReply* refusal) const {
  size_t bytes = 0;
  bool may_write = true;
  // A read asks whether its key is there.
  for (const verify::TransactionRead& read : all.reads) {
    may_write =
        store_->MayWrite({.operation = verify::Operation::kReplace, .key = read.key}) && may_write;
  }
  for (const verify::Request& write : all.writes) {
    may_write = store_->MayWrite(write) && may_write;
    bytes += verify::LoggedBytes(write.key.size(), write.value.size());
  }
  const auto outcome = AskForRoom(bytes, refusal);
  return may_write || refusal->status != Code::kOk ? outcome : Batch::Outcome::kLogs;
}

Batch::Outcome ShardLog::AskForRoom(size_t logged_bytes, WriteReply* refusal) const {
  using enum Batch::Outcome;
  if (const Code failure = log_->failure(); failure != Code::kOk) {
    *refusal = RefusalOf(failure);
    return kDone;
  }
  if (store_->pending() >= kPendingMax) return kLogs;
  if (snapshot_ && snapshot_->is_behind()) return kLogs;
  if (!store_->TailHasRoom()) return kLogs;
  return log_->HasRoom(logged_bytes) ? kDone : kLogs;
}

// The reply waits as one to a write does (rule D4), in every mode.
void ShardLog::AnswerSync(Batch* batch, verify::Reply* reply) {
  if (!log_->pending()) return;
  if (const Code failure = log_->failure(); failure != Code::kOk) {
    reply->status = failure;
    reply->version = failure == Code::kNoSpace ? verify::kLogIsFull : 0;
    return;
  }
  batch->rests_on = std::max(batch->rests_on, log_->RequestSync());
}

bool ShardLog::Step() {
  const bool holds_back = mode_ == log::CommitMode::kAsync && ++turns_ % kTurnsPerPass != 0 &&
                          log_->open_bytes() < kPassBytes;
  if (!holds_back) log_->PassOn();
  if (log_->last_batch() != appended_batch_) {
    appended_batch_ = log_->last_batch();
    unattested_ = true;
  }
  failures_.Look(store_->superblock().shard, *log_);
  return store_->PublishDurable(kPublishedPerTurn);
}

// In the order in which they were finished; none rests on a later batch than those after it.
std::optional<Waiting> ShardLog::NextSettled() {
  const uint64_t settled = std::min(log_->durable(), store_->first_pending_batch() - 1);
  while (!unsettled_.empty()) {
    const Waiting next = unsettled_.front();
    const Peer* peer = next.peer();
    const bool is_there = peer != nullptr && peer->batch != nullptr;
    if (is_there && peer->batch->rests_on > settled) return std::nullopt;
    unsettled_.pop_front();
    if (is_there) return next;
  }
  return std::nullopt;
}

// A second after the last write, so that damage to its batch is told from a torn end (rule D5).
void ShardLog::Tick() {
  if (!unattested_ || log_->pending()) return;
  log_->Attest();
  unattested_ = false;
}

void ShardLog::PublishTo(CounterPage* page) {
  counted_.Publish(*log_, mode_, snapshot_ ? &snapshot_->feed() : nullptr, *store_, page);
}

void ShardLog::AnswerSnapshot(verify::Reply* reply) {
  if (snapshot_) {
    reply->version = snapshot_->feed().Ask();
  } else {
    reply->status = Code::kInvalidArgument;
  }
}

}  // namespace plov::server
