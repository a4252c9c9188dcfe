#include "torture/expiries.h"

namespace plov::torture {

namespace {

constexpr uint64_t kProcessesMax = uint64_t{1} << 15;  // in a run; names have room for no more
constexpr uint64_t kTtlSecondsMax = 3;
constexpr Instant kSecond = 1'000'000'000;
// The server's second, and what its clock and ours may differ in rate.
constexpr Instant kLateMax = kSecond + kSecond / 10;

}  // namespace

Expiries::Expiries(const Plan& plan, uint32_t process)
    : run_(plan.run),
      process_(process),
      max_age_(static_cast<Instant>(plan.max_age_us) * 1000),
      random_(plan.seed + ~uint64_t{process}) {}

KeyName Expiries::NameOf(size_t index) const {
  return {run_, history_, kFirstKey + (process_ % kProcessesMax) * kItems + index};
}

std::optional<std::string> Expiries::Step(Client* client, uint32_t history) {
  if (history != history_) items_ = {};
  history_ = history;
  const size_t index = random_.Below(kItems);
  const Item& item = items_[index];
  const Instant end = item.put_end + item.ttl.count() * kSecond + kLateMax + max_age_;
  // Looked at for a while after its end, too.
  if (item.is_put && Now() < end + kSecond) return Get(client, index);
  Put(client, index);
  return std::nullopt;
}

// As a duration, or as the second of the server's clock that this is at the earliest.
Lifetime Expiries::LifetimeOf(std::chrono::seconds ttl, Client* client, const KeyName& name) {
  if (random_.Below(2) == 0) return ttl;
  const auto time = client->Time(name.view());
  if (!time) return ttl;
  const auto at =
      std::chrono::ceil<std::chrono::seconds>(std::chrono::microseconds(time->latest_us));
  return Lifetime::Until(static_cast<uint32_t>((at + ttl).count()));
}

void Expiries::Put(Client* client, size_t index) {
  Item item{.put_start = Now(), .ttl = std::chrono::seconds(1 + random_.Below(kTtlSecondsMax))};
  const KeyName name = NameOf(index);
  const auto put = client->Put(name.view(), "expires", {.ttl = LifetimeOf(item.ttl, client, name)});
  item.put_end = Now();
  item.is_put = put.has_value();
  if (put) item.version = *put;
  items_[index] = item;
}

std::optional<std::string> Expiries::Get(Client* client, size_t index) {
  Item& item = items_[index];
  const KeyName name = NameOf(index);
  const Instant start = Now();
  const auto got = client->Get(name.view());
  const Instant end = Now();
  if (!got) return std::nullopt;
  const Instant ttl = item.ttl.count() * kSecond;
  const Instant found_from = start - max_age_;  // the earliest state that it can have found
  const bool must_be = found_from >= item.put_end && end < item.put_start + ttl;
  const bool must_not_be = found_from > item.put_end + ttl + kLateMax;
  if (must_be || must_not_be) ++judged_;
  const auto told = [&](const char* what) {
    return "an item with " + std::to_string(item.ttl.count()) + " s to live " + what + " " +
           std::to_string((start - item.put_start) / (kSecond / 1000)) + " ms after it was put";
  };
  if (must_be && !*got) return told("was absent");
  if (must_not_be && *got) return told("was there");
  return std::nullopt;
}

}  // namespace plov::torture
