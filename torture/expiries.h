// Expiries: the items with a time to live that one client process puts, and how GETs of them end.
//
// Nobody else writes them, so no history is needed: a GET that ends before the item's time is over
// must find it, and one that begins a second after must not (plov(7), "Expiry"; a second, for the
// server rounds up). Where GETs READ any replica, one that begins within Plan::max_age_us of the PUT
// need not find it yet, and one that begins so long after the item's end may find it still.
#pragma once

#include <plov/client.h>

#include <array>
#include <chrono>
#include <optional>
#include <string>

#include "program/random.h"
#include "torture/key_names.h"
#include "torture/run_memory.h"

namespace plov::torture {

class Expiries {
 public:
  Expiries(const Plan& plan, uint32_t process);

  // Puts an item, or gets one. Returns what was wrong, if anything. history: the present one; items
  // of former ones are forgotten.
  std::optional<std::string> Step(Client* client, uint32_t history);
  // Of items that may be lost nothing is known.
  void Forget() { items_ = {}; }
  // The numbers of all keys of so many processes, from the first on.
  static constexpr uint64_t kFirstKey = 3 * (kKeysMax / 2);  // behind those of all other keys
  static constexpr uint64_t KeysOf(uint32_t processes) { return uint64_t{processes} * kItems; }
  // GETs whose end was certain.
  uint64_t judged() const { return judged_; }

 private:
  static constexpr size_t kItems = 256;

  struct Item {
    bool is_put = false;
    Version version = 0;
    Instant put_start = 0;
    Instant put_end = 0;
    std::chrono::seconds ttl{0};
  };

  void Put(Client* client, size_t index);
  Lifetime LifetimeOf(std::chrono::seconds ttl, Client* client, const KeyName& name);
  std::optional<std::string> Get(Client* client, size_t index);
  KeyName NameOf(size_t index) const;

  uint32_t run_;
  uint32_t process_;
  Instant max_age_;
  uint32_t history_ = 0;
  program::Random random_;
  uint64_t judged_ = 0;
  std::array<Item, kItems> items_{};
};

}  // namespace plov::torture
