#include "verify/words.h"

#include <algorithm>
#include <array>

// Sanitizers see no loads of assembly, so there are none under them.
#if !defined(__x86_64__) || defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define PLOV_WIDE_LOADS 0
#elif defined(__has_feature)
#define PLOV_WIDE_LOADS (!__has_feature(address_sanitizer) && !__has_feature(thread_sanitizer))
#else
#define PLOV_WIDE_LOADS 1
#endif

namespace plov::verify {

namespace {

// Patches `bytes` (1..8) at `offset` (0..7) of one word, masked.
void PatchWord(uint64_t* word, size_t offset, std::span<const std::byte> from, uint64_t mask) {
  uint64_t value = LoadWord(word) ^ mask;
  std::memcpy(reinterpret_cast<std::byte*>(&value) + offset, from.data(), from.size());
  StoreWord(word, value ^ mask);
}

}  // namespace

#if PLOV_WIDE_LOADS
[[gnu::target("avx")]] size_t CopyLinesFromShared(std::byte* to, const std::byte* shared,
                                                  size_t bytes) {
  using Wide [[gnu::vector_size(32)]] = uint64_t;
  static const bool can = __builtin_cpu_supports("avx") != 0;
  if (!can) return 0;
  const size_t end = bytes - bytes % kLineBytes;
  for (size_t at = 0; at < end; at += kLineBytes) {
    Wide first, second;
    __asm__(
        "vmovdqu (%2), %0\n\t"
        "vmovdqu 32(%2), %1"
        : "=&x"(first), "=x"(second)
        : "r"(shared + at)
        : "memory");
    std::memcpy(to + at, &first, sizeof(first));
    std::memcpy(to + at + sizeof(first), &second, sizeof(second));
  }
  return end;
}
#else
size_t CopyLinesFromShared(std::byte*, const std::byte*, size_t) { return 0; }
#endif

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
  CopySealedFromShared(to_tail, from + at, bytes - at);
}

void MaskHeadToShared(uint64_t* shared, size_t offset, std::span<const std::byte> from,
                      uint64_t mask) {
  uint64_t* out = shared + offset / kWordBytes;
  const size_t first = offset % kWordBytes;
  if (first != 0 && !from.empty()) {
    const size_t patched = std::min(from.size(), kWordBytes - first);
    PatchWord(out++, first, from.first(patched), mask);
    from = from.subspan(patched);
  }
  const std::byte* in = from.data();
  for (size_t words = from.size() / kWordBytes; words > 0; --words, in += kWordBytes) {
    uint64_t word;
    std::memcpy(&word, in, kWordBytes);
    StoreWord(out++, word ^ mask);
  }
  const auto tail = from.last(from.size() % kWordBytes);
  if (!tail.empty()) PatchWord(out, 0, tail, mask);
}

void CopyToShared(uint64_t* shared, size_t offset, const void* from, size_t bytes) {
  MaskHeadToShared(shared, offset, {static_cast<const std::byte*>(from), bytes}, 0);
}

void MaskToShared(uint64_t* shared, size_t offset, std::span<const std::byte> from, uint64_t mask) {
  MaskHeadToShared(shared, offset, from, mask);
  const size_t end = offset + from.size();
  const std::array<std::byte, kWordBytes> zeros{};
  const size_t rest = RoundUpToWord(end) - end;
  if (rest != 0)
    PatchWord(shared + end / kWordBytes, end % kWordBytes, std::span(zeros).first(rest), mask);
}

}  // namespace plov::verify
