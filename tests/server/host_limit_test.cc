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
  for (int i = 0; i < 10; ++i) host.Refused(ENOSPC);  // by then it waits for 10 s
  EXPECT_FALSE(host.MayAsk());
  EXPECT_TRUE(host.refuses());
  EXPECT_EQ(host.error(), ENOSPC);
  EXPECT_EQ(host.episodes(), 1u);
  host.Granted();
  EXPECT_TRUE(host.MayAsk());
  EXPECT_FALSE(host.refuses());
  host.Refused(EDQUOT);
  EXPECT_EQ(host.episodes(), 2u);
}

}  // namespace
}  // namespace plov::server
