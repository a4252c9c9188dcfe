#include "verify/slow_writes.h"

#include <algorithm>
#include <cstring>
#include <numeric>

#include "verify/seal.h"
#include "verify/words.h"

namespace plov::verify {

namespace {

constexpr uint64_t kSlowWriteSeed = 0x736c6f7777726974;

uint64_t ChecksumOf(const SlowWrite& write) {
  return Checksum(&write.number, sizeof(write) - offsetof(SlowWrite, number), kSlowWriteSeed);
}

}  // namespace

std::string_view CauseName(Cause cause) {
  constexpr std::array<std::string_view, kCauses> kNames = {"work",     "queue", "growth",
                                                            "cleaning", "value", "disk"};
  return kNames[static_cast<size_t>(cause)];
}

uint64_t SlowWrite::total_us() const {
  return std::accumulate(spent_us.begin(), spent_us.end(), uint64_t{0});
}

std::string_view SlowWrite::key_shown() const {
  return {key.data(), std::min<size_t>(key_bytes, key.size())};
}

void StoreSlowWrite(uint64_t* shared, SlowWrite write) {
  write.checksum = ChecksumOf(write);
  const size_t offset = (write.number - 1) % kSlowWritesKept * sizeof(write);
  CopyToShared(shared, offset, &write, sizeof(write));
}

std::vector<SlowWrite> ReadSlowWrites(std::span<const std::byte> pages) {
  std::vector<SlowWrite> writes;
  for (size_t at = 0; at + sizeof(SlowWrite) <= std::min(pages.size(), kSlowWritesBytes);
       at += sizeof(SlowWrite)) {
    SlowWrite write;
    std::memcpy(&write, pages.data() + at, sizeof(write));
    if (write.number != 0 && write.checksum == ChecksumOf(write)) writes.push_back(write);
  }
  std::ranges::sort(writes, {}, &SlowWrite::number);
  return writes;
}

}  // namespace plov::verify
