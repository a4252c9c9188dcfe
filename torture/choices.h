// Choices: what a client process does next, drawn from its seed.
//
// Few hot keys get most operations, many cold ones the rest. Values are of every size between the
// smallest and the largest, small ones as often as large ones, so inline items and records mix.
#pragma once

#include <array>
#include <cstdint>

#include "torture/random.h"
#include "torture/run_memory.h"

namespace plov::torture {

// How a batch of operations is called.
enum class Form : uint8_t {
  kGetMany,
  kPutMany,
  kAsync,   // GETs, writes and DELETEs at once
  kSingle,  // one blocking call
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
  size_t DrawValueBytes();
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

  uint64_t DrawKey(uint64_t keys_open);
  void Begin(Kind kind, uint64_t key, Operation* operation);
  Told& ToldOf(uint64_t key) { return told_[key % told_.size()]; }

  const Plan& plan_;
  Random random_;
  uint32_t process_;
  uint32_t size_bits_;  // of the largest value over the smallest
  uint64_t sequence_ = 0;
  std::array<Told, 1024> told_{};
};

}  // namespace plov::torture
