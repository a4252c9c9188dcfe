#include "server/replicated_log.h"

#include <cstring>
#include <span>

namespace plov::server {

uint64_t ReplicatedLog::Append(const verify::Logged& operation, log::Piece value) {
  const bool is_long = value.bytes > 0;
  const size_t value_bytes = is_long ? value.bytes : operation.value.size();
  const size_t begin = entry_.size();
  entry_.resize(begin + verify::LoggedBytes(operation.key.size(), value_bytes));
  std::byte* to = std::as_writable_bytes(std::span(entry_)).data() + begin;
  const size_t at = verify::EncodeLoggedHead(operation, value_bytes, to);
  if (is_long) {
    std::memcpy(to + at, value.memory.get(), value_bytes);
  } else if (value_bytes > 0) {
    std::memcpy(to + at, operation.value.data(), value_bytes);
  }
  return last_ + 1;
}

}  // namespace plov::server
