// Choices: what a client process does next, drawn from its seed.
//
// Few hot keys get most operations, each half of what the one before it gets, so that readers and
// writers meet: a bucket is torn for nanoseconds, and only one that is read and written all the
// time is seen so. Many cold keys get the rest.
//
// What values a key gets follows from its number (ProfileOf). Items that lie in their bucket show
// torn buckets; records show torn and foreign records, and large ones are READ for so long that
// their memory is given to another meanwhile. Cold keys get no large ones, which would only fill
// memory.
#pragma once

#include <array>
#include <cstdint>

#include "program/random.h"
#include "torture/run_memory.h"

namespace plov::torture {

// How a batch of operations is called.
enum class Form : uint8_t {
  kGetMany,
  kPutMany,
  kAsync,    // GETs, writes and DELETEs at once
  kSingle,   // one blocking call
  kGetInto,  // GETs into the caller's buffer, one after the other
};

class Choices {
 public:
  // process: its number in the run, so that every process does something else.
  Choices(const Plan& plan, uint32_t process);

  Form DrawForm();
  // Sets everything but the start. keys_open: cold keys are drawn from these.
  void DrawGet(uint64_t keys_open, Operation* operation);
  void DrawStore(uint64_t keys_open, Operation* operation);
  void DrawAny(uint64_t keys_open, Operation* operation);
  // As DrawGet, of a hot key.
  void DrawHotGet(Operation* operation);
  size_t DrawValueBytes(uint64_t key);
  // One in so many.
  bool OneIn(uint64_t count) { return random_.Below(count) == 0; }

  // Remembers a version that an operation was told, for conditional writes. Those of a former
  // history are to be forgotten.
  void Learn(const Operation& operation);
  void Forget() { told_.fill({}); }

 private:
  struct Told {
    uint64_t key = 0;
    uint64_t version = 0;  // 0: none
  };

  enum class Profile : uint8_t { kInline, kSmall, kAny };

  Profile ProfileOf(uint64_t key);
  // Every doubling between the smallest size and `most` equally often.
  size_t DrawBytesUpTo(uint64_t most);
  uint64_t DrawHotKey();
  uint64_t DrawKey(uint64_t keys_open);
  void Begin(Kind kind, uint64_t key, Operation* operation);
  Told& ToldOf(uint64_t key) { return told_[key % told_.size()]; }

  const Plan& plan_;
  program::Random random_;
  uint32_t process_;
  uint64_t sequence_ = 0;
  std::array<Told, 1024> told_{};
};

}  // namespace plov::torture
