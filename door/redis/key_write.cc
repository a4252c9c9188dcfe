#include "door/redis/key_write.h"

#include "door/connection.h"
#include "door/redis/numbers.h"
#include "door/worker.h"

namespace plov::door::redis {

void KeyWrite::Start(Worker* worker) {
  worker_ = worker;
  Begin();
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

void TouchWrite::Begin() {
  Count(door::Count::kTouches);
  client().StartTouch(key(), ttl_, 0, [this](const Client::PutResult& result) {
    if (!result && result.error().code != Code::kNotFound) return EndWithFailure(result.error());
    if (result) Count(door::Count::kTouchHits);
    EndWithInteger(result ? 1 : 0);
  });
}

void DeleteWrite::Begin() {
  Count(door::Count::kDeletes);
  client().StartDelete(key(), 0, [this](const Client::DeleteResult& result) {
    if (!result) return EndWithFailure(result.error());
    if (*result) Count(door::Count::kDeleteHits);
    EndWithInteger(*result ? 1 : 0);
  });
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
                                return EndWithError("ERR increment or decrement would overflow");
                              case Code::kNotANumber:
                                return EndWithError(kNotAnInteger);
                              default:
                                return EndWithFailure(result.error());
                            }
                          });
}

}  // namespace plov::door::redis
