// Commands that change values: DEL, UNLINK, GETDEL, APPEND, SETRANGE, INCR and its like.

#include <cmath>
#include <limits>
#include <utility>

#include "door/redis/command.h"
#include "door/redis/numbers.h"

namespace plov::door::redis {

namespace {

Change PlanGetDel(Resp resp, const Item* item) {
  Change change;
  if (item == nullptr) {
    AddNull(resp, &change.reply);
    return change;
  }
  change.action = Change::Action::kDelete;
  AddBulk(item->value, &change.reply);
  return change;
}

// A short one is put behind the value by the server, over the version found, so that the length is known.
Change PlanAppend(const std::string& tail, size_t bytes_max, const Item* item) {
  const size_t before = item == nullptr ? 0 : item->value.size();
  if (before + tail.size() > bytes_max) return Change::OfError(kTooLong);
  Change change;
  AddInteger(static_cast<int64_t>(before + tail.size()), &change.reply);
  if (item != nullptr && tail.empty()) return change;
  if (item != nullptr && tail.size() <= Change::kAppendMax) {
    change.action = Change::Action::kAppend;
    change.value = tail;
    return change;
  }
  change.action = Change::Action::kPut;
  if (item != nullptr) {
    change.value = item->value;
    change.ttl = Lifetime::Until(item->expiry);
  }
  change.value += tail;
  return change;
}

struct RangeChange {
  size_t offset;
  std::string part;
  size_t bytes_max;
};

Change PlanSetRange(const RangeChange& range, const Item* item) {
  const size_t before = item == nullptr ? 0 : item->value.size();
  Change change;
  if (range.part.empty()) {
    AddInteger(static_cast<int64_t>(before), &change.reply);
    return change;
  }
  if (range.offset > range.bytes_max || range.part.size() > range.bytes_max - range.offset) {
    return Change::OfError(kTooLong);
  }
  change.action = Change::Action::kPut;
  if (item != nullptr) {
    change.value = item->value;
    change.ttl = Lifetime::Until(item->expiry);
  }
  const size_t end = range.offset + range.part.size();
  if (change.value.size() < end) change.value.resize(end);
  change.value.replace(range.offset, range.part.size(), range.part);
  AddInteger(static_cast<int64_t>(change.value.size()), &change.reply);
  return change;
}

Change PlanIncrByFloat(const std::string& delta_text, const Item* item) {
  const auto before = item == nullptr ? std::optional<long double>(0) : FloatOf(item->value);
  const auto delta = FloatOf(delta_text);
  if (!before || !delta) return Change::OfError(kNotAFloat);
  const long double after = *before + *delta;
  if (std::isnan(after) || std::isinf(after)) {
    return Change::OfError("ERR increment would produce NaN or Infinity");
  }
  Change change;
  change.action = Change::Action::kPut;
  change.value = FloatText(after);
  if (item != nullptr) change.ttl = Lifetime::Until(item->expiry);
  AddBulk(change.value, &change.reply);
  return change;
}

}  // namespace

namespace commands {

void Del(Call& call) {
  call.AddSeveral({.kind = Group::Kind::kSum},
                  [&call](size_t i) { return new DeleteWrite(call[i]); });
}

void GetDel(Call& call) {
  call.Rewrite([resp = call.resp()](const Item* item) { return PlanGetDel(resp, item); });
}

void Append(Call& call) {
  call.Rewrite([tail = std::string(call[2]), bytes_max = call.options().item_bytes_max](
                   const Item* item) { return PlanAppend(tail, bytes_max, item); });
}

void SetRange(Call& call) {
  const auto offset = IntegerOf(call[2]);
  if (!offset) return call.Refuse(kNotAnInteger);
  if (*offset < 0) return call.Refuse("ERR offset is out of range");
  call.Rewrite([range = RangeChange{static_cast<size_t>(*offset), std::string(call[3]),
                                    call.options().item_bytes_max}](const Item* item) {
    return PlanSetRange(range, item);
  });
}

void Incr(Call& call) { call.Write(new NumberWrite(call[1], 1)); }
void Decr(Call& call) { call.Write(new NumberWrite(call[1], -1)); }

void IncrBy(Call& call) {
  const auto delta = IntegerOf(call[2]);
  if (!delta) return call.Refuse(kNotAnInteger);
  call.Write(new NumberWrite(call[1], *delta));
}

void DecrBy(Call& call) {
  const auto delta = IntegerOf(call[2]);
  if (!delta) return call.Refuse(kNotAnInteger);
  if (*delta == std::numeric_limits<int64_t>::min()) {
    return call.Refuse("ERR decrement would overflow");
  }
  call.Write(new NumberWrite(call[1], -*delta));
}

void IncrByFloat(Call& call) {
  call.Rewrite(
      [delta = std::string(call[2])](const Item* item) { return PlanIncrByFloat(delta, item); });
}

}  // namespace commands

}  // namespace plov::door::redis
