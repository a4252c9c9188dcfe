#include "server/masks.h"

#include <gtest/gtest.h>

#include <set>

namespace plov::server {
namespace {

// 2,000: more than are drawn at once. That two are the same by chance is one in 2^42.
TEST(Masks, AreAllDifferentAndNoneIsZero) {
  Masks masks;
  std::set<uint64_t> words{0};
  for (int i = 0; i < 2000; ++i) EXPECT_TRUE(words.insert(masks.Next().word()).second) << i;
}

}  // namespace
}  // namespace plov::server
