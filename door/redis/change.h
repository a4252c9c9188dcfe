// Change: what a command makes of one item, and the reply once it has.
#pragma once

#include <plov/client.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "door/redis/reply.h"

namespace plov::door::redis {

struct Change {
  enum class Action : uint8_t {
    kNothing,
    kPut,     // `value`, with `flags` and `ttl`
    kAppend,  // `value` behind the one that is there; at most kAppendMax bytes
    kTouch,   // `ttl`
    kDelete,
  };
  static constexpr size_t kAppendMax = size_t{16} << 10;

  static Change OfError(std::string_view text) {
    Change change;
    change.is_error = true;
    AddError(text, &change.reply);
    return change;
  }

  Action action = Action::kNothing;
  std::string value;
  uint32_t flags = 0;
  Lifetime ttl = {};  // for ever, or until a moment
  std::string reply;
  bool is_error = false;
};

}  // namespace plov::door::redis
