#include "door/redis/key_write.h"

#include <optional>
#include <utility>

#include "door/connection.h"
#include "door/redis/numbers.h"
#include "door/redis/transaction_items.h"
#include "door/worker.h"

namespace plov::door::redis {

namespace {

constexpr std::string_view kOverflow = "ERR increment or decrement would overflow";

Change ChangeOf(Change::Action action, std::string_view reply) {
  Change change;
  change.action = action;
  change.reply = reply;
  return change;
}

}  // namespace

void KeyWrite::Start(Worker* worker) {
  worker_ = worker;
  Begin();
}

// Of several keys it counts how many were changed.
void KeyWrite::RunOn(TransactionItems* items, std::string* to) {
  Change change = Plan(items->Find(key_));
  if (group) {
    group->Add(change.action == Change::Action::kNothing ? 0 : 1);
  } else {
    *to += change.reply;
  }
  items->Apply(key_, std::move(change));
}

Client& KeyWrite::client() { return worker_->client(); }

void KeyWrite::Count(door::Count which) { worker_->counters().Add(which); }

std::string_view KeyWrite::closing() const { return group ? group->Closing() : std::string_view(); }

size_t KeyWrite::bytes() const { return sizeof(*this) + reply.capacity() + key_.capacity(); }

void KeyWrite::EndWith(std::string_view bytes) {
  if (!group) reply = bytes;
  connection()->End(this);
}

void KeyWrite::EndWithError(std::string_view text) {
  has_failed = true;
  reply.clear();
  AddError(text, &reply);
  connection()->End(this);
}

void KeyWrite::EndWithFailure(const Error& error) {
  Count(door::Count::kFailures);
  has_failed = true;
  reply.clear();
  AddFailure(error, &reply);
  connection()->End(this);
}

void KeyWrite::EndWithInteger(int64_t number) {
  if (group) {
    group->Add(number);
  } else {
    AddInteger(number, &reply);
  }
  connection()->End(this);
}

Change StoreWrite::Plan(const Item* item) {
  const bool is_refused = options_.mode == (item == nullptr ? PutMode::kReplace : PutMode::kAdd);
  if (is_refused) return ChangeOf(Change::Action::kNothing, replies_.refused);
  Change change = ChangeOf(Change::Action::kPut, replies_.stored);
  change.value = value_;
  change.ttl = options_.ttl;
  return change;
}

void StoreWrite::Begin() {
  Count(door::Count::kStores);
  client().StartPut(key(), value_, options_, [this](const Client::PutResult& result) {
    if (result) return EndWith(replies_.stored);
    const bool is_refused =
        result.error().code == Code::kExists || result.error().code == Code::kNotFound;
    if (!is_refused) return EndWithFailure(result.error());
    EndWith(replies_.refused);
  });
}

Change TouchWrite::Plan(const Item* item) {
  if (item == nullptr) return ChangeOf(Change::Action::kNothing, ":0\r\n");
  Change change = ChangeOf(Change::Action::kTouch, ":1\r\n");
  change.ttl = ttl_;
  return change;
}

void TouchWrite::Begin() {
  Count(door::Count::kTouches);
  client().StartTouch(key(), ttl_, 0, [this](const Client::PutResult& result) {
    if (!result && result.error().code != Code::kNotFound) return EndWithFailure(result.error());
    if (result) Count(door::Count::kTouchHits);
    EndWithInteger(result ? 1 : 0);
  });
}

Change DeleteWrite::Plan(const Item* item) {
  if (item == nullptr) return ChangeOf(Change::Action::kNothing, ":0\r\n");
  return ChangeOf(Change::Action::kDelete, ":1\r\n");
}

void DeleteWrite::Begin() {
  Count(door::Count::kDeletes);
  client().StartDelete(key(), 0, [this](const Client::DeleteResult& result) {
    if (!result) return EndWithFailure(result.error());
    if (*result) Count(door::Count::kDeleteHits);
    EndWithInteger(*result ? 1 : 0);
  });
}

Change NumberWrite::Plan(const Item* item) {
  const auto before = item == nullptr ? std::optional<int64_t>(0) : IntegerOf(item->value);
  if (!before) return Change::OfError(kNotAnInteger);
  int64_t after = 0;
  if (__builtin_add_overflow(*before, delta_, &after)) return Change::OfError(kOverflow);
  Change change;
  change.action = Change::Action::kPut;
  AppendInteger(after, &change.value);
  AddInteger(after, &change.reply);
  if (item != nullptr) {
    change.flags = item->flags;
    change.ttl = Lifetime::Until(item->expiry);
  }
  return change;
}

void NumberWrite::Begin() {
  Count(door::Count::kArithmetics);
  const auto found = client().TryGet(key());
  if (found && *found && **found && !IntegerOf((**found)->value)) {
    return EndWithError(kNotAnInteger);
  }
  client().StartIncrement(key(), delta_, {.initial = 0},
                          [this](const Client::IncrementResult& result) {
                            if (result) return EndWithInteger(result->value);
                            switch (result.error().code) {
                              case Code::kOutOfRange:
                                return EndWithError(kOverflow);
                              case Code::kNotANumber:
                                return EndWithError(kNotAnInteger);
                              default:
                                return EndWithFailure(result.error());
                            }
                          });
}

}  // namespace plov::door::redis
