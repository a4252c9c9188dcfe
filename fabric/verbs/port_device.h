// PortDevice: what a port has on a device; gone, and made anew, when the device is removed and
// comes back.
#pragma once

#include <cstddef>
#include <expected>
#include <memory>
#include <span>

#include "fabric/verbs/memory.h"
#include "fabric/verbs/reply_pool.h"

namespace plov::fabric::verbs {

// Region memory that READs of staging memory may go to.
struct LocalRegion {
  std::span<std::byte> memory;
  uint32_t lkey = 0;
};

class PortDevice {
 public:
  // region: registered with `pd`. Both outlive it.
  static std::expected<std::unique_ptr<PortDevice>, Error> Create(ibv_pd* pd, LocalRegion region);

  // In the completion queue, for so many peers, none of which is gone: who closes one polls what it
  // has left. kNoSpace beyond what the device can. One thread at a time, another may poll.
  std::expected<void, Error> MakeRoom(size_t peers);

  ibv_pd* const pd;
  const LocalRegion region;
  CompletionChannel channel;
  Cq cq;
  ReplyPool replies;

 private:
  PortDevice(ibv_pd* of, LocalRegion exposed) : pd(of), region(exposed), replies(of) {}

  size_t entries_ = 0;
  size_t entries_max_ = 0;  // of the device
};

}  // namespace plov::fabric::verbs
