#include "door/redis/store_several.h"

#include <algorithm>
#include <utility>

#include "door/connection.h"
#include "door/redis/reply.h"
#include "door/redis/transaction_items.h"
#include "door/worker.h"

namespace plov::door::redis {

namespace {

size_t BytesOf(const KeyValues& items) {
  size_t bytes = items.capacity() * sizeof(KeyValue);
  for (const KeyValue& item : items) bytes += item.key.capacity() + item.value.capacity();
  return bytes;
}

bool AreForOneCommit(const Error& error) {
  return error.code != Code::kInvalidArgument && error.code != Code::kTooLarge;
}

}  // namespace

size_t StoreSeveral::bytes() const { return sizeof(*this) + reply.capacity() + BytesOf(items_); }

void StoreSeveral::Start(Worker* worker) {
  worker_ = worker;
  worker_->counters().Add(Count::kStores, items_.size());
  std::vector<CommitWrite> writes;
  for (const KeyValue& item : items_) writes.push_back({.key = item.key, .value = item.value});
  worker_->client().StartCommit({}, writes, [this](const Client::PutResult& result) {
    if (result) return End(std::nullopt);
    if (AreForOneCommit(result.error())) return End(result.error());
    StoreEach();
  });
}

void StoreSeveral::StoreEach() {
  left_ = items_.size();
  for (const KeyValue& item : items_) {
    worker_->client().StartPut(item.key, item.value, {}, [this](const Client::PutResult& result) {
      if (!result && !error_) error_ = result.error();
      if (--left_ == 0) End(error_);
    });
  }
}

void StoreSeveral::End(const std::optional<Error>& error) {
  if (error) {
    worker_->counters().Add(Count::kFailures);
    has_failed = true;
    AddFailure(*error, &reply);
  } else {
    reply = kOkReply;
  }
  connection()->End(this);
}

size_t StoreNew::bytes() const { return sizeof(*this) + BytesOf(items_); }

void StoreNew::AddKeys(std::vector<std::string_view>* keys) const {
  for (const KeyValue& item : items_) keys->push_back(item.key);
}

void StoreNew::RunOn(TransactionItems* items, std::string* to) {
  const bool are_new = std::ranges::none_of(
      items_, [items](const KeyValue& item) { return items->Find(item.key) != nullptr; });
  for (const KeyValue& item : items_) {
    if (!are_new) break;
    Change change;
    change.action = Change::Action::kPut;
    change.value = item.value;
    items->Apply(item.key, std::move(change));
  }
  AddInteger(are_new ? 1 : 0, to);
}

}  // namespace plov::door::redis
