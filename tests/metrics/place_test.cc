#include "metrics/place.h"

#include <gtest/gtest.h>

#include "metrics/exporter.h"

namespace plov::metrics {
namespace {

std::vector<verify::Counters> Nothing() { return {}; }

TEST(Place, IsAHostAndAPort) {
  EXPECT_EQ(ParsePlace("127.0.0.1:9150")->host, "127.0.0.1");
  EXPECT_EQ(ParsePlace("127.0.0.1:9150")->port, 9150);
  EXPECT_EQ(ParsePlace("localhost:0")->host, "localhost");
  EXPECT_EQ(ParsePlace("db.example:65535")->port, 65535);
}

TEST(Place, NothingElseIs) {
  using namespace std::string_view_literals;
  for (const std::string_view text :
       {""sv,        ":"sv,        "9150"sv,         ":9150"sv,   "*"sv,       "host"sv,
        "host:"sv,   "host:x"sv,   "host:65536"sv,   "host:-1"sv, "host:+1"sv, "host: 1"sv,
        "host:1 "sv, "::1:9150"sv, "[::1]:9150"sv,   "[]:9150"sv, "a b:1"sv,   "a,b:1"sv,
        "a\0b:1"sv,  "host:1s"sv,  "http://host:1"sv}) {
    const auto place = ParsePlace(text);
    ASSERT_FALSE(place) << text;
    EXPECT_EQ(place.error().code, Code::kInvalidArgument);
  }
}

TEST(Exporter, TellsWhetherOthersMayConnect) {
  const auto own = Exporter::Listen("127.0.0.1:0", Nothing);
  ASSERT_TRUE(own) << own.error().message;
  EXPECT_FALSE((*own)->is_open());
  const auto open = Exporter::Listen("0.0.0.0:0", Nothing);
  ASSERT_TRUE(open) << open.error().message;
  EXPECT_TRUE((*open)->is_open());
}

TEST(Exporter, APortInUseIsRefused) {
  const auto first = Exporter::Listen("127.0.0.1:0", Nothing);
  ASSERT_TRUE(first) << first.error().message;
  std::string place = (*first)->url().substr(std::string("http://").size());
  place.resize(place.find('/'));
  const auto second = Exporter::Listen(place, Nothing);
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, Code::kInUse);
  EXPECT_EQ(second.error().message.find('\n'), std::string::npos);
}

// From the addresses for documentation, RFC 5737.
TEST(Exporter, AnAddressOfAnotherHostIsRefused) {
  const auto other = Exporter::Listen("192.0.2.1:0", Nothing);
  ASSERT_FALSE(other);
  EXPECT_NE(other.error().message.find("192.0.2.1:0"), std::string::npos);
}

}  // namespace
}  // namespace plov::metrics
