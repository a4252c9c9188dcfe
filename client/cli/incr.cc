// incr and decr.

#include <fmt/core.h>

#include <optional>
#include <string>

#include "client/cli/commands.h"
#include "client/cli/connect.h"
#include "client/cli/json.h"
#include "client/cli/options.h"
#include "client/cli/report.h"
#include "verify/number.h"

namespace plov::cli {

namespace {

using verify::NumberMode;

// By how much, which is 1 where the command line does not say.
std::expected<int64_t, Error> AmountOf(const Options& options, NumberMode mode) {
  if (options.words.size() < 2) return 1;
  const auto amount = verify::NumberOf(options.words[1], mode);
  if (amount) return *amount;
  return Fail(Code::kInvalidArgument,
              fmt::format("'{}' is not a number from {}", options.words[1],
                          mode == NumberMode::kSigned ? "-2^63 to 2^63-1"
                                                      : "0 to 2^64-1, as --unsigned has them"));
}

Error Refused(Error error, const std::string& key, const IncrementOptions& increment) {
  if (error.code == Code::kNotFound) {
    error.message = fmt::format("no item has the key '{}': --initial would store it", key);
  } else if (error.code == Code::kVersionMismatch) {
    error.message = HasOtherVersion(key, increment.expected_version);
  }
  return error;
}

Outcome Change(const Options& options, bool adds, program::Output* output) {
  const std::string& key = options.words[0];
  if (auto good = CheckKey(key); !good) return good;
  IncrementOptions increment = options.increment;
  auto mode = NumberMode::kSigned;
  if (options.is_unsigned) mode = adds ? NumberMode::kUnsignedAdd : NumberMode::kUnsignedSubtract;
  increment.mode = static_cast<plov::NumberMode>(mode);
  auto amount = AmountOf(options, mode);
  if (!amount) return std::unexpected(amount.error());
  const bool turns = !adds && !options.is_unsigned;
  if (turns && __builtin_sub_overflow(0, *amount, &*amount)) {
    return Fail(Code::kInvalidArgument, "it cannot be decremented by so much");
  }
  const auto client = ConnectOnce(options);
  if (!client) return std::unexpected(client.error());
  const auto number = (*client)->Increment(key, *amount, increment);
  if (!number) return std::unexpected(Refused(number.error(), key, increment));
  if (!options.json) {
    output->Write(verify::NumberText(number->value, mode) + "\n");
    return {};
  }
  program::Json object = JsonOfWrite(key, number->version);
  if (options.is_unsigned) {
    object["number"] = static_cast<uint64_t>(number->value);
  } else {
    object["number"] = number->value;
  }
  output->Write(program::LineOf(object));
  return {};
}

}  // namespace

Outcome Incr(const Options& options, program::Output* output) {
  return Change(options, true, output);
}

Outcome Decr(const Options& options, program::Output* output) {
  return Change(options, false, output);
}

}  // namespace plov::cli
