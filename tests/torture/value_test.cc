// Values that prove which store wrote them.

#include "torture/value.h"

#include <gtest/gtest.h>

#include "torture/key_names.h"

namespace plov::torture {
namespace {

std::string ValueOf(ValueId id, uint64_t key, size_t bytes) {
  std::string value(bytes, '?');
  WriteValue(id, key, value);
  return value;
}

constexpr size_t kSizes[] = {16, 17, 23, 24, 25, 31, 64, 100, 1000};

TEST(Value, ProvesItsWriter) {
  for (const size_t bytes : kSizes) {
    const ValueId id = MakeValueId(3, bytes);
    const auto read = ReadValue(ValueOf(id, 7, bytes), 7);
    ASSERT_TRUE(read) << read.error();
    EXPECT_EQ(*read, id);
  }
}

TEST(Value, EveryChangedByteIsNoticed) {
  for (const size_t bytes : kSizes) {
    const std::string value = ValueOf(MakeValueId(3, 1), 7, bytes);
    for (size_t at = 0; at < bytes; ++at) {
      std::string changed = value;
      changed[at] = static_cast<char>(changed[at] ^ 0x20);
      EXPECT_FALSE(ReadValue(changed, 7)) << at << " of " << bytes;
    }
  }
}

TEST(Value, EveryMixtureOfTwoIsNoticed) {
  for (const size_t bytes : kSizes) {
    const std::string one = ValueOf(MakeValueId(3, 1), 7, bytes);
    const std::string other = ValueOf(MakeValueId(3, 2), 7, bytes);
    for (size_t at = 8; at < bytes; at += 8) {
      EXPECT_FALSE(ReadValue(one.substr(0, at) + other.substr(at), 7)) << at << " of " << bytes;
    }
  }
}

TEST(Value, IsNoOtherKeysAndNoOtherLength) {
  const std::string value = ValueOf(MakeValueId(3, 1), 7, 100);
  EXPECT_FALSE(ReadValue(value, 8));
  EXPECT_FALSE(ReadValue(value, SealedKey(1, 7)));
  for (size_t bytes = 0; bytes < 100; ++bytes) EXPECT_FALSE(ReadValue(value.substr(0, bytes), 7));
  EXPECT_FALSE(ReadValue(value + '\0', 7));
}

TEST(KeyName, DiffersByRunHistoryAndNumber) {
  const KeyName name(1, 2, 3);
  EXPECT_EQ(name.view(), "t000100200003");
  EXPECT_EQ(KeyName(1, 2, 32).view(), "t000100200010");
  EXPECT_NE(KeyName(1, 3, 3).view(), name.view());
  EXPECT_EQ(KeyName(1, 3, 3).prefix(), name.prefix());
  EXPECT_NE(KeyName(2, 2, 3).prefix(), name.prefix());
}

}  // namespace
}  // namespace plov::torture
