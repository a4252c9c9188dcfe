// Tears: every way in which an image may differ from the bytes that were written, for the tests of
// the byte formats. Each check first sees that the untouched image is accepted, so that a decoder
// that rejects everything fails too.
#pragma once

#include <gtest/gtest.h>

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "verify/words.h"

namespace plov::verify {

using Image = std::vector<std::byte>;
using Accepts = std::function<bool(std::span<const std::byte>)>;

template <typename T>
Image ImageOf(const T* from, size_t bytes) {
  Image image(bytes);
  std::memcpy(image.data(), from, bytes);
  return image;
}

// Lower-case hex in memory order, a space between words: what the golden literals are written in.
inline std::string ToHex(std::span<const std::byte> bytes) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string hex;
  for (size_t i = 0; i < bytes.size(); ++i) {
    if (i > 0 && i % kWordBytes == 0) hex += ' ';
    hex += kDigits[std::to_integer<size_t>(bytes[i]) >> 4];
    hex += kDigits[std::to_integer<size_t>(bytes[i]) & 15];
  }
  return hex;
}

struct ByteChanges {
  bool every_value = true;  // else every bit alone and all together, for large images
  size_t unsealed_from = 0;
  size_t unsealed_to = 0;  // the bytes unsealed_from..unsealed_to are under no checksum
};

inline ::testing::AssertionResult RejectsEveryByteChange(Image image, const Accepts& accepts,
                                                         ByteChanges changes = {}) {
  if (!accepts(image)) return ::testing::AssertionFailure() << "the untouched image is rejected";
  for (size_t at = 0; at < image.size(); ++at) {
    if (at >= changes.unsealed_from && at < changes.unsealed_to) continue;
    const std::byte original = image[at];
    for (unsigned change = 1; change < 256; ++change) {
      if (!changes.every_value && std::popcount(change) != 1 && change != 255) continue;
      image[at] = original ^ std::byte(change);
      if (accepts(image)) {
        return ::testing::AssertionFailure() << "accepted: byte " << at << " ^ " << change;
      }
    }
    image[at] = original;
  }
  return ::testing::AssertionSuccess();
}

// One version up to each word boundary and the other from there on, in both orders.
inline ::testing::AssertionResult RejectsEverySplice(const Image& before, const Image& after,
                                                     const Accepts& accepts) {
  if (before.size() != after.size() || !accepts(before) || !accepts(after)) {
    return ::testing::AssertionFailure() << "needs two whole images of one size";
  }
  size_t tried = 0;
  for (size_t at = kWordBytes; at < before.size(); at += kWordBytes) {
    for (const bool new_first : {false, true}) {
      Image spliced = new_first ? before : after;
      std::memcpy(spliced.data(), (new_first ? after : before).data(), at);
      if (spliced == before || spliced == after) continue;  // the two agree on one side
      ++tried;
      if (accepts(spliced)) {
        return ::testing::AssertionFailure()
               << "accepted: " << (new_first ? "new" : "old") << " up to byte " << at;
      }
    }
  }
  if (tried == 0) return ::testing::AssertionFailure() << "the images differ in one word only";
  return ::testing::AssertionSuccess();
}

// Every choice of words from two versions, except those that amount to one of the versions.
// `free_words`: a bit for each word that no checksum covers.
inline ::testing::AssertionResult RejectsEverySubset(const Image& before, const Image& after,
                                                     const Accepts& accepts,
                                                     uint32_t free_words = 0) {
  const size_t words = before.size() / kWordBytes;
  if (before.size() != after.size() || words > 16 || !accepts(before) || !accepts(after)) {
    return ::testing::AssertionFailure() << "needs two whole images of one small size";
  }
  uint32_t differing = 0;
  for (size_t i = 0; i < words; ++i) {
    const size_t at = i * kWordBytes;
    const bool same = std::memcmp(&before[at], &after[at], kWordBytes) == 0;
    if (!same) differing |= (1u << i) & ~free_words;
  }
  if (std::popcount(differing) < 2) {
    return ::testing::AssertionFailure() << "the images differ in one word only";
  }
  for (uint32_t chosen = 0; chosen < 1u << words; ++chosen) {
    if ((chosen & differing) == 0 || (chosen & differing) == differing) continue;
    Image spliced = before;
    for (size_t i = 0; i < words; ++i) {
      const size_t at = i * kWordBytes;
      if ((chosen >> i & 1) != 0) std::memcpy(&spliced[at], &after[at], kWordBytes);
    }
    if (accepts(spliced)) {
      return ::testing::AssertionFailure() << "accepted: new words of mask " << chosen;
    }
  }
  return ::testing::AssertionSuccess();
}

// The image cut at every shorter length, and followed by up to `extra` zero bytes.
inline ::testing::AssertionResult RejectsEveryOtherLength(const Image& image,
                                                          const Accepts& accepts,
                                                          size_t extra = 64) {
  if (!accepts(image)) return ::testing::AssertionFailure() << "the untouched image is rejected";
  for (size_t bytes = 0; bytes <= image.size() + extra; ++bytes) {
    if (bytes == image.size()) continue;
    Image other = image;
    other.resize(bytes);
    other.shrink_to_fit();  // so that AddressSanitizer sees a read past the end
    if (accepts(other)) return ::testing::AssertionFailure() << "accepted: " << bytes << " bytes";
  }
  return ::testing::AssertionSuccess();
}

}  // namespace plov::verify
