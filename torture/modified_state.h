// Modified state: what all client processes know of the items that they change together (torture/modified.h).
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace plov::torture {

// Of what changes one item. What has begun may be applied, what was refused is not, what is told is.
struct ModifiedItem {
  std::atomic<uint64_t> begun = 0;
  std::atomic<uint64_t> refused = 0;
  std::atomic<uint64_t> told = 0;  // of a counter the greatest number, else how many

  void Reset() {
    for (auto* count : {&begun, &refused, &told}) count->store(0, std::memory_order_relaxed);
  }
};

// Which of its numbers an INCREMENT has told.
struct ModifiedCounter : ModifiedItem {
  static constexpr size_t kNumbersMax = size_t{1} << 20;
  std::array<std::atomic<uint64_t>, kNumbersMax / 64> numbers{};

  void Reset() {
    ModifiedItem::Reset();
    for (auto& word : numbers) {
      if (word.load(std::memory_order_relaxed) != 0) word.store(0, std::memory_order_relaxed);
    }
  }
};

// What a GET has found at each place; 0: nothing yet.
struct ModifiedList : ModifiedItem {
  static constexpr size_t kTokensMax = 512;
  std::array<std::atomic<uint64_t>, kTokensMax> tokens{};

  void Reset() {
    ModifiedItem::Reset();
    for (auto& token : tokens) token.store(0, std::memory_order_relaxed);
  }
};

// Of each half of its elements how often it was updated.
struct ModifiedVector {
  std::array<ModifiedItem, 2> halves;

  void Reset() {
    for (auto& half : halves) half.Reset();
  }
};

struct ModifiedState {
  static constexpr size_t kCounters = 8, kLists = 1024, kVectors = 4;

  std::array<ModifiedCounter, kCounters> counters;
  std::array<ModifiedList, kLists> lists;
  std::array<ModifiedVector, kVectors> vectors;
  std::atomic<uint64_t> list = 0;  // that is appended to; those before it are full

  // Of a new history, while nothing is under way.
  void Reset() {
    for (auto& counter : counters) counter.Reset();
    for (auto& vector : vectors) vector.Reset();
    const uint64_t last = list.exchange(0, std::memory_order_relaxed);
    for (uint64_t i = 0; i <= last && i < kLists; ++i) lists[i].Reset();
  }
};

}  // namespace plov::torture
