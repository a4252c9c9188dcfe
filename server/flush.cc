#include "server/flush.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <utility>

namespace plov::server {

using verify::Reply;
using verify::Request;

namespace {

// Names that are known; a client waits for one.
constexpr size_t kNamesMax = 4096;
// Places of the table that are read for each item that may be deleted.
constexpr uint64_t kPlacesPerItem = 8;
// Between two looks at a log or a replica that takes no DELETE now.
constexpr int kLookMs = 100;
constexpr int kSleepMsMax = 60'000;

}  // namespace

const Flush::Named& Flush::Find(uint64_t name) {
  const auto known = std::find_if(named_.rbegin(), named_.rend(),
                                  [name](const Named& named) { return named.name == name; });
  if (known != named_.rend()) return *known;
  if (named_.size() == kNamesMax) named_.pop_front();
  Ask();
  return named_.emplace_back(Named{.name = name, .number = asked_});
}

void Flush::Ask() {
  asked_ = std::max(number_, finished_) + 1;
  asked_version_ = store_->last_version();
}

// A refusal is the client's to know: the flush itself goes on once writes do.
void Flush::Answer(Batch* batch, Reply* reply) {
  const Request& request = *batch->request;
  const uint64_t now_us = batch->times.slice_us();
  WriteReply refusal;
  if (commit_ != nullptr) {
    static_cast<void>(commit_->Ask({.operation = verify::Operation::kDelete}, &refusal));
  }
  reply->status = request.expected_version == 0 ? Code::kProtocol : refusal.status;
  reply->version = refusal.version;
  if (reply->status != Code::kOk) return;
  if (request.ttl_seconds != 0) {
    due_us_ = now_us + uint64_t{request.ttl_seconds} * 1'000'000;
    return;
  }
  const Named& named = Find(request.expected_version);
  const bool is_over = named.number <= finished_;
  reply->version = is_over ? 0 : 1 + steps_;
  reply->number = named.number == number_ ? deleted_ : named.deleted;
  batch->tells_of_items = true;
  if (is_over && commit_ != nullptr) batch->rests_on = commit_->rests_on();
}

bool Flush::Step(uint64_t now_us, size_t items) {
  if (due_us_ != 0 && now_us >= due_us_) {
    due_us_ = 0;
    Ask();
  }
  if (asked_ == finished_ || (!pass_ && !Begin(now_us))) return false;
  ++steps_;
  for (; items > 0 && !found_.empty(); --items) {
    if (!Delete(found_.front(), now_us)) return false;
    found_.pop_front();
  }
  if (!found_.empty()) return true;
  if (is_read_) {
    End(now_us);
    return true;
  }
  // What a damaged bucket held nobody knows; who asks for it is told of the damage.
  is_read_ = pass_->Step(items * kPlacesPerItem) == cuckoo::TablePass::Progress::kOver;
  return true;
}

// Waits until what was written before is in the table, where the pass finds it.
bool Flush::Begin(uint64_t now_us) {
  if (number_ == 0) {
    number_ = asked_;
    last_version_ = asked_version_;
    begun_us_ = now_us;
    deleted_ = 0;
  }
  if (store_->first_pending_version() <= last_version_) return false;
  is_read_ = false;
  pass_.emplace(store_->table_to_read(), [this](const verify::Bucket& bucket) { Meet(bucket); });
  return true;
}

void Flush::Meet(const verify::Bucket& bucket) {
  const auto hit = store_->HitOf(bucket);
  if (!hit || hit->item.version() > last_version_) return;
  found_.push_back({store_->table().current().KeyOf(bucket), hit->item.version()});
}

// False: the log, or a replica, takes it later.
bool Flush::Delete(const Found& found, uint64_t now_us) {
  Request request;
  request.operation = verify::Operation::kDelete;
  request.conditional = true;
  request.expected_version = found.version;
  request.key = found.key;
  if (commit_ != nullptr) {
    WriteReply refusal;
    const Batch::Outcome outcome = commit_->Ask(request, &refusal);
    if (outcome != Batch::Outcome::kDone || refusal.status != Code::kOk) return false;
  }
  deleted_ += store_->Delete(request, now_us).status == Code::kOk ? 1 : 0;
  return true;
}

void Flush::End(uint64_t now_us) {
  spdlog::info("shard {}: flushed {} items in {:.3f} s", store_->superblock().shard, deleted_,
               static_cast<double>(now_us - begun_us_) * 1e-6);
  for (Named& named : named_) {
    if (named.number == number_) named.deleted = deleted_;
  }
  pass_.reset();
  finished_ = std::exchange(number_, 0);
}

void Flush::Forget() {
  pass_.reset();
  found_.clear();
  named_.clear();
  number_ = due_us_ = 0;
  finished_ = asked_;
}

int Flush::SleepMs(uint64_t now_us) const {
  if (asked_ != finished_) return kLookMs;
  const uint64_t left_us = due_us_ - std::min(due_us_, now_us);
  return static_cast<int>(std::min<uint64_t>(left_us / 1000 + 1, kSleepMsMax));
}

}  // namespace plov::server
