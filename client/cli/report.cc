#include "client/cli/report.h"

#include <fmt/core.h>

#include <cstdio>
#include <utility>

#include "program/output.h"

namespace plov::cli {

namespace {

// What the library's message leaves to the program that shows it.
std::string_view AdviceOf(Code code) {
  switch (code) {
    case Code::kTimeout:
      return "; see whether plovd runs, or allow more with --timeout";
    case Code::kUnknown:
      return "; get the key to see";
    case Code::kCorrupt:
      return "; restart plovd and load the items again";
    default:
      return "";
  }
}

}  // namespace

int ExitStatusOf(Code code) {
  switch (code) {
    case Code::kNotFound:
      return kExitNotFound;
    case Code::kInvalidArgument:
      return kExitUsage;
    default:
      return kExitError;
  }
}

std::string Printable(std::string_view text) {
  std::string printable;
  for (const char c : program::ForTerminal(text)) {
    if (c == '\t' || c == '\n') {
      printable += fmt::format("\\x{:02x}", c);
    } else {
      printable += c;
    }
  }
  return printable;
}

std::unexpected<Error> NoUsageError(Error error) {
  if (error.code == Code::kInvalidArgument) error.code = Code::kSystem;
  return std::unexpected(std::move(error));
}

std::string HasOtherVersion(std::string_view key, uint64_t version) {
  return fmt::format("the key '{}' does not have version {}: get --json shows its version", key,
                     version);
}

std::unexpected<Error> NoItem(std::string_view key) {
  return Fail(Code::kNotFound, fmt::format("no item has the key '{}'", key));
}

int Complain(std::string_view command, const Error& error) {
  if (error.message.empty()) return ExitStatusOf(error.code);
  const std::string_view colon = command.empty() ? "" : ": ";
  const std::string line = fmt::format("plov: {}{}{}{}\n", command, colon, Printable(error.message),
                                       AdviceOf(error.code));
  std::fwrite(line.data(), 1, line.size(), stderr);
  return ExitStatusOf(error.code);
}

}  // namespace plov::cli
