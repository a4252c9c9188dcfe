#include "server/transaction.h"

#include <algorithm>

namespace plov::server {

using verify::Operation;

namespace {

// Slices of making room that a COMMIT of several shards takes at most before others have their turns.
constexpr int kSlicesPerTurn = 8;

}  // namespace

bool Transaction::Open(const verify::Request& request, uint64_t client_id, Store* own,
                       const Siblings* siblings) {
  if (request.rendezvous || request.conditional) return false;
  auto all = verify::DecodeTransaction(request.value);
  if (!all) return false;
  siblings_ = siblings;
  for (const verify::TransactionRead& read : all->reads) {
    if (!TakeKey(read.key, *own)) return false;
  }
  for (const verify::Request& write : all->writes) {
    if (!TakeKey(write.key, *own)) return false;
  }
  MakeParts(own);
  if (std::ranges::none_of(parts_, &Part::is_own)) {
    Reset();
    return false;
  }
  for (const verify::TransactionRead& read : all->reads) PartOf(read.key)->reads.push_back(read);
  for (verify::Request& write : all->writes) {
    Part* part = PartOf(write.key);
    write.sequence = request.sequence;
    part->writes.push_back(write);
    part->writings.emplace_back().client_id = client_id;
    order_.push_back(part);
  }
  return true;
}

bool Transaction::TakeKey(std::string_view key, const Store& own) {
  if (siblings_ == nullptr) return own.Owns(key);
  numbers_.push_back(siblings_->Of(key));
  return true;
}

void Transaction::MakeParts(Store* own) {
  std::ranges::sort(numbers_);
  numbers_.erase(std::ranges::unique(numbers_).begin(), numbers_.end());
  for (const uint32_t number : numbers_) {
    Store* store = siblings_->StoreOf(number);
    parts_.push_back({.store = store, .is_own = store == own});
  }
  if (siblings_ == nullptr) parts_.push_back({.store = own, .is_own = true});
}

Transaction::Part* Transaction::PartOf(std::string_view key) {
  if (parts_.size() == 1) return &parts_.front();
  const auto at = std::ranges::lower_bound(numbers_, siblings_->Of(key));
  return &parts_[static_cast<size_t>(at - numbers_.begin())];
}

// kOk: all its PUTs have their places.
std::optional<Code> Transaction::Part::Place(uint64_t now_us, bool may_wait) {
  room.may_wait = may_wait;
  for (; placed < writes.size(); ++placed) {
    if (writes[placed].operation == Operation::kDelete) continue;
    Store::Writing& writing = writings[placed];
    writing.room.may_wait = may_wait;
    const auto status = store->Place(writes[placed], now_us, &writing);
    if (status != Code::kOk) return status;
  }
  return Code::kOk;
}

void Transaction::Part::Abandon() {
  for (Store::Writing& writing : writings) store->Abandon(&writing);
}

bool Transaction::Part::waits() const {
  return room.waits() || (placed < writings.size() && writings[placed].room.waits());
}

std::optional<WriteReply> Transaction::Go(uint64_t now_us, bool may_wait) {
  for (Part& part : parts_) {
    const auto status =
        part.Place(now_us, part.is_own ? may_wait : part.store->growth().draining());
    if (!status) return std::nullopt;
    if (*status != Code::kOk) return part.store->Refusal(*status);
  }
  for (Part& part : parts_) {
    const auto status = part.store->Ready(part.together(), now_us, &part.room);
    if (!status) return std::nullopt;
    if (*status == Code::kNoSpace) return part.store->Refusal(*status);
    if (*status != Code::kOk) return WriteReply{*status, 0};
  }
  const uint64_t version = Stage(now_us);
  Publish(version);
  parts_.front().store->CountCommit();
  return WriteReply{Code::kOk, version};
}

// Nothing can fail any more. The versions of the writes follow one another, whatever their stores.
uint64_t Transaction::Stage(uint64_t now_us) {
  uint64_t version = 0;
  for (Part& part : parts_) {
    version = std::max(version, part.store->last_version());
    part.staged = 0;
  }
  for (Part* part : order_) {
    const size_t i = part->staged++;
    const size_t together = i == 0 ? part->writes.size() : 1;
    version = part->store->Stage(part->writes[i], now_us, version, together, &part->writings[i]);
  }
  return version;
}

// W12, with the buckets of all the stores. A restart finds all of them as they were until the decision, in the memory of
// the least shard that is written, and as they are to be from then on.
void Transaction::Publish(uint64_t version) {
  std::vector<Part*> written;
  for (Part& part : parts_) {
    if (!part.writes.empty()) written.push_back(&part);
  }
  if (written.size() == 1 && !written[0]->store->defers()) {
    written[0]->store->PublishTogether(written[0]->writes.size());
  }
  if (written.size() < 2) return;
  const auto decider = static_cast<size_t>(written[0] - parts_.data());
  for (Part* part : written) part->store->KeepStaged(part->writes.size());
  for (Part* part : written) part->store->Record({.shard = numbers_[decider], .id = version});
  written[0]->store->Decide(version);
  for (Part* part : written) part->store->RetractStaged();
  for (Part* part : written) part->store->ShowStaged();
}

void Transaction::GoInTurns(uint64_t now_us, bool may_wait) {
  const Siblings::Turns turns(siblings_, numbers_);
  for (int left = kSlicesPerTurn; left > 0 && !answer_; --left) {
    answer_ = Go(now_us, may_wait);
    if (waits()) break;
  }
  if (!answer_) return;
  for (Part& part : parts_) part.Abandon();
}

void Transaction::GiveUpInTurns() {
  const Siblings::Turns turns(siblings_, numbers_);
  for (Part& part : parts_) part.Abandon();
}

bool Transaction::waits() const { return std::ranges::any_of(parts_, &Part::waits); }

void Transaction::Reset() {
  if (parts_.size() == 1) parts_.front().Abandon();
  siblings_ = nullptr;
  numbers_.clear();
  parts_.clear();
  order_.clear();
  answer_.reset();
}

}  // namespace plov::server
