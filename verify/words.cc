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

void CopyFromSharedInTwo(void* head, size_t head_bytes, void* tail, const void* shared,
                         size_t bytes) {
  auto* from = static_cast<const std::byte*>(shared);
  auto* to_head = static_cast<std::byte*>(head);
  auto* to_tail = static_cast<std::byte*>(tail);
  const size_t whole = head_bytes - head_bytes % kWordBytes;
  CopyFromShared(to_head, from, whole);
  size_t at = whole;
  if (head_bytes > whole) {
    std::byte word[kWordBytes];
    const size_t word_bytes = std::min(kWordBytes, bytes - whole);
    const size_t in_head = head_bytes - whole;
    CopyFromShared(word, from + whole, word_bytes);
    std::memcpy(to_head + whole, word, in_head);
    std::memcpy(to_tail, word + in_head, word_bytes - in_head);
    to_tail += word_bytes - in_head;
    at += word_bytes;
  }
  CopyFromShared(to_tail, from + at, bytes - at);
}

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
