// BinaryCommand: a request of memcached's binary protocol as a command, as memcached 1.6.18 reads it. Pure: it knows
// neither connections nor the store.
//
// A request whose lengths do not suit its opcode is refused, and ends the connection. memcached looks less closely
// at a touch, gat or stat with a value: it takes the value for the next request.
#pragma once

#include <optional>
#include <string_view>

#include "door/memcached/binary_header.h"
#include "door/memcached/command.h"

namespace plov::door::memcached {

// Why a request is refused, as far as its header tells: kUnknownCommand, where there is no such opcode, or
// kInvalid, where its lengths are not this opcode's. std::nullopt: it is not.
std::optional<Status> RefusalOf(const BinaryHeader& header);

// The command of a header that is not refused, with its extras and its key, which the command refers to.
Command ParseBinary(const BinaryHeader& header, std::string_view extras_and_key);

// Whether the reply has the key.
bool TellsKey(Opcode opcode);

}  // namespace plov::door::memcached
