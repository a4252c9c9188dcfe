// Sharded world: a server of two shards that is right, and what overlapping clients see of it.
//
// Each operation is done at one instant, which is in its interval. Versions of the two shards start far from each other.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

#include "tests/torture/transactions.h"

namespace plov::torture {

class ShardedWorld {
 public:
  struct Options {
    uint32_t seed = 1;
    uint32_t keys = 6;
    Instant spread = 40;      // of an interval, to both sides; operations are 10 apart
    uint32_t unknown_in = 0;  // one write in so many has no answer; 0: all have one
    bool refuses = true;
  };
  // What a key was.
  struct State {
    TransactionItem item;
    Instant known = 0;  // when the write that overwrote it had ended; kForever: none has
    bool answered = true;
  };

  explicit ShardedWorld(const Options& options) : options_(options), random_(options.seed) {
    for (uint32_t key = 0; key < options_.keys; ++key) {
      states_.push_back({{.item = NotFound(key), .known = kForever}});
    }
    versions_ = {1 + random_() % 1000, 1'000'000 + random_() % 1000};
  }

  TransactionRecord Next() {
    now_ += 10;
    const uint32_t drawn = Below(10);
    if (drawn < 2) return Around(Get(0, 0, Current(Below(options_.keys))));
    if (drawn < 5) return Around(TakeSnapshot());
    if (drawn < 6) return Write(Transaction(TransactionKind::kPut, 0, 0, {NewPut()}));
    return DrawCommit();
  }

  // All states that the key was in, the last one at the end.
  const std::vector<State>& states(uint32_t key) const { return states_[key]; }
  uint32_t Below(uint32_t limit) { return static_cast<uint32_t>(random_() % limit); }

 private:
  const TransactionItem& Current(uint32_t key) const { return states_[key].back().item; }
  TransactionItem NewPut() { return Puts(Below(options_.keys), ++value_); }

  TransactionRecord Around(TransactionRecord record) {
    record.start = now_ - Below(static_cast<uint32_t>(options_.spread));
    record.end = now_ + Below(static_cast<uint32_t>(options_.spread));
    return record;
  }

  std::vector<uint32_t> DrawKeys(uint32_t count) {
    std::vector<uint32_t> keys(options_.keys);
    for (uint32_t key = 0; key < options_.keys; ++key) keys[key] = key;
    std::ranges::shuffle(keys, random_);
    keys.resize(std::min(count, options_.keys));
    return keys;
  }

  TransactionRecord TakeSnapshot() {
    TransactionRecord record = Snapshot(0, 0, {});
    for (const uint32_t key : DrawKeys(2 + Below(3))) record.Add(Current(key));
    return record;
  }

  TransactionRecord DrawCommit() {
    TransactionRecord record = Transaction(TransactionKind::kCommit, 0, 0, {});
    bool stands = true;
    for (const uint32_t key : DrawKeys(Below(3))) {
      const auto& states = states_[key];
      const bool is_old = options_.refuses && states.size() > 1 && Below(6) == 0;
      const State& state = is_old ? states[states.size() - 2] : states.back();
      // A version without an answer is known to who has read it only.
      if (!state.answered) continue;
      record.Add(If(key, state.item.version));
      stands = stands && state.item.version == Current(key).version;
    }
    for (uint32_t i = 1 + Below(3); i > 0; --i) {
      const TransactionItem put = NewPut();
      record.Add(Below(4) == 0 ? Deletes(put.key) : put);
    }
    return stands ? Write(record) : Around(But(Outcome::kMismatch, record));
  }

  TransactionRecord Write(TransactionRecord record) {
    record = Around(record);
    const bool answered = options_.unknown_in == 0 || Below(options_.unknown_in) > 0;
    if (!answered && Below(2) == 0) return But(Outcome::kUnknown, record);
    std::array<bool, 2> is_of{};
    for (const TransactionItem& item : record.all()) is_of[item.key % 2] = true;
    uint64_t version = 0;
    for (size_t i = 0; i < 2; ++i) version = std::max(version, is_of[i] ? versions_[i] : 0);
    record.version = version + 1;
    for (const TransactionItem& item : record.all()) {
      if (!item.writes()) continue;
      versions_[item.key % 2] = ++version;
      auto& states = states_[item.key];
      states.back().known = answered ? record.end : kForever;
      const bool is_put = item.use == ItemUse::kPut;
      states.push_back({.item = is_put ? Found(item.key, item.value, version) : NotFound(item.key),
                        .known = kForever,
                        .answered = answered});
    }
    return answered ? record : But(Outcome::kUnknown, record);
  }

  Options options_;
  std::minstd_rand random_;
  Instant now_ = 1000;
  std::array<uint64_t, 2> versions_{};
  ValueId value_ = 0;
  std::vector<std::vector<State>> states_;
};

}  // namespace plov::torture
