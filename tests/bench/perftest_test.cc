// What perftest prints, as it was recorded.

#include "bench/fabric/perftest.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>

namespace plov::bench {
namespace {

// perftest 4.5 over rxe.
constexpr const char* kBandwidth =
    R"(Device not recognized to implement inline feature. Disabling it
---------------------------------------------------------------------------------------
                    RDMA_Read BW Test
 Dual-port       : OFF		Device         : rxe0
 TX depth        : 128
 CQ Moderation   : 100
 local address: LID 0000 QPN 0x002d PSN 0x77ab78 OUT 0x80 RKey 0x002fed VAddr 0x00562ea1025000
 GID: 00:00:00:00:00:00:00:00:00:00:255:255:10:99:00:01
---------------------------------------------------------------------------------------
 #bytes     #iterations    BW peak[MB/sec]    BW average[MB/sec]   MsgRate[Mpps]
 128        30000            0.00               2.84   		   0.023249
---------------------------------------------------------------------------------------
)";

constexpr const char* kLatency =
    R"( #bytes #iterations    t_min[usec]    t_max[usec]  t_typical[usec]    t_avg[usec]    t_stdev[usec]   99% percentile[usec]   99.9% percentile[usec] 
 64      10000          21.51          8358.13      33.66    	       43.99       	169.14 		216.08  		3669.46
)";

TEST(Perftest, RateIsReadByTheNameOfItsColumn) {
  const auto values = ParsePerftest(kBandwidth);
  ASSERT_TRUE(values) << values.error().message;
  EXPECT_EQ(values->size(), 5u);
  EXPECT_DOUBLE_EQ(values->at("#bytes"), 128);
  EXPECT_DOUBLE_EQ(values->at("#iterations"), 30000);
  EXPECT_DOUBLE_EQ(values->at("BW average[MB/sec]"), 2.84);
  EXPECT_DOUBLE_EQ(values->at("MsgRate[Mpps]"), 0.023249);
}

TEST(Perftest, LatenciesAreReadByTheNamesOfTheirColumns) {
  const auto values = ParsePerftest(kLatency);
  ASSERT_TRUE(values) << values.error().message;
  EXPECT_EQ(values->size(), 9u);
  EXPECT_DOUBLE_EQ(values->at("t_typical[usec]"), 33.66);
  EXPECT_DOUBLE_EQ(values->at("99% percentile[usec]"), 216.08);
  EXPECT_DOUBLE_EQ(values->at("99.9% percentile[usec]"), 3669.46);
}

TEST(Perftest, HeaderOfASizeThatDoesNotFollowIsNoRow) {
  const std::string text = kBandwidth;
  const auto cut = ParsePerftest(text.substr(0, text.find(" 128  ")));
  ASSERT_FALSE(cut);
  EXPECT_EQ(cut.error().code, Code::kProtocol);
}

TEST(Perftest, RowThatIsCutIsNone) {
  const std::string text = kBandwidth;
  EXPECT_FALSE(ParsePerftest(text.substr(0, text.find("0.023249"))));
}

TEST(Perftest, NumbersBeforeTheHeaderAreNoRow) {
  const auto values = ParsePerftest("1 2 3 4 5 6\n" + std::string(kBandwidth));
  ASSERT_TRUE(values);
  EXPECT_DOUBLE_EQ(values->at("#bytes"), 128);
}

TEST(Perftest, NumberThatIsNoneIsOneOfTheRow) {
  std::string text = kBandwidth;
  text.replace(text.find("2.84"), 4, " nan");
  const auto values = ParsePerftest(text);
  ASSERT_TRUE(values) << values.error().message;
  EXPECT_TRUE(std::isnan(values->at("BW average[MB/sec]")));
  EXPECT_DOUBLE_EQ(values->at("MsgRate[Mpps]"), 0.023249);
}

TEST(Perftest, NothingIsNoRow) {
  EXPECT_FALSE(ParsePerftest(""));
  EXPECT_FALSE(ParsePerftest("Couldn't connect to 127.0.0.1:18515\n"));
}

}  // namespace
}  // namespace plov::bench
