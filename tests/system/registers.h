// Registers: hot keys with one writer each, and what a GET of one may return.
//
// A writer numbers its writes to a key and publishes the number before it starts and after it is
// acknowledged. A GET that began after write `low` was acknowledged and ended before write
// `high + 1` was started may return what one of the writes low..high stored, and nothing else; and
// no reader may go back. That is linearizability of a register with one writer. A write whose
// outcome is unknown was started and is never acknowledged: it may be seen, or not, until a later
// one is acknowledged.
#pragma once

#include <plov/client.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdlib>
#include <string>

namespace plov::test {

inline constexpr size_t kKeys = 8;

struct Registers {
  std::array<std::atomic<uint64_t>, kKeys> started;
  std::array<std::atomic<uint64_t>, kKeys> acknowledged;
  std::atomic<uint64_t> gets;
  std::atomic<uint64_t> torn;
  std::atomic<uint64_t> confirmations;
  std::atomic<uint64_t> fallbacks;
  std::atomic<bool> stop;
};

inline std::string KeyOf(size_t key) { return "hot:" + std::to_string(key); }

inline bool Deletes(uint64_t sequence) { return sequence % 8 == 7; }

inline size_t ValueBytes(uint64_t sequence) {
  constexpr std::array<size_t, 8> kBytes = {20, 24, 100, 30, 1000, 5000, 28, 0};
  return sequence % 1001 == 0 ? 300'000 : kBytes[sequence % 8];
}

inline std::string ValueOf(size_t key, uint64_t sequence) {
  std::string value = std::to_string(key) + ":" + std::to_string(sequence) + ":";
  while (value.size() < ValueBytes(sequence)) value += static_cast<char>('a' + sequence % 26);
  return value;
}

// What one reader knows: it may never go back.
class Reader {
 public:
  explicit Reader(Registers* shared) : shared_(shared) {}

  void Begin(size_t key) { low_[key] = std::max(seen_[key], shared_->acknowledged[key].load()); }

  // Returns false for a result that no write of the interval explains.
  bool End(size_t key, const Client::GetResult& result) {
    const uint64_t high = shared_->started[key];
    if (!result) return false;
    ++shared_->gets;
    if (!*result) return EndAbsent(key, high);
    const std::string value((*result)->value);
    const size_t colon = value.find(':');
    if (colon == std::string::npos) return false;
    const uint64_t sequence = std::strtoull(value.c_str() + colon + 1, nullptr, 10);
    if (sequence < low_[key] || sequence > high || value != ValueOf(key, sequence)) return false;
    seen_[key] = sequence;
    return true;
  }

 private:
  bool EndAbsent(size_t key, uint64_t high) {
    for (uint64_t sequence = low_[key]; sequence <= high; ++sequence) {
      if (sequence != 0 && !Deletes(sequence)) continue;
      seen_[key] = sequence;
      return true;
    }
    return false;
  }

  Registers* shared_;
  std::array<uint64_t, kKeys> low_{};
  std::array<uint64_t, kKeys> seen_{};
};

}  // namespace plov::test
