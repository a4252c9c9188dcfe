// Flush: FLUSHALL and FLUSHDB, which are the same: there is one database.
//
// Threads: a worker's.
#pragma once

#include <cstddef>

#include "door/redis/lone_request.h"

namespace plov::door::redis {

class Flush final : public LoneRequest {
 public:
  void Start(Worker* worker) override;
  size_t bytes() const override { return sizeof(*this) + reply.capacity(); }
};

}  // namespace plov::door::redis
