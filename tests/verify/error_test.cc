#include "verify/error.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <utility>

namespace plov {
namespace {

TEST(Error, EveryCodeHasItsNumberAndItsName) {
  const std::pair<Code, std::string_view> codes[] = {
      {Code::kOk, "kOk"},
      {Code::kNotFound, "kNotFound"},
      {Code::kExists, "kExists"},
      {Code::kVersionMismatch, "kVersionMismatch"},
      {Code::kNoSpace, "kNoSpace"},
      {Code::kInvalidArgument, "kInvalidArgument"},
      {Code::kTooLarge, "kTooLarge"},
      {Code::kUnavailable, "kUnavailable"},
      {Code::kTimeout, "kTimeout"},
      {Code::kUnknown, "kUnknown"},
      {Code::kCorrupt, "kCorrupt"},
      {Code::kPermission, "kPermission"},
      {Code::kProtocol, "kProtocol"},
      {Code::kInUse, "kInUse"},
      {Code::kBufferTooSmall, "kBufferTooSmall"},
      {Code::kSystem, "kSystem"},
      {Code::kNoShard, "kNoShard"},
      {Code::kNotANumber, "kNotANumber"},
      {Code::kOutOfRange, "kOutOfRange"},
      {Code::kWrongType, "kWrongType"},
  };
  uint16_t number = 0;
  for (const auto& [code, name] : codes) {
    EXPECT_EQ(static_cast<uint16_t>(code), number++) << name;
    EXPECT_EQ(CodeName(code), name);
  }
}

// A reply's status comes from the wire, so the name of any number is asked for.
TEST(Error, NumbersThatAreNoCodeAreNamedSystem) {
  for (unsigned number = 20; number <= 0xffff; ++number) {
    EXPECT_EQ(CodeName(static_cast<Code>(number)), "kSystem");
  }
}

TEST(Error, FailCarriesCodeAndMessage) {
  const std::expected<int, Error> failed = Fail(Code::kNoSpace, "memory is full");
  ASSERT_FALSE(failed.has_value());
  EXPECT_EQ(failed.error().code, Code::kNoSpace);
  EXPECT_EQ(failed.error().message, "memory is full");
}

TEST(Error, RefusalsOfTheSystemArePermissionAndTheRestSystem) {
  EXPECT_EQ(FailErrno("open", EACCES).error().code, Code::kPermission);
  EXPECT_EQ(FailErrno("open", EPERM).error().code, Code::kPermission);
  EXPECT_EQ(FailErrno("open", ENOENT).error().code, Code::kSystem);
  EXPECT_EQ(FailErrno("open", ENOENT).error().message, "open: No such file or directory");
}

}  // namespace
}  // namespace plov
