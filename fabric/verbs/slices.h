// Slices: a port's own memory that values are READ into, from where they go, masked, into the region
// (PeerRead): what a peer's card writes is never in the region as the peer chose it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <expected>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "fabric/fabric.h"
#include "fabric/verbs/memory.h"

namespace plov::fabric::verbs {

class Slices {
 public:
  // In flight for all peers of a port, registered once.
  static constexpr uint32_t kCount = 8;
  static constexpr uint64_t kPinnedBytes = kCount * PeerRead::kWholeBytes;

  static std::expected<Slices, Error> Create(ibv_pd* pd) {
    auto memory = RegisteredPages::Create(pd, kPinnedBytes, kLocalOnly);
    if (!memory) return std::unexpected(memory.error());
    return Slices(std::move(*memory));
  }
  Slices() = default;

  bool any_free() const { return !free_.empty(); }
  // Needs any_free(). The READ's next slice, from `done` of its bytes on.
  uint32_t Take(const PeerRead& read, uint64_t done) {
    const uint32_t index = free_.back();
    free_.pop_back();
    slices_[index] = {read, done};
    return index;
  }
  void Give(uint32_t index) { free_.push_back(index); }

  std::span<std::byte> MemoryOf(uint32_t index) const {
    const auto [read, done] = slices_[index];
    return {memory_.at(index * PeerRead::kWholeBytes), read.SliceBytesAt(done)};
  }
  uint32_t lkey() const { return memory_.lkey(); }

  // Once it has arrived: masks it into the region. The READ, when that was the last of it.
  std::optional<PeerRead> Store(uint32_t index) const {
    const auto& [read, done] = slices_[index];
    const auto slice = MemoryOf(index);
    read.StoreSlice(done, slice);
    if (done + slice.size() < read.bytes) return std::nullopt;
    return read;
  }

 private:
  struct Slice {
    PeerRead read;
    uint64_t done;
  };

  explicit Slices(RegisteredPages memory) : memory_(std::move(memory)), slices_(kCount) {
    for (uint32_t index = 0; index < kCount; ++index) free_.push_back(index);
  }

  RegisteredPages memory_;
  std::vector<Slice> slices_;
  std::vector<uint32_t> free_;
};

}  // namespace plov::fabric::verbs
