#include "client/cli/shell_words.h"

#include <gmock/gmock.h>

#include <string>

namespace plov::cli {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

std::vector<std::string> WordsOf(std::string_view line) {
  const auto words = SplitWords(line);
  EXPECT_TRUE(words) << line;
  return words.value_or(std::vector<std::string>{"no words"});
}

std::string WrongWith(std::string_view line) {
  const auto words = SplitWords(line);
  if (words) return "nothing";
  EXPECT_EQ(words.error().code, Code::kInvalidArgument);
  return words.error().message;
}

TEST(ShellWords, BlanksPart) {
  EXPECT_THAT(WordsOf(""), IsEmpty());
  EXPECT_THAT(WordsOf(" \t \r"), IsEmpty());
  EXPECT_THAT(WordsOf(" get  user:1\t--json\r"), ElementsAre("get", "user:1", "--json"));
  EXPECT_THAT(WordsOf("#a $b *c; d"), ElementsAre("#a", "$b", "*c;", "d"));
}

TEST(ShellWords, QuotesAreThoseOfAShell) {
  EXPECT_THAT(WordsOf(R"('a b' "c d" e\ f)"), ElementsAre("a b", "c d", "e f"));
  EXPECT_THAT(WordsOf(R"('' "" a'b'"c"\d)"), ElementsAre("", "", "abcd"));
  EXPECT_THAT(WordsOf(R"('a\n"b' "it's" \'\"\\)"), ElementsAre(R"(a\n"b)", "it's", R"('"\)"));
  EXPECT_THAT(WordsOf(R"("a\"b\\c")"), ElementsAre(R"(a"b\c)"));
  EXPECT_THAT(WordsOf(R"("\d+")"), ElementsAre(R"(\d+)")) << "a backslash before another byte";
  EXPECT_THAT(WordsOf(R"({\"a\":1})"), ElementsAre(R"({"a":1})"));
}

TEST(ShellWords, EveryByteCanBeNamed) {
  EXPECT_THAT(WordsOf(R"("\n\r\t")"), ElementsAre("\n\r\t"));
  EXPECT_THAT(WordsOf(R"("\x00\xfF\x0a1")"), ElementsAre(std::string("\0\xff\n1", 4)));
  EXPECT_THAT(WordsOf(R"('\x00')"), ElementsAre(R"(\x00)"));
  EXPECT_THAT(WordsOf(std::string("a\0b \xff", 5)), ElementsAre(std::string("a\0b", 3), "\xff"));
}

TEST(ShellWords, WhatHasNoEndIsTold) {
  EXPECT_THAT(WrongWith("get 'a"), HasSubstr("'...'"));
  EXPECT_THAT(WrongWith("get \"a"), HasSubstr("\"...\""));
  EXPECT_THAT(WrongWith("get \"a\\"), HasSubstr("\"...\""));
  EXPECT_THAT(WrongWith("get a\\"), HasSubstr("backslash"));
  for (const char* line :
       {R"("\x")", R"("\x1")", R"("\x1g")", R"("\xg1")", R"("\x-1")", R"("\x)"}) {
    EXPECT_THAT(WrongWith(line), HasSubstr("two hexadecimal digits")) << line;
  }
}

}  // namespace
}  // namespace plov::cli
