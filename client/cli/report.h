// How an error ends plov: one line on standard error and an exit status.
#pragma once

#include <plov/error.h>

#include <cstdint>
#include <expected>
#include <string>
#include <string_view>

namespace plov::cli {

inline constexpr int kExitNotFound = 1;
inline constexpr int kExitUsage = 2;
inline constexpr int kExitError = 3;

int ExitStatusOf(Code code);

// Control characters, and bytes that are no UTF-8, as \xNN, so that a key or a path in a message can
// neither break its line nor move a terminal's cursor.
std::string Printable(std::string_view text);

// The error of a command without words, by which the server refuses what it was not started for: the
// command line is right.
std::unexpected<Error> NoUsageError(Error error);

// There is none with this key.
std::unexpected<Error> NoItem(std::string_view key);

// What a write over a version is told where the key has another.
std::string HasOtherVersion(std::string_view key, uint64_t version);

// Prints "plov: COMMAND: what happened and what to do" and returns the exit status. An error without a
// message is an answer, which the exit status alone tells.
int Complain(std::string_view command, const Error& error);

}  // namespace plov::cli
