// History: what the clients of a run did to a key, as seen from outside, and what makes it right.
//
// A key is a register that is absent or holds one value under one version. An operation takes
// effect at one instant between its start and its end, both included; operations whose intervals
// touch are concurrent. A history is right (linearizable) if and only if there are such instants so
// that, taken in their order, every operation came to what the key's state at its instant makes it:
//
//   kind          kOk, version V             kAbsent         kExists    kMismatch
//   kGet          holds value under V        is absent
//   kPut          stores under V
//   kAdd          was absent, stores                         present
//   kReplace      was present, stores        is absent
//   kPutIf        held `expected`, stores    is absent                  present, not `expected`
//   kDelete       was present, goes away     is absent
//   kDeleteIf     held `expected`, goes away is absent                  present, not `expected`
//
// and so that each store's version is higher than that of every store before it. Versions are
// compared, never counted: between two of them there is always room for stores that no operation saw.
// kRefused did nothing. kUnknown took effect at some instant after its start, however late, or did
// nothing; what it would have returned is unknown.
//
// A client can only expect a version that it was told: `expected` is the version of some store or
// hit of the history, or of a foreign value.
//
// Operations of several lives of a server that starts empty are several histories.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace plov::torture {

// Nanoseconds of a clock that all processes share. Negative instants lie before the history.
using Instant = int64_t;
inline constexpr Instant kForever = std::numeric_limits<Instant>::max();
inline constexpr Instant kNever = -1;

enum class Kind : uint8_t { kGet, kPut, kAdd, kReplace, kPutIf, kDelete, kDeleteIf };

enum class Outcome : uint8_t {
  kOk,
  kAbsent,    // a GET's miss, kNotFound of a write, `false` of a DELETE
  kExists,    // ADD of a key that is present
  kMismatch,  // a conditional write of a key that holds another version
  kRefused,   // certainly not applied: kNoSpace, kUnavailable, kTooLarge, or it was never sent
  kUnknown,   // kUnknown, kTimeout, or its process was killed; a GET's kTimeout or kCorrupt
};

// A value's identity: which store wrote it. 40 bits of sequence, so that a process can store a
// million times a second for twelve days. kForeign is what no store of the history wrote.
using ValueId = uint64_t;
inline constexpr ValueId kForeign = 0;
inline constexpr uint32_t kSequenceBits = 40;
// Who did what happened before the operations at hand. Processes of a run have lower numbers.
inline constexpr uint32_t kBefore = (uint32_t{1} << 24) - 1;
// The tool itself, which gets all keys after a restart of the server, or at the end.
inline constexpr uint32_t kTool = kBefore - 1;

// sequence: from 1 on, so that no value is kForeign by accident.
constexpr ValueId MakeValueId(uint32_t process, uint64_t sequence) {
  return static_cast<uint64_t>(process) << kSequenceBits |
         (sequence & ((uint64_t{1} << kSequenceBits) - 1));
}

// Written into shared memory by one process and read by another; fixed, without padding.
struct Operation {
  Instant start = 0;
  Instant end = 0;        // of kUnknown it is not looked at
  uint64_t key = 0;       // its number
  ValueId value = 0;      // what a store wrote or a GET's hit returned
  uint64_t version = 0;   // returned or seen: of kExists, kMismatch and a DELETE 0 when not told
  uint64_t expected = 0;  // of kPutIf and kDeleteIf
  uint32_t process = 0;
  Kind kind = Kind::kGet;
  Outcome outcome = Outcome::kOk;
  uint16_t reserved = 0;

  bool operator==(const Operation&) const = default;
};
static_assert(sizeof(Operation) == 56);

// What a key was before the history's first operation.
enum class Initial : uint8_t {
  kAbsent,
  kAnything,  // absent, or a foreign value under some version: a live server with data
};

constexpr bool IsStore(Kind kind) { return kind >= Kind::kPut && kind <= Kind::kPutIf; }
constexpr bool IsDelete(Kind kind) { return kind >= Kind::kDelete; }
constexpr bool IsConditional(Kind kind) { return kind == Kind::kPutIf || kind == Kind::kDeleteIf; }

// The version that the operation says the key held at its instant, 0 when it says none.
constexpr uint64_t HeldVersion(const Operation& operation) {
  if (operation.outcome == Outcome::kExists || operation.outcome == Outcome::kMismatch) {
    return operation.version;
  }
  if (operation.outcome != Outcome::kOk) return 0;
  if (IsConditional(operation.kind)) return operation.expected;
  return IsStore(operation.kind) ? 0 : operation.version;
}

constexpr bool IsOpen(const Operation& operation) { return operation.outcome == Outcome::kUnknown; }

constexpr bool IsHit(const Operation& operation) {
  return operation.kind == Kind::kGet && operation.outcome == Outcome::kOk;
}

constexpr bool IsStored(const Operation& operation) {
  return IsStore(operation.kind) && operation.outcome == Outcome::kOk;
}

// A version that the key had at some instant, 0 when the operation tells of none.
constexpr uint64_t KnownVersion(const Operation& operation) {
  return IsStored(operation) ? operation.version : HeldVersion(operation);
}

// Whether the operation can be one at all: outcome and fields that its kind allows. What is not is
// a violation by itself, for operations come from memory that a killed process wrote.
bool IsWellFormed(const Operation& operation);

// The operations by start, those of the same start by end, and those of the same end as they were.
std::vector<Operation> ByStart(std::span<const Operation> history);

std::string_view KindName(Kind kind);           // "GET", "PUT-IF"
std::string_view OutcomeName(Outcome outcome);  // "ok", "mismatch"
std::string ProcessName(uint32_t process);      // "p3", "tool"
std::string ValueName(ValueId value);           // "p3#7"

}  // namespace plov::torture
