#include <gtest/gtest.h>

#include <string>

#include "client/cli/json.h"
#include "client/cli/report.h"
#include "program/format.h"
#include "program/output.h"

namespace plov::cli {
namespace {

TEST(Json, Utf8IsWhatRfc3629Says) {
  for (const char* good :
       {"", "a", "\x7f", "\xc2\x80", "\xdf\xbf", "\xe0\xa0\x80", "\xed\x9f\xbf", "\xee\x80\x80",
        "\xef\xbf\xbf", "\xf0\x90\x80\x80", "\xf4\x8f\xbf\xbf"}) {
    EXPECT_TRUE(program::IsUtf8(good)) << Base64(good);
  }
  for (const char* bad :
       {"\x80", "\xbf", "\xc0\x80", "\xc1\xbf", "\xc2", "\xc2\x7f", "\xc2\xc0", "\xe0\x9f\xbf",
        "\xe1\x80", "\xed\xa0\x80", "\xed\xbf\xbf", "\xf0\x8f\xbf\xbf", "\xf1\x80\x80",
        "\xf4\x90\x80\x80", "\xf5\x80\x80\x80", "\xff", "a\xe1\x80\x7f"}) {
    EXPECT_FALSE(program::IsUtf8(bad)) << Base64(bad);
  }
  EXPECT_TRUE(program::IsUtf8(std::string_view("\0a", 2)));
}

// The vectors of RFC 4648, section 10.
TEST(Json, Base64IsThatOfRfc4648) {
  EXPECT_EQ(Base64(""), "");
  EXPECT_EQ(Base64("f"), "Zg==");
  EXPECT_EQ(Base64("fo"), "Zm8=");
  EXPECT_EQ(Base64("foo"), "Zm9v");
  EXPECT_EQ(Base64("foob"), "Zm9vYg==");
  EXPECT_EQ(Base64("fooba"), "Zm9vYmE=");
  EXPECT_EQ(Base64("foobar"), "Zm9vYmFy");
  EXPECT_EQ(Base64("\xff\xfe"), "//4=");
}

TEST(Json, EveryByteStringBecomesALineThatParses) {
  for (int byte = 0; byte < 256; ++byte) {
    const std::string bytes = {static_cast<char>(byte), static_cast<char>(byte)};
    const std::string line = program::LineOf(JsonOf(bytes, {bytes, 7, 8, 9}));
    EXPECT_EQ(line.find('\n'), line.size() - 1);
    const program::Json back = program::Json::parse(line);
    EXPECT_EQ(back["version"], 7);
    EXPECT_EQ(back.contains("key"), byte < 128) << byte;
    EXPECT_EQ(back.contains("value_base64"), byte >= 128) << byte;
  }
}

TEST(Format, NumbersAreForPeople) {
  EXPECT_EQ(program::Grouped(0), "0");
  EXPECT_EQ(program::Grouped(999), "999");
  EXPECT_EQ(program::Grouped(1000), "1,000");
  EXPECT_EQ(program::Grouped(1234567), "1,234,567");
  EXPECT_EQ(program::Bytes(1023), "1023 B");
  EXPECT_EQ(program::Bytes(1536), "1.5 KiB");
  EXPECT_EQ(program::Bytes(uint64_t{3} << 30), "3.0 GiB");
  EXPECT_EQ(program::Duration(0.25), "0.250 s");
  EXPECT_EQ(program::Duration(185), "3 min 5 s");
  EXPECT_EQ(program::Duration(7320), "2 h 2 min");
  EXPECT_EQ(program::Duration(180'000), "2 d 2 h");
  EXPECT_EQ(program::Percent(1, 8), "12.5 %");
  EXPECT_EQ(program::Percent(0, 0), "0.0 %");
}

TEST(Report, AMessageStaysOneLine) {
  EXPECT_EQ(Printable("a\nb\x7f\x1b[31m"), "a\\x0ab\\x7f\\x1b[31m");
  EXPECT_EQ(Printable("sch\xc3\xb6n\t"), "sch\xc3\xb6n\\x09");
  EXPECT_EQ(Printable("\xc2\x9b\xff"), "\\xc2\\x9b\\xff");
}

TEST(Report, ExitStatusesAreThoseOfTheManual) {
  EXPECT_EQ(ExitStatusOf(Code::kNotFound), 1);
  EXPECT_EQ(ExitStatusOf(Code::kInvalidArgument), 2);
  for (const Code code : {Code::kExists, Code::kVersionMismatch, Code::kNoSpace, Code::kTooLarge,
                          Code::kUnavailable, Code::kTimeout, Code::kUnknown, Code::kCorrupt,
                          Code::kPermission, Code::kProtocol, Code::kSystem}) {
    EXPECT_EQ(ExitStatusOf(code), 3);
  }
}

// The second byte of a C1 character is one of many others' as well.
TEST(Output, TerminalObeysTabAndNewlineOnly) {
  EXPECT_EQ(program::ForTerminal("a\tb\nc\\d"), "a\tb\nc\\d");
  EXPECT_EQ(program::ForTerminal("\x1b[2J\r\b\a\x7f"), "\\x1b[2J\\x0d\\x08\\x07\\x7f");
  EXPECT_EQ(program::ForTerminal(std::string_view("\0", 1)), "\\x00");
  EXPECT_EQ(program::ForTerminal("\x9b"
                                 "2J"),
            "\\x9b2J");
  EXPECT_EQ(program::ForTerminal("\xc2\x9b\xc2\x80\xc2\xa0"), "\\xc2\\x9b\\xc2\\x80\xc2\xa0");
  EXPECT_EQ(program::ForTerminal("sch\xc3\xb6n \xe6\x97\xa5\xf0\x9f\x98\x80"),
            "sch\xc3\xb6n \xe6\x97\xa5\xf0\x9f\x98\x80");
  EXPECT_EQ(program::ForTerminal("\xe6\x97"), "\\xe6\\x97") << "cut short";
}

}  // namespace
}  // namespace plov::cli
