#include "door/redis/transaction.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "door/connection.h"
#include "door/redis/command.h"
#include "door/worker.h"

namespace plov::door::redis {

namespace {

// What a step makes at most of the value that is there, beside what it was told: a reply and a value.
constexpr size_t kMadeOfValue = 2;
// The reply goes through the connection's output.
constexpr size_t kReplyCopies = 2;
constexpr std::string_view kTooLarge =
    "ERR plov: a transaction has 128 keys at most, and writes 16 KiB of keys and values";
constexpr std::string_view kNoClusters = "ERR plov: a server of a cluster takes no transactions";

}  // namespace

Transaction::Transaction(Content content, Resp resp, const RedisOptions* options)
    : content_(std::move(content)),
      resp_(resp),
      options_(options),
      reserved_bytes_(content_.bytes) {}

void Transaction::Start(Worker* worker) {
  worker_ = worker;
  deadline_ = Clock::now() + options_->timeout;
  worker_->counters().Add(Count::kOthers);
  WantKeys();
  if (items_.count() == 0) return GoOn();
  if (options_->is_cluster) return EndWithError(kNoClusters);
  if (items_.count() > kCommitItemsMax) return EndWithError(kTooLarge);
  Read();
}

void Transaction::WantKeys() {
  std::vector<std::string_view> keys;
  for (const auto& step : content_.steps) step->AddKeys(&keys);
  for (const std::string_view key : keys) items_.Want(key, TransactionItems::Part::kValue);
  if (content_.watches == nullptr) return;
  for (const Watches::Watch& watch : content_.watches->all) {
    items_.Want(watch.key, TransactionItems::Part::kVersionOnly);
  }
}

void Transaction::Read() {
  left_ = items_.count();
  error_.reset();
  for (size_t i = 0; i < items_.count(); ++i) {
    worker_->client().StartGet(items_.key(i),
                               [this, i](const Client::GetResult& result) { TakeRead(i, result); });
  }
}

void Transaction::TakeRead(size_t i, const Client::GetResult& result) {
  if (!result) {
    error_ = result.error();
  } else if (const Item* item = *result ? &**result : nullptr;
             item != nullptr && items_.wants_value(i) && !HasMemory(item->value.size())) {
    error_ = Error{Code::kNoSpace, ""};
  } else {
    worker_->counters().Add(Count::kGets);
    if (item != nullptr) worker_->counters().Add(Count::kGetHits);
    items_.TakeRead(i, item);
  }
  if (--left_ > 0) return;
  if (error_) return EndWithFailure(*error_);
  GoOn();
}

void Transaction::GoOn() {
  if (!WatchesStand()) return EndWithNull();
  if (RunSteps()) Commit();
}

bool Transaction::WatchesStand() const {
  if (content_.watches == nullptr) return true;
  return std::ranges::all_of(content_.watches->all, [this](const Watches::Watch& watch) {
    return items_.version(watch.key) == watch.version;
  });
}

bool Transaction::RunSteps() {
  reply = content_.heading;
  std::vector<std::string_view> keys;
  for (const auto& step : content_.steps) {
    keys.clear();
    step->AddKeys(&keys);
    size_t bytes = 0;
    for (const std::string_view key : keys) {
      const Item* item = items_.Find(key);
      bytes += item == nullptr ? 0 : item->value.size() * kMadeOfValue;
    }
    if (!HasMemory(bytes)) {
      EndWithFailure({Code::kNoSpace, ""});
      return false;
    }
    step->RunOn(&items_, &reply);
    if (step->closes_group) reply += step->closing();
    if (items_.is_too_large()) {
      EndWithError(kTooLarge);
      return false;
    }
  }
  return true;
}

bool Transaction::HasMemory(size_t more_bytes) {
  const size_t bytes =
      content_.bytes + items_.value_bytes() + reply.capacity() * kReplyCopies + more_bytes;
  if (bytes <= reserved_bytes_) return true;
  if (!connection()->Reserve(bytes - reserved_bytes_)) return false;
  reserved_bytes_ = bytes;
  return true;
}

void Transaction::Commit() {
  if (items_.count() == 0) return EndWell();
  worker_->client().StartCommit(items_.Reads(), items_.Writes(),
                                [this](const Client::PutResult& result) { TakeCommitted(result); });
}

void Transaction::TakeCommitted(const Client::PutResult& result) {
  if (result) return EndWell();
  switch (result.error().code) {
    case Code::kVersionMismatch:
      if (Clock::now() < deadline_) return Read();
      return EndWithFailure({Code::kTimeout, "the keys were written by others all the time"});
    case Code::kTooLarge:
      return EndWithError(kTooLarge);
    case Code::kInvalidArgument:
      return EndWithError(kCrossSlot);
    default:
      return EndWithFailure(result.error());
  }
}

void Transaction::CountWrites() {
  for (const CommitWrite& write : items_.Writes()) {
    worker_->counters().Add(write.value ? Count::kStores : Count::kDeletes);
    if (!write.value) worker_->counters().Add(Count::kDeleteHits);
  }
}

void Transaction::End() {
  if (content_.outcome != nullptr) content_.outcome->is_there = true;
  connection()->End(this);
}

void Transaction::EndWell() {
  CountWrites();
  if (content_.outcome != nullptr) content_.outcome->took_effect = true;
  End();
}

void Transaction::EndWithNull() {
  reply = resp_ == Resp::k2 ? "*-1\r\n" : "_\r\n";
  End();
}

void Transaction::EndWithError(std::string_view text) {
  has_failed = true;
  reply.clear();
  AddError(text, &reply);
  End();
}

void Transaction::EndWithFailure(const Error& error) {
  worker_->counters().Add(error.code == Code::kNoSpace ? Count::kOutOfMemory : Count::kFailures);
  has_failed = true;
  reply.clear();
  AddFailure(error, &reply);
  End();
}

}  // namespace plov::door::redis
