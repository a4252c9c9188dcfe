// The steps of touch, gat, gats, mg with T, delete, md and flush_all, and those that the binary protocol has of them.

#include <algorithm>
#include <chrono>

#include "door/memcached/command_request.h"

namespace plov::door::memcached {

void CommandRequest::StartTouch() {
  Count(door::Count::kTouches);
  const Ending ending = EndingOf(command.exptime);
  if (ending.is_over) {
    return client().StartDelete(key(), 0, [this](const Client::DeleteResult& result) {
      if (!result) return EndWithFailure(result.error());
      if (*result) Count(door::Count::kTouchHits);
      EndWith(*result ? Outcome::kTouched : Outcome::kNotFound);
    });
  }
  client().StartTouch(key(), ending.ttl(), 0, [this](const Client::PutResult& result) {
    if (result) {
      Count(door::Count::kTouchHits);
      return EndWith(Outcome::kTouched);
    }
    if (result.error().code == Code::kNotFound) return EndWith(Outcome::kNotFound);
    EndWithFailure(result.error());
  });
}

// The item that is told is the one that was touched: its version says so.
void CommandRequest::StartGat() {
  if (tries_ == 0) Count(door::Count::kTouches);
  client().StartGet(key(), [this](const Client::GetResult& result) {
    if (!result) return EndWithFailure(result.error());
    if (*result) return TouchFound(**result);
    AddMiss(&reply);
    End();
  });
}

void CommandRequest::TouchFound(const Item& item) {
  const bool has_value = command.verb != Verb::kTouch;
  if (has_value && !HasMemory(item.value.size(), &reply)) {
    has_failed = true;
    return End();
  }
  found_value_.assign(has_value ? item.value : std::string_view());
  found_flags_ = item.flags;
  found_expiry_ = item.expiry;
  found_version_ = item.version;
  const Ending ending = EndingOf(command.exptime);
  if (ending.is_over) {
    return client().StartDelete(key(), item.version, [this](const Client::DeleteResult& result) {
      if (result && *result) return EndGat(found_version_, 1);
      if (!result && result.error().code != Code::kVersionMismatch) {
        return EndWithFailure(result.error());
      }
      if (MayRetry()) StartGat();
    });
  }
  client().StartTouch(
      key(), ending.ttl(), item.version, [this, ending](const Client::PutResult& result) {
        if (result) return EndGat(*result, ending.expiry);
        const bool lost =
            result.error().code == Code::kVersionMismatch || result.error().code == Code::kNotFound;
        if (!lost) return EndWithFailure(result.error());
        if (MayRetry()) StartGat();
      });
}

void CommandRequest::EndGat(Version version, uint32_t expiry) {
  Count(door::Count::kTouchHits);
  const Item item{
      .value = found_value_, .version = version, .flags = found_flags_, .expiry = found_expiry_};
  AddItem(item, expiry, &reply);
  End();
}

// As memcached: a negative delay is none, and at a time that has gone by nothing is to be done any more.
void CommandRequest::StartFlush() {
  Count(door::Count::kFlushes);
  const Ending begin = EndingOf(command.exptime);
  if (begin.is_over && command.exptime > 0) return EndWith(Outcome::kFlushed);
  const int64_t delay = begin.expiry == 0 ? 0 : std::max<int64_t>(SecondsLeft(begin.expiry), 0);
  client().StartFlush(std::chrono::seconds(delay), [this](const Client::FlushResult& result) {
    if (!result) return EndWithFailure(result.error());
    EndWith(Outcome::kFlushed);
  });
}

void CommandRequest::StartDelete() {
  Count(door::Count::kDeletes);
  const auto delete_now = [this] {
    client().StartDelete(key(), command.cas, [this](const Client::DeleteResult& result) {
      if (!result && result.error().code == Code::kVersionMismatch)
        return EndWith(Outcome::kExists);
      if (!result) return EndWithFailure(result.error());
      if (*result) Count(door::Count::kDeleteHits);
      EndWith(*result ? Outcome::kDeleted : Outcome::kNotFound);
    });
  };
  if (!command.has_cas || command.cas != 0) return delete_now();
  // No item has the number 0.
  client().StartGet(key(), [this](const Client::GetResult& result) {
    if (!result) return EndWithFailure(result.error());
    EndWith(*result ? Outcome::kExists : Outcome::kNotFound);
  });
}

// The client is told that its store was refused, whatever becomes of this.
void CommandRequest::StartDrop() {
  client().StartDelete(key(), 0, [this](const Client::DeleteResult&) {
    reply = value;
    End();
  });
}

}  // namespace plov::door::memcached
