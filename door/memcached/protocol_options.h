// ProtocolOptions: what memcached's protocols know of the door.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string_view>

#include "door/memcached/stats.h"
#include "door/memcached/users.h"

namespace plov::door::memcached {

struct ProtocolOptions {
  size_t item_bytes_max = size_t{1} << 20;  // as memcached's -I counts it (ItemBytes)
  std::function<std::optional<Stats>(std::string_view argument)> stats;
  const Users* users = nullptr;  // if not all may come in
};

}  // namespace plov::door::memcached
