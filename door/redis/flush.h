// Flush: FLUSHALL and FLUSHDB, which are the same: there is one database.
//
// Threads: a worker's.
#pragma once

#include <cstddef>
#include <string_view>

#include "door/request.h"

namespace plov::door::redis {

class Flush final : public Request {
 public:
  Flush() { kind = Kind::kAlone; }

  std::string_view key() const override { return {}; }
  bool TakeItem(const Client::GetResult&, std::string*) override { return true; }
  void Start(Worker* worker) override;
  void Keep() override {}
  void Recycle() override { delete this; }
  size_t bytes() const override { return sizeof(*this) + reply.capacity(); }
};

}  // namespace plov::door::redis
