// Meta commands: mg, ms, md, ma, me, mn.
//
// The flags h, l (when was it read last), N, R of mg, and I (who writes an item anew that is stale) are refused:
// reads leave no trace in the server, and its items have no place for such marks.
#pragma once

#include "door/memcached/command.h"

namespace plov::door::memcached {

// words[0] is two characters, the first of them 'm'.
Command ParseMeta(const Words& words);

}  // namespace plov::door::memcached
