#include "cluster/stream_parts.h"

#include <algorithm>
#include <cstring>

namespace plov::cluster {

namespace {

struct PartHead {
  uint64_t offset;
  uint32_t magic;
  uint32_t zero;
  uint64_t bytes;
};
static_assert(sizeof(PartHead) == kPartHeadBytes);

constexpr uint32_t kPartMagic = 0x70736c70;  // "plsp"

}  // namespace

std::span<const std::byte> PartWriter::Next(size_t bytes_max) {
  if (!part_.empty()) return part_;
  const PartHead head{at_, kPartMagic, 0, message_.size()};
  const size_t piece_bytes = std::min(bytes_max - kPartHeadBytes, message_.size() - at_);
  part_.resize(kPartHeadBytes + piece_bytes);
  std::memcpy(part_.data(), &head, sizeof(head));
  std::memcpy(part_.data() + kPartHeadBytes, message_.data() + at_, piece_bytes);
  return part_;
}

void PartWriter::Taken() {
  at_ += part_.size() - kPartHeadBytes;
  part_.clear();
}

PartReader::Result PartReader::Take(std::span<const std::byte> part) {
  if (part.size() <= kPartHeadBytes) return Result::kGarbage;
  PartHead head;
  std::memcpy(&head, part.data(), sizeof(head));
  if (bytes_ == 0) message_.clear();
  const auto piece = part.subspan(kPartHeadBytes);
  const bool follows = head.offset == message_.size() && (bytes_ == 0 || head.bytes == bytes_);
  if (head.magic != kPartMagic || head.zero != 0 || !follows || head.bytes > bytes_max_ ||
      piece.size() > head.bytes - head.offset) {
    return Result::kGarbage;
  }
  message_.insert(message_.end(), piece.begin(), piece.end());
  bytes_ = message_.size() == head.bytes ? 0 : head.bytes;
  return bytes_ == 0 ? Result::kWhole : Result::kMore;
}

}  // namespace plov::cluster
