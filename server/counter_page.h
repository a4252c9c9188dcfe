// CounterPage: the page of a region in which the shard tells clients of itself; see verify/counters.h.
//
// Threads: the shard's, but for Get.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "verify/counters.h"
#include "verify/words.h"

namespace plov::server {

class CounterPage {
 public:
  // `region` has the page, which is still nobody's to READ, and those of slow writes behind it.
  explicit CounterPage(std::byte* region)
      : words_(verify::WordsAt(region, verify::kCountersOffset)) {
    const size_t bytes = verify::kRegionHeadBytes - verify::kCountersOffset;
    for (size_t i = 0; i < bytes / verify::kWordBytes; ++i) {
      verify::StoreWord(words_ + i, 0);
    }
    for (size_t i = 0; i < verify::kCounterCount; ++i) {
      Set(static_cast<verify::Counter>(i), UINT64_MAX);
    }
    Begin(0);
  }

  // Lines of what stays as it is, of which those are left out that there is no room for. Before a
  // client comes.
  void Describe(std::string_view text) {
    if (text.size() > verify::kCounterTextMax) {
      text = text.substr(0, text.substr(0, verify::kCounterTextMax).rfind('\n') + 1);
    }
    verify::CopyToShared(words_, verify::kCounterTextAt, text.data(), text.size());
    Begin(text.size());
  }

  void Set(verify::Counter counter, uint64_t value) {
    verify::StoreWord(words_ + verify::WordOf(counter), value);
  }
  // Any thread.
  uint64_t Get(verify::Counter counter) const {
    return verify::LoadWord(words_ + verify::WordOf(counter));
  }
  void Set(verify::Histogram histogram, const verify::Times& times) {
    std::array<uint64_t, sizeof(times) / verify::kWordBytes> values;
    std::memcpy(values.data(), &times, sizeof(times));
    for (size_t i = 0; i < values.size(); ++i) {
      verify::StoreWord(words_ + verify::WordOf(histogram) + i, values[i]);
    }
  }
  // Adds a time to it.
  void Add(verify::Histogram histogram, uint64_t us) {
    uint64_t* times = words_ + verify::WordOf(histogram);
    Increase(times + verify::TimeBucketOf(us), 1);
    Increase(times + verify::kTimeBuckets, us);
  }

 private:
  void Begin(size_t text_bytes) {
    verify::StoreWord(words_ + 1, verify::kCounterCount | uint64_t{text_bytes} << 32);
    verify::StoreWord(words_, verify::kCountersMagic);
  }
  static void Increase(uint64_t* word, uint64_t by) {
    verify::StoreWord(word, verify::LoadWord(word) + by);
  }

  uint64_t* words_;
};

}  // namespace plov::server
