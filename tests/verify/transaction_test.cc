#include "verify/transaction.h"

#include <gtest/gtest.h>

#include <random>
#include <string>

#include "verify/record.h"

namespace plov::verify {
namespace {

Transaction Example() {
  return {.reads = {{"one", 7}, {"absent", 0}},
          .writes = {{.operation = Operation::kPut,
                      .value_bytes = 5,
                      .flags = 9,
                      .ttl_seconds = 60,
                      .key = "one",
                      .value = "value"},
                     {.operation = Operation::kPut, .expiry = 77, .key = "until"},
                     {.operation = Operation::kDelete, .key = "gone"}}};
}

TEST(Transaction, ComesBackAsItWas) {
  const Transaction sent = Example();
  const std::string bytes = EncodeTransaction(sent);
  EXPECT_EQ(bytes.size() % kWordBytes, 0u);
  const auto got = DecodeTransaction(bytes);
  ASSERT_TRUE(got);
  EXPECT_EQ(got->reads, sent.reads);
  ASSERT_EQ(got->writes.size(), sent.writes.size());
  for (size_t i = 0; i < sent.writes.size(); ++i) {
    EXPECT_EQ(got->writes[i].operation, sent.writes[i].operation);
    EXPECT_EQ(got->writes[i].flags, sent.writes[i].flags);
    EXPECT_EQ(got->writes[i].ttl_seconds, sent.writes[i].ttl_seconds);
    EXPECT_EQ(got->writes[i].expiry, sent.writes[i].expiry);
    EXPECT_EQ(got->writes[i].key, sent.writes[i].key);
    EXPECT_EQ(got->writes[i].value, sent.writes[i].value);
  }
}

TEST(Transaction, IsNoneWhereAnythingIsCutOrAdded) {
  const std::string bytes = EncodeTransaction(Example());
  for (size_t i = 0; i < bytes.size(); ++i) {
    EXPECT_FALSE(DecodeTransaction(std::string_view(bytes).substr(0, i))) << i;
  }
  EXPECT_FALSE(DecodeTransaction(bytes + std::string(8, '\0')));
  EXPECT_FALSE(DecodeTransaction(EncodeTransaction({})));
}

TEST(Transaction, HasItsLimits) {
  Transaction transaction;
  transaction.reads.assign(kTransactionReadsMax, {"key", 1});
  EXPECT_TRUE(DecodeTransaction(EncodeTransaction(transaction)));
  transaction.reads.push_back({"key", 1});
  EXPECT_FALSE(DecodeTransaction(EncodeTransaction(transaction)));
  const std::string longest(kKeyBytesMax, 'k'), longer(kKeyBytesMax + 1, 'k');
  EXPECT_TRUE(DecodeTransaction(EncodeTransaction({.reads = {{longest, 1}}, .writes = {}})));
  for (const std::string& key : {std::string(), longer}) {
    EXPECT_FALSE(DecodeTransaction(EncodeTransaction({.reads = {{key, 1}}, .writes = {}})));
  }
}

// Any bytes are taken for what they say, or for nothing.
TEST(Transaction, IsReadWithinItsBytes) {
  std::mt19937_64 random(1);
  const std::string whole = EncodeTransaction(Example());
  uint64_t taken = 0;
  for (int i = 0; i < 200'000; ++i) {
    std::string bytes = whole;
    for (uint64_t n = 1 + random() % 3; n > 0; --n) {
      bytes[random() % bytes.size()] = static_cast<char>(random());
    }
    const auto got = DecodeTransaction(bytes);
    if (!got) continue;
    ++taken;
    for (const Request& write : got->writes) {
      const bool is_write =
          write.operation == Operation::kPut || write.operation == Operation::kDelete;
      EXPECT_TRUE(is_write && !write.key.empty() && write.key.size() <= kKeyBytesMax);
      EXPECT_TRUE(write.value.empty() ||
                  (write.value.data() >= bytes.data() &&
                   write.value.data() + write.value.size() <= bytes.data() + bytes.size()));
    }
  }
  EXPECT_GT(taken, 0u);
}

}  // namespace
}  // namespace plov::verify
