// Redis's requests from bytes, its numbers and globs. What Redis itself makes of them: tests/door/redis_differential.py.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "door/redis/glob.h"
#include "door/redis/inline_words.h"
#include "door/redis/numbers.h"
#include "door/redis/resp_reader.h"

namespace plov::door::redis {
namespace {

using Words = std::vector<std::string>;

std::string Request(const Words& words) {
  std::string text = "*" + std::to_string(words.size()) + "\r\n";
  for (const std::string& word : words) {
    text += "$" + std::to_string(word.size()) + "\r\n" + word + "\r\n";
  }
  return text;
}

// Reads `text`, which comes in pieces of so many bytes, as a connection does.
std::vector<Words> ReadInPieces(RespReader* reader, std::string_view text, size_t piece_bytes) {
  std::vector<Words> requests;
  std::string kept;
  while (!text.empty()) {
    const std::span<char> wanted = reader->wanted();
    if (!wanted.empty()) {
      const size_t bytes = text.copy(wanted.data(), std::min(wanted.size(), piece_bytes));
      reader->Filled(bytes);
      text.remove_prefix(bytes);
      continue;
    }
    const size_t bytes = std::min(text.size(), piece_bytes);
    kept += text.substr(0, bytes);
    text.remove_prefix(bytes);
    size_t taken = 1;
    while (!kept.empty() && taken > 0) {
      const auto result = reader->Read(kept);
      if (result.outcome == RespReader::Outcome::kBroken) return requests;
      if (result.outcome == RespReader::Outcome::kRequest) {
        requests.emplace_back(reader->arguments().begin(), reader->arguments().end());
      }
      taken = result.taken_bytes;
      kept.erase(0, taken);
    }
  }
  return requests;
}

TEST(RespReader, RequestsAreTheSameInPiecesOfAnySize) {
  const std::vector<Words> requests = {
      {"get", "a"},     {"set", "a", std::string(30000, 'v')},    {"", ""},
      Words(3000, "x"), {"set", "\r\n", std::string(8192, '\n')}, {"ping"}};
  std::string text;
  for (const Words& words : requests) text += Request(words);
  for (const size_t bytes : {size_t{1}, size_t{2}, size_t{7}, size_t{8192}, text.size()}) {
    RespReader reader({.argument_bytes_max = 1 << 20, .reserve = {}});
    EXPECT_EQ(ReadInPieces(&reader, text, bytes), requests) << bytes;
  }
}

TEST(RespReader, WhatIsTooLargeIsPassedOver) {
  const std::string text = Request({"set", "a", std::string(50000, 'v')}) + Request({"ping"});
  for (const size_t bytes : {size_t{100}, text.size()}) {
    RespReader reader({.argument_bytes_max = 40000, .reserve = {}});
    const auto requests = ReadInPieces(&reader, text, bytes);
    ASSERT_EQ(requests.size(), 2U);
    EXPECT_EQ(requests[1], Words{"ping"});
    EXPECT_EQ(reader.refusal(), RespReader::Refusal::kNone);
  }
}

TEST(RespReader, MemoryIsAskedForFirst) {
  size_t asked = 0;
  RespReader reader({.argument_bytes_max = 1 << 20, .reserve = [&](size_t bytes) {
                       asked += bytes;
                       return false;
                     }});
  const std::string text = Request({"set", "a", std::string(50000, 'v')});
  ASSERT_EQ(reader.Read(text.substr(0, 100)).taken_bytes, 100U);
  EXPECT_TRUE(reader.wanted().empty());
  EXPECT_EQ(reader.Read(text.substr(100)).outcome, RespReader::Outcome::kRequest);
  EXPECT_EQ(reader.refusal(), RespReader::Refusal::kNoMemory);
  EXPECT_GT(asked, 0U);
  EXPECT_LT(reader.bytes(), 10000U);
}

TEST(RespReader, WhatIsNoRequestIsSaid) {
  const auto error_of = [](std::string_view text) {
    RespReader reader({});
    return reader.Read(text).outcome == RespReader::Outcome::kBroken ? reader.error() : "";
  };
  EXPECT_EQ(error_of("*x\r\n"), "Protocol error: invalid multibulk length");
  EXPECT_EQ(error_of("*2147483648\r\n"), "Protocol error: invalid multibulk length");
  EXPECT_EQ(error_of("*1\r\n$536870913\r\n"), "Protocol error: invalid bulk length");
  EXPECT_EQ(error_of("*1\r\n$-1\r\n"), "Protocol error: invalid bulk length");
  EXPECT_EQ(error_of("*1\r\n+1\r\n"), "Protocol error: expected '$', got '+'");
  EXPECT_EQ(error_of("get \"a\n"), "Protocol error: unbalanced quotes in request");
  EXPECT_EQ(error_of(std::string(65536, 'a')), "Protocol error: too big inline request");
}

TEST(SplitInline, ReadsQuotesAndEscapes) {
  Words words;
  EXPECT_TRUE(SplitInline("set \"a\\x41\\n\" 'b\\'c' d\"e f\"", &words));
  EXPECT_EQ(words, (Words{"set", "aA\n", "b'c", "de f"}));
  EXPECT_FALSE(SplitInline("\"a\"b", &words));
  EXPECT_FALSE(SplitInline("'a", &words));
}

TEST(Integers, HaveOneText) {
  EXPECT_EQ(IntegerOf("0"), 0);
  EXPECT_EQ(IntegerOf("-9223372036854775808"), INT64_MIN);
  for (const char* text : {"", "-", "+1", "01", "-0", " 1", "1 ", "9223372036854775808"}) {
    EXPECT_EQ(IntegerOf(text), std::nullopt) << text;
  }
}

TEST(Floats, AreWrittenWithoutZerosAtTheEnd) {
  EXPECT_EQ(FloatText(10.5L), "10.5");
  EXPECT_EQ(FloatText(-0.0L), "0");
  EXPECT_EQ(FloatText(*FloatOf("3.0e3")), "3000");
  for (const char* text : {"", " 1", "1x", "nan", "1e5000"}) {
    EXPECT_EQ(FloatOf(text), std::nullopt) << text;
  }
}

TEST(Globs, MatchAsRedisMatchesThem) {
  EXPECT_TRUE(MatchesGlob("", ""));
  EXPECT_TRUE(MatchesGlob("a*c", "abbc"));
  EXPECT_TRUE(MatchesGlob("h[^e-g]llo", "hallo"));
  EXPECT_FALSE(MatchesGlob("h[e-a]llo", "hillo"));
  EXPECT_TRUE(MatchesGlob("a\\*", "a*"));
  EXPECT_FALSE(MatchesGlob("a\\*", "ab"));
  EXPECT_FALSE(MatchesGlob("a?", "a"));
  EXPECT_FALSE(MatchesGlob("*a*a*a*a*a*a*a*a*a*b", std::string(1000, 'a')));
}

}  // namespace
}  // namespace plov::door::redis
