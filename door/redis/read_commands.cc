// Commands that look at items: GET, MGET, EXISTS, STRLEN, GETRANGE, SUBSTR, TTL and its like, TYPE.

#include <algorithm>
#include <optional>

#include "door/connection.h"
#include "door/redis/command.h"
#include "door/redis/expiry.h"
#include "door/redis/numbers.h"
#include "door/worker.h"

namespace plov::door::redis {

namespace {

void ShowValue(const KeyRead& read, const Item* item, std::string* to) {
  if (item == nullptr) return AddNull(read.resp(), to);
  AddBulk(item->value, to);
}

void ShowLength(const KeyRead&, const Item* item, std::string* to) {
  AddInteger(item == nullptr ? 0 : static_cast<int64_t>(item->value.size()), to);
}

void CountItem(const KeyRead& read, const Item* item, std::string*) {
  read.group->Add(item == nullptr ? 0 : 1);
}

void ShowType(const KeyRead&, const Item* item, std::string* to) {
  *to += item == nullptr ? "+none\r\n" : "+string\r\n";
}

void ShowRange(const KeyRead& read, const Item* item, std::string* to) {
  const std::string_view value = item == nullptr ? std::string_view() : item->value;
  const auto bytes = static_cast<int64_t>(value.size());
  const bool is_reversed = read.first < 0 && read.last < 0 && read.first > read.last;
  const int64_t first = std::max<int64_t>(read.first < 0 ? read.first + bytes : read.first, 0);
  int64_t last = std::max<int64_t>(read.last < 0 ? read.last + bytes : read.last, 0);
  last = std::min(last, bytes - 1);
  if (is_reversed || first > last || bytes == 0) return AddBulk("", to);
  AddBulk(value.substr(static_cast<size_t>(first), static_cast<size_t>(last - first + 1)), to);
}

// What is said of no item, and of one that lives for ever.
constexpr int64_t kNoItem = -2;
constexpr int64_t kForEver = -1;

std::optional<int64_t> WithoutExpiry(const Item* item) {
  if (item == nullptr) return kNoItem;
  if (item->expiry == 0) return kForEver;
  return std::nullopt;
}

int64_t LeftMs(const KeyRead& read, const Item& item) {
  const int64_t now_ms = read.connection()->worker()->ServerUs(read.key()) / kUsPerMs;
  return std::max<int64_t>(int64_t{item.expiry} * kMsPerSecond - now_ms, 0);
}

// Whole seconds: what SET's EX said, right after it.
void ShowTtl(const KeyRead& read, const Item* item, std::string* to) {
  if (const auto without = WithoutExpiry(item)) return AddInteger(*without, to);
  AddInteger(LeftMs(read, *item) / kMsPerSecond, to);
}

void ShowPTtl(const KeyRead& read, const Item* item, std::string* to) {
  if (const auto without = WithoutExpiry(item)) return AddInteger(*without, to);
  AddInteger(LeftMs(read, *item), to);
}

void ShowExpireTime(const KeyRead&, const Item* item, std::string* to) {
  if (const auto without = WithoutExpiry(item)) return AddInteger(*without, to);
  AddInteger(int64_t{item->expiry}, to);
}

void ShowPExpireTime(const KeyRead&, const Item* item, std::string* to) {
  if (const auto without = WithoutExpiry(item)) return AddInteger(*without, to);
  AddInteger(int64_t{item->expiry} * kMsPerSecond, to);
}

}  // namespace

namespace commands {

void Get(Call& call) { call.Read(ShowValue); }
void StrLen(Call& call) { call.Read(ShowLength); }
void Type(Call& call) { call.Read(ShowType); }
void Ttl(Call& call) { call.Read(ShowTtl); }
void PTtl(Call& call) { call.Read(ShowPTtl); }
void ExpireTime(Call& call) { call.Read(ShowExpireTime); }
void PExpireTime(Call& call) { call.Read(ShowPExpireTime); }

void MGet(Call& call) {
  call.AddSeveral({.kind = Group::Kind::kEach}, [&call](size_t i) {
    KeyRead* read = KeyRead::Make(call[i], ShowValue, call.resp());
    if (i == 1) AddArray(call.count() - 1, &read->heading);
    return read;
  });
}

void Exists(Call& call) {
  call.AddSeveral({.kind = Group::Kind::kSum},
                  [&call](size_t i) { return KeyRead::Make(call[i], CountItem, call.resp()); });
}

void GetRange(Call& call) {
  const auto first = IntegerOf(call[2]);
  const auto last = IntegerOf(call[3]);
  if (!first || !last) return call.Refuse(kNotAnInteger);
  call.Read(ShowRange, *first, *last);
}

}  // namespace commands

}  // namespace plov::door::redis
