// Errors: what every fallible call of plov returns in std::expected. Installed as plov/error.h.
#pragma once

#include <cstdint>
#include <expected>
#include <string>
#include <string_view>
#include <utility>

// What libplov.so shows to the programs that link it; everything else in it is hidden.
#define PLOV_EXPORT __attribute__((visibility("default")))

namespace plov {

// Numbers are part of the protocol (a reply's status) and of plov.h: they never change.
enum class Code : uint16_t {
  kOk = 0,               // only on the wire and in C; an Error never carries it
  kNotFound = 1,         // a conditional or REPLACE write of a key that is absent
  kExists = 2,           // ADD of a key that is present
  kVersionMismatch = 3,  // a conditional write of a key that has another version
  kNoSpace = 4,          // memory or table is full; everything stored stays
  kInvalidArgument = 5,  // a key, value or option that can never be accepted
  kTooLarge = 6,         // a value over the server's --max-value
  kUnavailable = 7,      // no server there, or it is gone; nothing was applied
  kTimeout = 8,          // the deadline passed; a write may have been applied or may be yet
  kUnknown = 9,          // a write was sent and the server died: applied or not cannot be told
  kCorrupt = 10,         // bytes fail their seal and no writer is at work
  kPermission = 11,      // the system or the server does not let this process in, or write
  kProtocol = 12,        // the peer speaks another format version, or garbage
  kInUse = 13,           // another server serves this name
  kBufferTooSmall = 14,  // GetInto: the value does not fit in the caller's buffer
  kSystem = 15,          // an operating-system call failed
  kNoShard = 16,     // the server does not serve this shard; of the fabric, libplov returns none
  kNotANumber = 17,  // Increment of a value that is not the text of such a number
  kOutOfRange =
      18,  // Increment beyond its limits, a slice beyond its vector's end; nothing was changed
  kWrongType = 19,  // the value is no vector, or one of elements of another type
};

// The code's name as users see it, "kNoSpace"; "kSystem" for a number that is not a code.
PLOV_EXPORT std::string_view CodeName(Code code);

struct Error {
  Code code;
  std::string message;  // one line: what happened and what to do
};

inline std::unexpected<Error> Fail(Code code, std::string message) {
  return std::unexpected(Error{code, std::move(message)});
}

// kPermission or kSystem from errno, as "<what>: <strerror>". For plov's own parts: libplov.so does
// not export it.
std::unexpected<Error> FailErrno(std::string_view what, int error_number);

}  // namespace plov
