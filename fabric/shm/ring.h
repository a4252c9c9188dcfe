// Ring: a single-producer single-consumer queue of messages in memory that two processes write.
//
//  offset  what
//       0  tail    bytes ever written; the producer's, on a cache line of its own
//      64  head    bytes ever read; the consumer's
//     128  sleeps  while the consumer sleeps or is about to, how it is woken: kSleepsOtherwise,
//                  kSleepsHere. The producer sets it to 0 and wakes it
//     132  core    1 + the number of the core that the consumer was last seen waiting on; 0: unknown
//     192  end of RingControl
//   data:  per message {bytes (4), zero (4)}, the bytes, padding to a word; wraps at any word
//
// Each side keeps its own position privately and takes the other's for hostile: a position that
// cannot be, or a length beyond it, breaks the ring for good (Result::kBroken), never the process.
// A message is copied out once, then looked at.
//
// Memory order: the producer's tail store (seq_cst, so also release) pairs with the consumer's
// acquire load: the message is there. The consumer's head store (release) pairs with the producer's
// acquire load: the room is free. Sleeping is Dekker's pattern, both sides seq_cst: the consumer
// stores `sleeps`, then loads tail; the producer stores tail, then loads `sleeps`; at least one
// sees the other.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>

#include "verify/words.h"

namespace plov::fabric::shm {

inline constexpr size_t kRingHeadBytes = verify::kWordBytes;

// What a message takes of a ring.
constexpr size_t RingBytesOf(size_t message_bytes) {
  return kRingHeadBytes + verify::RoundUpToWord(message_bytes);
}

// By whatever the two have agreed on, beside the ring; by a futex that is the word itself, which takes
// a fraction of what a socket takes, but does not tell of a producer that ends.
inline constexpr uint32_t kSleepsOtherwise = 1, kSleepsHere = 2;

struct RingControl {
  alignas(64) std::atomic<uint64_t> tail;
  alignas(64) std::atomic<uint64_t> head;
  alignas(64) std::atomic<uint32_t> sleeps;
  std::atomic<uint32_t> core;
};
static_assert(sizeof(RingControl) == 192 && std::atomic<uint64_t>::is_always_lock_free);

class RingWriter {
 public:
  RingWriter() = default;
  // data: a power of two of bytes, word-aligned.
  RingWriter(RingControl* control, std::span<std::byte> data) : control_(control), data_(data) {}

  enum class Result { kWritten, kNoRoom, kBroken };

  Result Write(std::span<const std::byte> message);

  // Wakes a consumer that sleeps here. True once per sleep of one that sleeps otherwise: the caller
  // must wake it.
  bool TakeSleeper();

  // Whether the consumer is awake and was last seen on this core. A hint, like what it is made of.
  bool ConsumerIsOn(uint32_t core) const {
    return core != 0 && control_->core.load(std::memory_order_relaxed) == core &&
           control_->sleeps.load(std::memory_order_relaxed) == 0;
  }

 private:
  void Put(uint64_t position, const std::byte* from, size_t bytes);

  RingControl* control_ = nullptr;
  std::span<std::byte> data_;
  uint64_t tail_ = 0;
};

class RingReader {
 public:
  RingReader() = default;
  RingReader(RingControl* control, std::span<std::byte> data) : control_(control), data_(data) {}

  enum class Result { kMessage, kNone, kBroken };

  // Copies the next message into `buffer`, which bounds its length.
  Result Read(std::span<std::byte> buffer, size_t* bytes);

  bool empty() const { return control_->tail.load(std::memory_order_acquire) == head_; }

  // Announces that it sleeps otherwise; false when a message came in between (and awake again).
  bool Sleep() { return Announce(kSleepsOtherwise); }
  // Sleeps until a message is there, or so long, or for no reason.
  void SleepHere(std::chrono::nanoseconds most);
  void StayAwake() { control_->sleeps.store(0, std::memory_order_relaxed); }

  // Shows the producer where the consumer is.
  void ShowCore(uint32_t core) {
    if (core == core_) return;
    core_ = core;
    control_->core.store(core, std::memory_order_relaxed);
  }

 private:
  bool Announce(uint32_t how);
  void Get(uint64_t position, std::byte* to, size_t bytes) const;

  RingControl* control_ = nullptr;
  std::span<std::byte> data_;
  uint64_t head_ = 0;
  uint32_t core_ = 0;  // as shown
};

// As RingControl::core has it.
uint32_t ThisCore();

}  // namespace plov::fabric::shm
