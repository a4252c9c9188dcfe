// A host that refuses memory.
#include "server/host_limit.h"

#include <gtest/gtest.h>

#include <cerrno>

namespace plov::server {
namespace {

TEST(HostLimit, IsAnEpisodeUntilMemoryIsGranted) {
  HostLimit host;
  EXPECT_TRUE(host.MayAsk());
  EXPECT_FALSE(host.refuses());
  for (int i = 0; i < 10; ++i) host.Refused(ENOSPC, 8);  // by then it waits for 10 s
  EXPECT_FALSE(host.MayAsk());
  EXPECT_TRUE(host.refuses());
  EXPECT_EQ(host.error(), ENOSPC);
  EXPECT_EQ(host.episodes(), 1u);
  host.Granted(8);
  EXPECT_TRUE(host.MayAsk());
  EXPECT_FALSE(host.refuses());
  host.Refused(EDQUOT, 8);
  EXPECT_EQ(host.episodes(), 2u);
}

TEST(HostLimit, LessThanWasRefusedEndsNoEpisode) {
  HostLimit host;
  host.Refused(ENOSPC, 100);
  host.Granted(99);
  EXPECT_TRUE(host.refuses());
  host.Refused(ENOSPC, 10);
  host.Granted(9);
  EXPECT_TRUE(host.refuses());
  host.Granted(10);
  EXPECT_FALSE(host.refuses());
  host.Refused(ENOSPC, 50);
  host.Granted(49);
  EXPECT_TRUE(host.refuses()) << "the next is judged by itself";
  EXPECT_EQ(host.episodes(), 2u);
}

}  // namespace
}  // namespace plov::server
