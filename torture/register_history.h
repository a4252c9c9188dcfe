// Register history: what clients of any store did to one key, as they recorded it, and how it
// reads.
//
// A register is absent or holds a value. There are no versions: what an operation met is told by
// values alone, and one value may be written twice. As in torture/history.h an operation takes
// effect at one instant between its start and its end; one that is open may do so at any time after
// its start, or never.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "torture/history.h"

namespace plov::torture {

// A value by its number; the texts are the reader's.
using RegisterValue = uint32_t;
inline constexpr RegisterValue kAbsentValue = 0;

struct RegisterCall {
  // What the operation says of the register at its instant.
  enum class Needs : uint8_t {
    kNothing,
    kValue,    // it held `needed`, which may be kAbsentValue
    kPresent,  // it held some value
    kOther,    // it held some value, and not `needed`
  };

  Needs needs = Needs::kNothing;
  bool stores = false;  // it holds `next` afterwards, which may be kAbsentValue
  bool is_open = false;
  bool is_write = false;  // with an answer, whether it stores or not
  RegisterValue needed = kAbsentValue;
  RegisterValue next = kAbsentValue;
  Instant start = 0;
  Instant end = 0;    // of an open one it is not looked at
  size_t source = 0;  // the caller's own number for it

  bool operator==(const RegisterCall&) const = default;
};

constexpr bool Allows(const RegisterCall& call, RegisterValue held) {
  switch (call.needs) {
    case RegisterCall::Needs::kNothing:
      return true;
    case RegisterCall::Needs::kValue:
      return held == call.needed;
    case RegisterCall::Needs::kPresent:
      return held != kAbsentValue;
    case RegisterCall::Needs::kOther:
      return held != kAbsentValue && held != call.needed;
  }
  return false;
}

}  // namespace plov::torture
