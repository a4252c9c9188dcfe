// ReplyPool: registered buffers for the replies of one port, shared by all its peers; one is taken
// for the moment from a reply's posting to its completion. It grows when all are taken, which only
// as many slow peers as buffers bring about.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "fabric/verbs/memory.h"
#include "fabric/verbs/wire.h"

namespace plov::fabric::verbs {

class ReplyPool {
 public:
  struct Buffer {
    std::byte* memory;
    uint32_t lkey;
    uint32_t index;
  };

  explicit ReplyPool(ibv_pd* pd) : pd_(pd) {}

  // nullopt when no more memory can be registered.
  std::optional<Buffer> Take();
  void Give(uint32_t index) { free_.push_back(index); }

 private:
  static constexpr uint32_t kBuffersPerChunk = 8;

  ibv_pd* pd_;
  std::vector<RegisteredPages> chunks_;
  std::vector<uint32_t> free_;
};

}  // namespace plov::fabric::verbs
