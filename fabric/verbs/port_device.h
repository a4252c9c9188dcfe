// PortDevice: what a port has on a device; gone, and made anew, when the device is removed and
// comes back.
#pragma once

#include <cstddef>
#include <expected>
#include <memory>

#include "fabric/verbs/memory.h"
#include "fabric/verbs/reply_pool.h"
#include "fabric/verbs/slices.h"

namespace plov::fabric::verbs {

class PortDevice {
 public:
  // `pd` outlives it.
  static std::expected<std::unique_ptr<PortDevice>, Error> Create(ibv_pd* pd);

  // In the completion queue, for so many of peers none of which is gone: who closes one polls what it
  // has left. kNoSpace beyond what the device can. One thread at a time, another may poll.
  std::expected<void, Error> MakeRoom(size_t completions);

  ibv_pd* const pd;
  CompletionChannel channel;
  Cq cq;
  ReplyPool replies;
  Slices slices;

 private:
  explicit PortDevice(ibv_pd* of) : pd(of), replies(of) {}

  size_t entries_ = 0;
  size_t entries_max_ = 0;  // of the device
};

}  // namespace plov::fabric::verbs
