#include "verify/error.h"

#include <array>
#include <cerrno>
#include <system_error>

namespace plov {

std::string_view CodeName(Code code) {
  static constexpr auto kNames = std::to_array<std::string_view>(
      {"kOk",       "kNotFound",        "kExists",         "kVersionMismatch",
       "kNoSpace",  "kInvalidArgument", "kTooLarge",       "kUnavailable",
       "kTimeout",  "kUnknown",         "kCorrupt",        "kPermission",
       "kProtocol", "kInUse",           "kBufferTooSmall", "kSystem",
       "kNoShard",  "kNotANumber",      "kOutOfRange",     "kWrongType"});
  const auto index = static_cast<size_t>(code);
  return index < kNames.size() ? kNames[index] : CodeName(Code::kSystem);
}

std::unexpected<Error> FailErrno(std::string_view what, int error_number) {
  const bool denied = error_number == EACCES || error_number == EPERM;
  return Fail(denied ? Code::kPermission : Code::kSystem,
              std::string(what) + ": " + std::generic_category().message(error_number));
}

}  // namespace plov
