// Commands that change when an item ends: EXPIRE, PEXPIRE, EXPIREAT, PEXPIREAT, PERSIST.

#include <limits>
#include <optional>

#include "door/redis/command.h"
#include "door/redis/expiry.h"
#include "door/redis/numbers.h"
#include "door/redis/set_options.h"

namespace plov::door::redis {

namespace {

struct Conditions {
  bool nx = false;
  bool xx = false;
  bool gt = false;
  bool lt = false;

  bool are_none() const { return !nx && !xx && !gt && !lt; }
  // expiry_ms: 0 for ever.
  bool Allow(int64_t expiry_ms, int64_t moment) const {
    if (nx && expiry_ms != 0) return false;
    if (xx && expiry_ms == 0) return false;
    if (gt && (expiry_ms == 0 || moment <= expiry_ms)) return false;
    return !(lt && expiry_ms != 0 && moment >= expiry_ms);
  }
};

bool TakeCondition(std::string_view word, Conditions* conditions) {
  if (IsWord(word, "nx")) return conditions->nx = true;
  if (IsWord(word, "xx")) return conditions->xx = true;
  if (IsWord(word, "gt")) return conditions->gt = true;
  return IsWord(word, "lt") && (conditions->lt = true);
}

// nullopt: they are wrong, which has been said.
std::optional<Conditions> ConditionsOf(const Call& call) {
  Conditions conditions;
  for (size_t i = 3; i < call.count(); ++i) {
    if (TakeCondition(call[i], &conditions)) continue;
    call.Refuse("ERR Unsupported option " + std::string(call[i]));
    return std::nullopt;
  }
  if (conditions.nx && (conditions.xx || conditions.gt || conditions.lt)) {
    call.Refuse("ERR NX and XX, GT or LT options at the same time are not compatible");
    return std::nullopt;
  }
  if (conditions.gt && conditions.lt) {
    call.Refuse("ERR GT and LT options at the same time are not compatible");
    return std::nullopt;
  }
  return conditions;
}

// In Unix milliseconds, perhaps long ago. nullopt: beyond what Redis counts.
std::optional<int64_t> AnyMomentOf(int64_t number, ExpiryUnit unit, int64_t now_ms) {
  constexpr int64_t kMost = std::numeric_limits<int64_t>::max();
  constexpr int64_t kLeast = std::numeric_limits<int64_t>::min();
  if (unit == ExpiryUnit::kSeconds || unit == ExpiryUnit::kUnixSeconds) {
    if (number > kMost / kMsPerSecond || number < kLeast / kMsPerSecond) return std::nullopt;
    number *= kMsPerSecond;
  }
  const bool is_relative = unit == ExpiryUnit::kSeconds || unit == ExpiryUnit::kMs;
  const int64_t from = is_relative ? now_ms : 0;
  if (number > kMost - from) return std::nullopt;
  return number + from;
}

Change PlanExpire(const Conditions& conditions, int64_t moment, bool is_past, const Item* item) {
  Change change;
  const bool applies =
      item != nullptr && conditions.Allow(int64_t{item->expiry} * kMsPerSecond, moment);
  AddInteger(applies ? 1 : 0, &change.reply);
  if (!applies) return change;
  change.action = is_past ? Change::Action::kDelete : Change::Action::kTouch;
  if (!is_past) change.ttl = Until(moment);
  return change;
}

void ExpireIn(const Call& call, ExpiryUnit unit) {
  const auto conditions = ConditionsOf(call);
  if (!conditions) return;
  const auto number = IntegerOf(call[2]);
  if (!number) return call.Refuse(kNotAnInteger);
  const int64_t now_ms = call.NowMs();
  const auto moment = AnyMomentOf(*number, unit, now_ms);
  if (!moment) return call.RefuseExpiry();
  const bool is_past = *moment <= now_ms;
  if (!conditions->are_none()) {
    return call.Rewrite([conditions = *conditions, moment = *moment, is_past](const Item* item) {
      return PlanExpire(conditions, moment, is_past, item);
    });
  }
  if (is_past) return call.Write(new DeleteWrite(call[1]));
  call.Write(new TouchWrite(call[1], Until(*moment)));
}

Change PlanPersist(const Item* item) {
  Change change;
  const bool applies = item != nullptr && item->expiry != 0;
  if (applies) change.action = Change::Action::kTouch;
  AddInteger(applies ? 1 : 0, &change.reply);
  return change;
}

}  // namespace

namespace commands {

void Expire(Call& call) { ExpireIn(call, ExpiryUnit::kSeconds); }
void PExpire(Call& call) { ExpireIn(call, ExpiryUnit::kMs); }
void ExpireAt(Call& call) { ExpireIn(call, ExpiryUnit::kUnixSeconds); }
void PExpireAt(Call& call) { ExpireIn(call, ExpiryUnit::kUnixMs); }
void Persist(Call& call) { call.Rewrite(PlanPersist); }

}  // namespace commands

}  // namespace plov::door::redis
