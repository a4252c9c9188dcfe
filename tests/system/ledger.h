// Ledger: what one writer process has stored, for reader processes that check every GET against it.
//
// A write of an item is counted before it is sent and again when it is acknowledged; its value is a
// function of the item and the count. A GET that began when `low` writes were acknowledged and
// ended when `high` were started returns what one of the writes low..high left, or it is wrong.
// Write 0 is the time before the first: absent.
#pragma once

#include <plov/client.h>

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>

#include "tests/support/probe.h"

namespace plov::test {

class Ledger {
 public:
  static constexpr uint32_t kWritesMax = 250;

  // Of items 0 .. capacity-1.
  explicit Ledger(uint64_t capacity) : entries_(capacity * sizeof(Entry)), capacity_(capacity) {}

  static std::string KeyOf(uint64_t item) { return "k" + std::to_string(item); }
  static bool Deletes(uint64_t item, uint32_t write) {
    return write == 0 || (write > 1 && (item + write) % 3 == 0);
  }
  // Three of four are inline; one of 20,011 is longer than a message.
  static size_t ValueBytes(uint64_t item, uint32_t write) {
    if (item % 20'011 == 5) return 40'000;
    const uint64_t kind = (item * 31 + uint64_t{write} * 7) % 64;
    if (kind < 48) return 14 + kind % 12;
    return kind < 60 ? 60 + kind * 4 : kind * 16;
  }
  static std::string ValueOf(uint64_t item, uint32_t write) {
    std::string value = std::to_string(item) + ":" + std::to_string(write) + ":";
    const size_t bytes = ValueBytes(item, write);
    if (value.size() < bytes) value.resize(bytes, static_cast<char>('a' + (item + write) % 26));
    return value;
  }

  // The writer's. Returns the number of the write that begins.
  uint32_t Begin(uint64_t item) {
    return started(item).fetch_add(1, std::memory_order_seq_cst) + 1u;
  }
  void End(uint64_t item) {
    acknowledged(item).store(started(item).load(std::memory_order_relaxed),
                             std::memory_order_seq_cst);
  }
  bool IsQuiet(uint64_t item) const { return low(item) == high(item) && high(item) < kWritesMax; }

  uint32_t low(uint64_t item) const {
    return entries_.get()[item].acknowledged.load(std::memory_order_seq_cst);
  }
  uint32_t high(uint64_t item) const {
    return entries_.get()[item].started.load(std::memory_order_seq_cst);
  }
  uint64_t capacity() const { return capacity_; }

  bool Allows(uint64_t item, uint32_t from, uint32_t to, std::string_view value) const {
    const size_t colon = value.find(':');
    if (colon == std::string_view::npos) return false;
    const auto write =
        static_cast<uint32_t>(std::atoi(std::string(value.substr(colon + 1)).c_str()));
    return write >= from && write <= to && !Deletes(item, write) && value == ValueOf(item, write);
  }
  bool AllowsAbsence(uint64_t item, uint32_t from, uint32_t to) const {
    for (uint32_t write = from; write <= to; ++write) {
      if (Deletes(item, write)) return true;
    }
    return false;
  }

  // Judges a GET that began at `from`; says on stderr what is wrong.
  bool Explains(uint64_t item, uint32_t from, const Client::GetResult& result) const {
    const uint32_t to = high(item);
    const bool right = result && (*result ? Allows(item, from, to, (*result)->value)
                                          : AllowsAbsence(item, from, to));
    if (right) return true;
    std::string got = "absent";
    if (!result) {
      got = result.error().message;
    } else if (*result) {
      got = std::string((*result)->value.substr(0, 60));
    }
    std::fprintf(stderr, "item %lu, writes %u to %u: %s\n", item, from, to, got.c_str());
    return false;
  }

 private:
  struct Entry {
    std::atomic<uint8_t> started;
    std::atomic<uint8_t> acknowledged;
  };

  std::atomic<uint8_t>& started(uint64_t item) { return entries_.get()[item].started; }
  std::atomic<uint8_t>& acknowledged(uint64_t item) { return entries_.get()[item].acknowledged; }

  SharedMemory<Entry> entries_;
  uint64_t capacity_;
};

}  // namespace plov::test
