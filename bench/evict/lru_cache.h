// LruCache: a cache in process that forgets exactly the item that was not used for longest.
//
// Threads: one.
#pragma once

#include <cstdint>
#include <list>
#include <string>
#include <unordered_map>

#include "bench/peers/cache.h"

namespace plov::bench {

class LruCache final : public Cache {
 public:
  // items: how many it holds, at least 1.
  explicit LruCache(uint64_t items) : items_max_(items) {}

  std::expected<std::optional<std::string_view>, Error> Get(std::string_view key) override {
    const auto found = places_.find(key);
    if (found == places_.end()) return std::nullopt;
    items_.splice(items_.begin(), items_, found->second);
    return found->second->value;
  }

  std::expected<void, Error> Put(std::string_view key, std::string_view value) override {
    if (const auto found = places_.find(key); found != places_.end()) {
      items_.splice(items_.begin(), items_, found->second);
      items_.front().value = value;
      return {};
    }
    if (items_.size() == items_max_) {
      places_.erase(items_.back().key);
      items_.pop_back();
    }
    items_.push_front({std::string(key), std::string(value)});
    places_.emplace(items_.front().key, items_.begin());
    return {};
  }

  std::expected<uint64_t, Error> Items() override { return items_.size(); }

 private:
  struct Item {
    std::string key;
    std::string value;
  };

  uint64_t items_max_;
  std::list<Item> items_;  // the one that was used last is the first
  std::unordered_map<std::string_view, std::list<Item>::iterator> places_;
};

}  // namespace plov::bench
