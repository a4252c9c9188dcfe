// Parts: a message of the stream in pieces, each in one message of the fabric, which is shorter than an Append may be.
//
//  offset size field
//       0    8 offset   of the piece in its message
//       8    4 magic    "plsp"
//      12    4 zero
//      16    8 bytes    of the message
//      24    . the piece: all that is left, or as much as fits
//
// Each is replied to with 8 bytes of zeros, which make room for the next. A fabric brings messages whole, once and in
// order, so the pieces of a message follow each other; that nothing was changed is for the message's own checksum.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "verify/words.h"

namespace plov::cluster {

inline constexpr size_t kPartHeadBytes = 24;

class PartWriter {
 public:
  // message: not empty.
  explicit PartWriter(std::vector<std::byte> message) : message_(std::move(message)) {}

  // Some of it was sent, and not all.
  bool has_begun() const { return at_ > 0 && !done(); }
  bool done() const { return at_ == message_.size(); }
  // The next part, of at most bytes_max, which is more than a head; until Taken it is the same one.
  std::span<const std::byte> Next(size_t bytes_max);
  // It was sent.
  void Taken();

 private:
  std::vector<std::byte> message_;
  std::vector<std::byte> part_;
  size_t at_ = 0;
};

class PartReader {
 public:
  enum class Result : uint8_t { kMore, kWhole, kGarbage };

  // bytes_max: of a message. Memory is taken as its parts come.
  explicit PartReader(size_t bytes_max) : bytes_max_(bytes_max) {}

  // kGarbage: it is no part, or not the next one; whoever sent it is not to be heard any more.
  Result Take(std::span<const std::byte> part);
  // After kWhole, until the next Take.
  std::span<const std::byte> message() const { return message_; }

 private:
  size_t bytes_max_;
  uint64_t bytes_ = 0;  // of the message whose parts come; 0: none does
  std::vector<std::byte> message_;
};

}  // namespace plov::cluster
