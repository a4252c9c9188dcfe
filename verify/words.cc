#include "verify/words.h"

#include <algorithm>
#include <array>

namespace plov::verify {

namespace {

// Patches `bytes` (1..8) at `offset` (0..7) of one word.
void PatchWord(uint64_t* word, size_t offset, const std::byte* from, size_t bytes) {
  uint64_t value = LoadWord(word);
  std::memcpy(reinterpret_cast<std::byte*>(&value) + offset, from, bytes);
  StoreWord(word, value);
}

}  // namespace

void CopyToShared(uint64_t* shared, size_t offset, const void* from, size_t bytes) {
  if (bytes == 0) return;
  auto* in = static_cast<const std::byte*>(from);
  uint64_t* out = shared + offset / kWordBytes;
  const size_t first = offset % kWordBytes;
  if (first != 0) {
    const size_t patched = std::min(bytes, kWordBytes - first);
    PatchWord(out++, first, in, patched);
    in += patched;
    bytes -= patched;
  }
  for (; bytes >= kWordBytes; bytes -= kWordBytes, in += kWordBytes) {
    uint64_t word;
    std::memcpy(&word, in, kWordBytes);
    StoreWord(out++, word);
  }
  if (bytes > 0) PatchWord(out, 0, in, bytes);
}

void CopySharedToShared(uint64_t* shared, size_t offset, const uint64_t* from, size_t bytes) {
  // Blocks that stay in the first-level cache; the second pass costs little beside the misses of
  // the first.
  std::array<std::byte, 4096> block;
  while (bytes > 0) {
    const size_t part = std::min(bytes, block.size());
    CopyFromShared(block.data(), from, part);
    CopyToShared(shared, offset, block.data(), part);
    from += part / kWordBytes;
    offset += part;
    bytes -= part;
  }
}

}  // namespace plov::verify
