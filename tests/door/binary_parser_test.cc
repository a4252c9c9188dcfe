// memcached's binary protocol as commands, and what its clients come in with. What memcached itself makes of it:
// tests/door/binary_differential.py.
#include <gtest/gtest.h>

#include <string>

#include "door/memcached/binary_command.h"
#include "door/memcached/binary_header.h"
#include "door/memcached/credentials.h"

namespace plov::door::memcached {
namespace {

constexpr std::string_view kSetHeader(
    "\x80\x11\x01\x02\x08\x00\x00\x00\x00\x00\x04\x0a\xde\xad\xbe\xef"
    "\x01\x02\x03\x04\x05\x06\x07\x08",
    24);

TEST(BinaryHeader, OfARequestIsReadByteByByte) {
  const auto header = DecodeRequestHeader(kSetHeader);
  ASSERT_TRUE(header);
  EXPECT_EQ(header->opcode, Opcode::kSetQ);
  EXPECT_EQ(header->key_bytes, 0x102);
  EXPECT_EQ(header->extras_bytes, 8);
  EXPECT_EQ(header->body_bytes, 0x40aU);
  EXPECT_EQ(header->opaque, 0xdeadbeefU);
  EXPECT_EQ(header->cas, 0x0102030405060708U);
  EXPECT_TRUE(header->is_consistent());
  EXPECT_EQ(header->value_bytes(), 0x300U);
}

TEST(BinaryHeader, OfAnotherMagicOrTooShortIsNone) {
  for (const char magic : {'\0', '\x81', '\x7f', 'g'}) {
    std::string bytes(kSetHeader);
    bytes[0] = magic;
    EXPECT_FALSE(DecodeRequestHeader(bytes));
  }
  EXPECT_FALSE(DecodeRequestHeader(kSetHeader.substr(0, 23)));
  EXPECT_FALSE(DecodeRequestHeader(std::string(24, '\0')));
}

TEST(BinaryHeader, OfAReplyIsWrittenByteByByte) {
  const BinaryHeader request{.opcode = Opcode::kGatK, .opaque = 0xdeadbeef};
  std::string reply;
  AddReply(
      request,
      {.status = Status::kUnknownCommand, .cas = 5, .extras = "abcd", .key = "k", .value = "vw"},
      &reply);
  EXPECT_EQ(reply,
            std::string_view("\x81\x23\x00\x01\x04\x00\x00\x81\x00\x00\x00\x07\xde\xad\xbe\xef"
                             "\x00\x00\x00\x00\x00\x00\x00\x05"
                             "abcdkvw",
                             31));
}

BinaryHeader Header(Opcode opcode, size_t key_bytes, size_t extras_bytes, size_t value_bytes) {
  return {.opcode = opcode,
          .key_bytes = static_cast<uint16_t>(key_bytes),
          .extras_bytes = static_cast<uint8_t>(extras_bytes),
          .body_bytes = static_cast<uint32_t>(key_bytes + extras_bytes + value_bytes)};
}

TEST(BinaryCommand, OfEveryOpcodeIsRefusedWithOtherLengths) {
  // What each has: a key, extras, a value.
  struct Lengths {
    Opcode opcode;
    size_t key, extras, value;
  };
  constexpr Lengths kGood[] = {
      {Opcode::kGet, 1, 0, 0},         {Opcode::kGetKQ, 250, 0, 0},  {Opcode::kSet, 1, 8, 0},
      {Opcode::kReplaceQ, 1, 8, 9},    {Opcode::kDelete, 1, 0, 0},   {Opcode::kIncrement, 1, 20, 0},
      {Opcode::kDecrementQ, 1, 20, 0}, {Opcode::kFlush, 0, 4, 0},    {Opcode::kFlushQ, 0, 0, 0},
      {Opcode::kNoop, 0, 0, 0},        {Opcode::kStat, 5, 0, 0},     {Opcode::kTouch, 1, 4, 0},
      {Opcode::kGatKQ, 1, 4, 0},       {Opcode::kSaslAuth, 5, 0, 9}, {Opcode::kAppend, 1, 0, 9}};
  for (const Lengths& good : kGood) {
    const int opcode = static_cast<int>(good.opcode);
    EXPECT_EQ(RefusalOf(Header(good.opcode, good.key, good.extras, good.value)), std::nullopt)
        << opcode;
    EXPECT_EQ(RefusalOf(Header(good.opcode, good.key, good.extras + 1, good.value)),
              Status::kInvalid)
        << opcode;
    EXPECT_EQ(RefusalOf(Header(good.opcode, 251, good.extras, good.value)), Status::kInvalid)
        << opcode;
    if (good.key > 0 && good.opcode != Opcode::kStat) {
      EXPECT_EQ(RefusalOf(Header(good.opcode, 0, good.extras, good.value)), Status::kInvalid)
          << opcode;
    }
  }
  for (const int opcode : {0x1b, 0x1f, 0x25, 0x30, 0xff}) {
    EXPECT_EQ(RefusalOf(Header(static_cast<Opcode>(opcode), 1, 2, 3)), Status::kUnknownCommand);
  }
}

TEST(BinaryCommand, HasThePartsOfItsRequest) {
  std::string head;
  AppendBytes(uint32_t{77}, &head);
  AppendBytes(uint32_t{0xfffffffe}, &head);
  head += "key";
  BinaryHeader header = Header(Opcode::kAddQ, 3, 8, 1000);
  Command command = ParseBinary(header, head);
  EXPECT_EQ(command.verb, Verb::kStore);
  EXPECT_EQ(command.mode, StoreMode::kAdd);
  EXPECT_EQ(command.key(), "key");
  EXPECT_EQ(command.flags, 77U);
  EXPECT_EQ(command.exptime, 0xfffffffe);  // no negative number
  EXPECT_EQ(command.value_bytes, 1000U);
  EXPECT_TRUE(command.noreply);
  header.cas = 5;
  EXPECT_EQ(ParseBinary(header, head).mode, StoreMode::kCas);
}

TEST(BinaryCommand, OfIncrementMakesAnItemUnlessItsExptimeIsAllOnes) {
  std::string head;
  AppendBytes(uint64_t{3}, &head);
  AppendBytes(uint64_t{9}, &head);
  AppendBytes(uint32_t{100}, &head);
  head += 'n';
  const Command command = ParseBinary(Header(Opcode::kDecrement, 1, 20, 0), head);
  EXPECT_FALSE(command.adds);
  EXPECT_EQ(command.delta, 3U);
  EXPECT_EQ(command.initial, 9U);
  EXPECT_EQ(command.vivify, 100);
  head.replace(16, 4, "\xff\xff\xff\xff");
  EXPECT_EQ(ParseBinary(Header(Opcode::kIncrementQ, 1, 20, 0), head).vivify, std::nullopt);
}

TEST(Credentials, EqualOnlyThemselves) {
  const std::string longest(Credentials::kBytesMax, 'x');
  const Credentials known("user", "pass");
  EXPECT_TRUE(known.Equals(Credentials("user", "pass")));
  EXPECT_TRUE(Credentials(longest, longest).Equals(Credentials(longest, longest)));
  for (const auto& [user, password] :
       {std::pair("user", "pas"), std::pair("user", "passx"), std::pair("use", "pass"),
        std::pair("userx", "pass"), std::pair("User", "pass"), std::pair("user", "pasS"),
        std::pair("pass", "user")}) {
    EXPECT_FALSE(known.Equals(Credentials(user, password))) << user << password;
  }
  std::string other = longest;
  other.back() = 'y';
  EXPECT_FALSE(Credentials(longest, longest).Equals(Credentials(longest, other)));
}

TEST(Users, AreLinesOfNameAndPassword) {
  const auto users = ParseUsers("a:b\r\n\nuser:pass:word \nlast:line");
  ASSERT_TRUE(users);
  ASSERT_EQ(users->size(), 3U);
  EXPECT_TRUE((*users)[0].Equals(Credentials("a", "b")));
  EXPECT_TRUE((*users)[1].Equals(Credentials("user", "pass:word ")));
  EXPECT_TRUE((*users)[2].Equals(Credentials("last", "line")));
}

TEST(Users, OfAWrongLineAreToldWithItsNumber) {
  const std::string too_long(256, 'x');
  for (const std::string& line :
       {std::string("user"), std::string(":password"), std::string("user:"), std::string(":"),
        std::string("a:b\0c", 5), "a:" + too_long, too_long + ":b"}) {
    const auto users = ParseUsers("a:b\n\n" + line + "\nc:d\n");
    ASSERT_FALSE(users) << line;
    EXPECT_NE(users.error().message.find("line 3 "), std::string::npos) << users.error().message;
  }
  EXPECT_FALSE(ParseUsers(""));
  EXPECT_FALSE(ParseUsers("\n\r\n"));
}

TEST(PlainMessage, HasThreePartsAndOneUser) {
  const auto parse = [](const std::string& text) { return ParsePlain(text); };
  const auto plain = parse(std::string("\0user\0pass", 10));
  ASSERT_TRUE(plain);
  EXPECT_EQ(plain->user, "user");
  EXPECT_EQ(plain->password, "pass");
  EXPECT_TRUE(parse(std::string("user\0user\0pass", 14)));
  EXPECT_FALSE(parse(std::string("root\0user\0pass", 14)));
  EXPECT_FALSE(parse(std::string("\0user\0pass\0", 11)));
  EXPECT_FALSE(parse(std::string("\0user", 5)));
  EXPECT_FALSE(parse("user"));
  EXPECT_FALSE(parse(""));
}

}  // namespace
}  // namespace plov::door::memcached
