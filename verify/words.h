// Words: the only way to touch memory that another process or a network card may see.
//
// Two observers look at a server's region while its shard writes it:
//   - a client's thread that maps the region (shm fabric) and copies words out of it;
//   - a network card doing DMA for an RDMA READ (verbs fabric), in any order, piecewise, and
//     again after a retransmission.
// Both see whole aligned 8-byte words. Neither sees more than that: whole structures are told from
// torn ones by their checksums (verify/seal.h), never by order.
//
// Order matters for progress and for the few arguments that span two READs (a miss, a remembered
// location, growth; plov(7), "Why GET is linearizable"). They need two things:
//
//   writer                               reader
//     RetractLive(mask)                    CopyFromShared(record)   // READ A
//     StoreWord(payload...)                CopyFromShared(bucket)   // READ B, posted after A
//     PublishSeal(checksum)
//
// 1. A seal is visible only after every store that precedes it: PublishSeal is a release store.
// 2. What READ B sees is at least as new as what READ A saw: words are loaded with acquire, which
//    costs nothing on x86 and an LDAPR on Arm. Pairs with PublishSeal.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

namespace plov::verify {

inline constexpr size_t kWordBytes = 8;

// The number of bytes of the words that cover `bytes`.
constexpr size_t RoundUpToWord(size_t bytes) {
  return (bytes + kWordBytes - 1) & ~(kWordBytes - 1);
}

// Whether the words that cover `bytes` at a word-aligned `offset` lie in a region of so many bytes.
constexpr bool WordsInside(uint64_t offset, size_t bytes, uint64_t region_bytes) {
  return offset % kWordBytes == 0 && offset <= region_bytes &&
         RoundUpToWord(bytes) <= region_bytes - offset;
}

// A number at any byte of private memory.
template <typename Number>
Number NumberAt(std::span<const std::byte> bytes, size_t at) {
  Number number;
  std::memcpy(&number, bytes.data() + at, sizeof(number));
  return number;
}

// What the processor fetches at once.
inline constexpr size_t kLineBytes = 64;

// The words at a byte offset of a region; the offset is word-aligned.
inline uint64_t* WordsAt(std::byte* region, uint64_t offset) {
  return reinterpret_cast<uint64_t*>(region + offset);
}

// Starts to fetch the line at an address, which need not be one. The empty statement keeps GCC from
// taking a function that only prefetches for one that does nothing.
inline void Prefetch(const void* address) {
  __builtin_prefetch(address);
  __asm__("");
}

// The same of all lines that `bytes` touch, at least 1; of many bytes the first, for then the
// hardware's own prefetcher has taken over.
inline void PrefetchLines(const std::byte* from, size_t bytes) {
  constexpr size_t kBytesMax = 512;
  if (bytes > kBytesMax) bytes = kBytesMax;
  const std::byte* const last = from + bytes - 1;
  for (; from < last; from += kLineBytes) Prefetch(from);
  Prefetch(last);
}

// Loads one shared word. Pairs with PublishSeal and RetractLive.
inline uint64_t LoadWord(const uint64_t* word) {
  return std::atomic_ref<uint64_t>(*const_cast<uint64_t*>(word)).load(std::memory_order_acquire);
}

// Stores one shared word that means nothing until a seal is published after it.
inline void StoreWord(uint64_t* word, uint64_t value) {
  std::atomic_ref<uint64_t>(*word).store(value, std::memory_order_relaxed);
}

// Publishing store 1: the checksum of a bucket, the last store of every rewrite (rule W2).
// Whoever sees it also sees everything stored before. Pairs with LoadWord.
inline void PublishSeal(uint64_t* checksum, uint64_t value) {
  std::atomic_ref<uint64_t>(*checksum).store(value, std::memory_order_release);
}

// The bit of a record's `mask` word that says whether the record is current.
inline constexpr uint64_t kLiveBit = 1;

// Publishing store 2: a record's live bit cleared before its bucket is rewritten (rule W3). The
// release of the PublishSeal that follows keeps it ahead of the new value. Pairs with LoadWord.
inline void RetractLive(uint64_t* mask) {
  const uint64_t dead = LoadWord(mask) & ~kLiveBit;
  std::atomic_ref<uint64_t>(*mask).store(dead, std::memory_order_release);
}

// Keeps the stores before it before those after it, for whoever looks at the memory once this
// process is dead: a killed process leaves its stores as far as it got, so only the compiler could
// swap them. Costs no instruction.
inline void KeepStoreOrder() { std::atomic_signal_fence(std::memory_order_seq_cst); }

// Copies a number of shared words that the compiler knows, one by one. `to` needs no alignment.
template <size_t kWords>
inline void CopyWordsFromShared(void* to, const void* shared) {
#pragma GCC unroll 16
  for (size_t i = 0; i < kWords; ++i) {
    const uint64_t word = LoadWord(static_cast<const uint64_t*>(shared) + i);
    std::memcpy(static_cast<std::byte*>(to) + i * kWordBytes, &word, kWordBytes);
  }
}

// Copies `bytes` of shared memory into private memory, word by word. `shared` is word-aligned, and
// the words that cover `bytes` are all readable there; `to` needs no alignment and gets exactly
// `bytes`. Of eight words and more the last eight are copied together, some of them once more.
inline void CopyFromShared(void* to, const void* shared, size_t bytes) {
  constexpr size_t kBlock = 8;
  constexpr size_t kBlockBytes = kBlock * kWordBytes;
  auto* out = static_cast<std::byte*>(to);
  auto* in = static_cast<const std::byte*>(shared);
  const size_t end = bytes - bytes % kWordBytes;
  size_t at = 0;
  if (end >= kBlockBytes) {
    const size_t last = end - kBlockBytes;
    for (; at < last; at += kBlockBytes) CopyWordsFromShared<kBlock>(out + at, in + at);
    CopyWordsFromShared<kBlock>(out + last, in + last);
    at = end;
  }
  for (; at < end; at += kWordBytes) CopyWordsFromShared<1>(out + at, in + at);
  if (end < bytes) {
    uint64_t word;
    CopyWordsFromShared<1>(&word, in + end);
    std::memcpy(out + end, &word, bytes - end);
  }
}

// Copies the whole lines of these bytes with loads of 32, and returns how many bytes those are; 0
// where the processor has no such loads.
size_t CopyLinesFromShared(std::byte* to, const std::byte* shared, size_t bytes);

// As CopyFromShared, of bytes that are believed only where a checksum over all of them says so; the
// lines of many are loaded 32 bytes at a time where the processor can. No processor promises that
// such a load sees each of its words as it was at one instant, and here none has to: a torn word is
// a torn copy, and a bit (`live`, which no checksum covers) is never torn. Copies keep their order,
// which x86 gives to loads of every width.
inline void CopySealedFromShared(void* to, const void* shared, size_t bytes) {
  constexpr size_t kLinesBytesMin = 1024;  // fewer do not pay the call
  auto* out = static_cast<std::byte*>(to);
  auto* in = static_cast<const std::byte*>(shared);
  const size_t copied = bytes < kLinesBytesMin ? 0 : CopyLinesFromShared(out, in, bytes);
  CopyFromShared(out + copied, in + copied, bytes - copied);
}

// The same into two places: the first `head_bytes` to `head`, the rest to `tail`. The word that
// both share is loaded once.
void CopyFromSharedInTwo(void* head, size_t head_bytes, void* tail, const void* shared,
                         size_t bytes);

// Stores `bytes` of private memory at byte `offset` of the shared words, word by word; the other
// bytes of the first and last word keep what they hold. The caller is the only writer of these
// words.
void CopyToShared(uint64_t* shared, size_t offset, const void* from, size_t bytes);

// The same with every word XORed with `mask` (verify/mask.h). What follows in the last word is as
// good as random afterwards: of former bytes no client may keep some and try others.
void MaskToShared(uint64_t* shared, size_t offset, std::span<const std::byte> from, uint64_t mask);
// The same of bytes that others follow, which stay.
void MaskHeadToShared(uint64_t* shared, size_t offset, std::span<const std::byte> from,
                      uint64_t mask);

}  // namespace plov::verify
