// Memory that a card may use: registered with a protection domain, pinned as long as it is.
#pragma once

#include <infiniband/verbs.h>

#include <cstddef>
#include <cstdint>
#include <expected>
#include <memory>
#include <span>

#include "fabric/os.h"
#include "fabric/verbs/cm.h"
#include "verify/error.h"

namespace plov::fabric::verbs {

// Destroyed in reverse: completion queues before channels, memory before its domain.
using Device = std::unique_ptr<ibv_context, FreeBy<ibv_close_device>>;
using Pd = std::unique_ptr<ibv_pd, FreeBy<ibv_dealloc_pd>>;
using CompletionChannel = std::unique_ptr<ibv_comp_channel, FreeBy<ibv_destroy_comp_channel>>;
using Cq = std::unique_ptr<ibv_cq, FreeBy<ibv_destroy_cq>>;
using Mr = std::unique_ptr<ibv_mr, FreeBy<ibv_dereg_mr>>;

// What others may do with registered memory, which this side's card may read in any case.
enum Access : int {
  kLocalOnly = IBV_ACCESS_LOCAL_WRITE,
  // Nobody's but ours to write.
  kRemoteRead = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ,
};

// kNoSpace with the command that mends it when the limit on pinned memory forbids it.
std::expected<Mr, Error> Register(ibv_pd* pd, std::span<std::byte> memory, Access access);

// Pages of our own that are registered.
struct RegisteredPages {
  Mapping mapping;
  Mr mr;  // goes first

  static std::expected<RegisteredPages, Error> Create(ibv_pd* pd, size_t bytes, Access access);

  std::span<std::byte> bytes() const { return mapping.bytes(); }
  std::byte* at(size_t offset) const { return mapping.bytes().data() + offset; }
  uint32_t lkey() const { return mr->lkey; }
};

inline uint64_t AddressOf(const void* memory) { return reinterpret_cast<uintptr_t>(memory); }

// A completion channel that never blocks, and queues on it.
std::expected<CompletionChannel, Error> CreateCompletionChannel(ibv_context* device);
std::expected<Cq, Error> CreateCq(ibv_context* device, ibv_comp_channel* channel, size_t entries);

// Takes and acknowledges the events of a channel, whose queues then have to be armed anew.
void DrainEvents(ibv_comp_channel* channel);

}  // namespace plov::fabric::verbs
