// LoneRequest: a request of several keys, or of all, which runs alone and owns all that it refers to.
//
// Threads: a worker's.
#pragma once

#include <plov/client.h>

#include <string>
#include <string_view>

#include "door/request.h"

namespace plov::door::redis {

class LoneRequest : public Request {
 public:
  LoneRequest() { kind = Kind::kAlone; }

  std::string_view key() const final { return {}; }
  bool TakeItem(const Client::GetResult&, std::string*) final { return true; }
  void Keep() final {}
  void Recycle() final { delete this; }
};

}  // namespace plov::door::redis
