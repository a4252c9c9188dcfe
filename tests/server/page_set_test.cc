// Page sets, against a vector of bools.
#include "server/page_set.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace plov::server {
namespace {

TEST(PageSet, EveryRangeIsWhatAVectorOfBoolsSays) {
  constexpr size_t kPages = 300;
  PageSet set(kPages);
  std::vector<bool> model(kPages);
  std::mt19937_64 random(1);
  for (int step = 0; step < 50'000; ++step) {
    size_t from = random() % (kPages + 1), to = random() % (kPages + 1);
    if (step % 3 == 0) from = from / 64 * 64;  // whole words, too
    if (step % 5 == 0) to = to / 64 * 64;
    if (from > to) std::swap(from, to);
    const auto begin = model.begin() + static_cast<ptrdiff_t>(from);
    const auto end = model.begin() + static_cast<ptrdiff_t>(to);
    if (random() % 2 == 0) {
      set.Add(from, to);
      std::fill(begin, end, true);
    } else {
      set.Remove(from, to);
      std::fill(begin, end, false);
    }
    const size_t low = random() % (kPages + 1), high = low + random() % (kPages + 1 - low);
    size_t count = 0;
    std::optional<size_t> last;
    for (size_t page = low; page < high; ++page) {
      if (!model[page]) continue;
      ++count;
      last = page;
    }
    ASSERT_EQ(set.Count(low, high), count) << low << " to " << high;
    ASSERT_EQ(set.Last(low, high), last) << low << " to " << high;
  }
}

}  // namespace
}  // namespace plov::server
