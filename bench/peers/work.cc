#include "bench/peers/work.h"

#include <fmt/core.h>

#include <algorithm>
#include <cassert>
#include <numeric>

#include "program/random.h"

namespace plov::bench {

namespace {

constexpr uint64_t kSeed = 20130626;  // any

}  // namespace

// Values repeat the key.
Work::Work(uint64_t count, const ItemShape& shape, uint64_t first)
    : items_(shape),
      first_(first),
      order_(count),
      end_at_(shape.value_bytes_least < shape.key_bytes
                  ? shape.key_bytes
                  : (shape.value_bytes_least - kEndBytes) % shape.key_bytes) {
  assert(shape.value_bytes_least == shape.value_bytes_most && shape.key_bytes >= kEndBytes);
  std::iota(order_.begin(), order_.end(), static_cast<uint32_t>(first));
  program::Random random(kSeed);
  for (uint64_t left = count; left > 1; --left) {
    std::swap(order_[left - 1], order_[random.Below(left)]);
  }
  key_bytes_.resize(count * shape.key_bytes);
  keys_.reserve(count);
  std::string key;
  for (uint64_t place = 0; place < count; ++place) {
    items_.FillKey(order_[place], &key);
    char* const to = key_bytes_.data() + place * shape.key_bytes;
    std::ranges::copy(key, to);
    keys_.emplace_back(to, key.size());
  }
}

std::unexpected<Error> Work::Wrong(std::string_view key) const {
  return Fail(Code::kCorrupt, fmt::format("the value of {} is not what was stored", key));
}

}  // namespace plov::bench
