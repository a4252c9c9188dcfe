#include "fabric/verbs/reply_pool.h"

namespace plov::fabric::verbs {

std::optional<ReplyPool::Buffer> ReplyPool::Take() {
  if (free_.empty()) {
    auto chunk =
        RegisteredPages::Create(pd_, size_t{kBuffersPerChunk} * kMessageBytesMax, kLocalOnly);
    if (!chunk) return std::nullopt;
    const auto first = static_cast<uint32_t>(chunks_.size()) * kBuffersPerChunk;
    chunks_.push_back(std::move(*chunk));
    for (uint32_t i = 0; i < kBuffersPerChunk; ++i) free_.push_back(first + i);
  }
  const uint32_t index = free_.back();
  free_.pop_back();
  const RegisteredPages& chunk = chunks_[index / kBuffersPerChunk];
  return Buffer{chunk.at(size_t{index % kBuffersPerChunk} * kMessageBytesMax), chunk.lkey(), index};
}

}  // namespace plov::fabric::verbs
