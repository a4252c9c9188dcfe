#include "client/cli/lines.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <string>
#include <thread>
#include <vector>

#include "program/output.h"
#include "verify/record.h"

namespace plov::cli {
namespace {

std::string Escaped(std::string_view bytes) {
  std::string text;
  AppendEscaped(bytes, &text);
  return text;
}

TEST(Lines, OnlyTabNewlineAndBackslashAreEscaped) {
  std::string all;
  for (int byte = 0; byte < 256; ++byte) all += static_cast<char>(byte);
  const std::string text = Escaped(all);
  EXPECT_EQ(text.size(), 259u);
  EXPECT_EQ(text.find_first_of("\t\n"), std::string::npos);
  std::string back;
  EXPECT_EQ(AppendUnescaped(text, &back), text.size());
  EXPECT_EQ(back, all);
  EXPECT_EQ(Escaped("a\tb\nc\\"), "a\\tb\\nc\\\\");
}

TEST(Lines, UnescapingStopsAtWhatIsNoEscape) {
  for (const auto& [text, taken] : std::vector<std::pair<std::string, size_t>>{
           {"ab\\x", 2}, {"\\", 0}, {"\\t\\r", 2}, {"\\\\\\", 2}, {std::string("a\\\0", 3), 1}}) {
    std::string out;
    EXPECT_EQ(AppendUnescaped(text, &out), taken) << text;
  }
}

TEST(Lines, ALineIsAnItemOrSaysWhyNot) {
  std::string bytes = "before";
  ItemRef item{};
  EXPECT_EQ(ParseLine("k\\t\tv\tw\\n", &bytes, &item), "");
  EXPECT_EQ(bytes.substr(item.offset, item.key_bytes), "k\t");
  EXPECT_EQ(bytes.substr(item.offset + item.key_bytes, item.value_bytes), "v\tw\n");
  EXPECT_EQ(ParseLine("k\t", &bytes, &item), "");
  EXPECT_EQ(item.value_bytes, 0u);
  const std::string long_key(verify::kKeyBytesMax + 1, 'k');
  const std::string before = bytes;
  for (const std::string& line : {std::string(), std::string("k"), std::string("\tv"),
                                  std::string("\\q\tv"), std::string("k\tv\\"), long_key + "\tv"}) {
    EXPECT_NE(ParseLine(line, &bytes, &item), "") << line;
    EXPECT_EQ(bytes, before) << line;
  }
  EXPECT_EQ(ParseLine(long_key.substr(1) + "\tv", &bytes, &item), "");
}

// What a reader of lines of at most `line_bytes_max` makes of `text`; too long ones are "!".
std::vector<std::string> LinesOf(const std::string& text, size_t line_bytes_max) {
  int ends[2];
  EXPECT_EQ(::pipe(ends), 0);
  std::thread writer([&] {
    EXPECT_EQ(program::WriteAll(ends[1], text), 0);
    ::close(ends[1]);
  });
  LineReader reader(ends[0], line_bytes_max);
  std::vector<std::string> lines;
  while (true) {
    const LineReader::Line line = reader.Next();
    if (line.kind == LineReader::Kind::kEnd || line.kind == LineReader::Kind::kFailed) break;
    lines.push_back(line.kind == LineReader::Kind::kTooLong ? "!" : std::string(line.text));
    EXPECT_EQ(reader.number(), lines.size());
  }
  writer.join();
  ::close(ends[0]);
  return lines;
}

using Strings = std::vector<std::string>;

TEST(LineReader, EveryLineComesOnce) {
  EXPECT_EQ(LinesOf("", 10), Strings{});
  EXPECT_EQ(LinesOf("\n", 10), Strings{""});
  EXPECT_EQ(LinesOf("a", 10), Strings{"a"});
  EXPECT_EQ(LinesOf("a\n\nbc\n", 10), (Strings{"a", "", "bc"}));
  EXPECT_EQ(LinesOf(std::string("a\0b\r\nc", 6), 10), (Strings{std::string("a\0b\r", 4), "c"}));
}

TEST(LineReader, ALineThatIsTooLongIsSkippedAsOne) {
  EXPECT_EQ(LinesOf("12345\n123456\n1\n", 5), (Strings{"12345", "!", "1"}));
  EXPECT_EQ(LinesOf("123456", 5), Strings{"!"});
  const std::string huge(3'000'000, 'x');
  EXPECT_EQ(LinesOf("a\n" + huge + "\nb\n" + huge, 1000), (Strings{"a", "!", "b", "!"}));
  EXPECT_EQ(LinesOf("a\n" + huge + "\nb\n", huge.size()), (Strings{"a", huge, "b"}));
}

TEST(LineReader, ManyLinesThatCrossItsBuffer) {
  std::string text;
  Strings wanted;
  for (size_t i = 0; i < 20'000; ++i) {
    wanted.push_back(std::string(i % 97, static_cast<char>('a' + i % 26)));
    text += wanted.back() + "\n";
  }
  EXPECT_EQ(LinesOf(text, 100), wanted);
}

TEST(LineReader, SaysWhetherItMustWait) {
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  LineReader reader(ends[0], 100);
  EXPECT_TRUE(reader.MustWait());
  ASSERT_EQ(program::WriteAll(ends[1], "a\nb\nc"), 0);
  EXPECT_FALSE(reader.MustWait());
  EXPECT_EQ(reader.Next().text, "a");
  EXPECT_FALSE(reader.MustWait());
  EXPECT_EQ(reader.Next().text, "b");
  EXPECT_TRUE(reader.MustWait());
  ::close(ends[1]);
  EXPECT_FALSE(reader.MustWait());
  EXPECT_EQ(reader.Next().text, "c");
  EXPECT_EQ(reader.Next().kind, LineReader::Kind::kEnd);
  ::close(ends[0]);
}

TEST(LineReader, AFailedReadIsNoEnd) {
  LineReader reader(-1, 100);
  EXPECT_EQ(reader.Next().kind, LineReader::Kind::kFailed);
  EXPECT_EQ(reader.error_number(), EBADF);
}

}  // namespace
}  // namespace plov::cli
