#include "server/replicated_log.h"

#include <cstring>

namespace plov::server {

namespace {

std::byte ByteOf(EntryHolds holds) { return std::byte{static_cast<uint8_t>(holds)}; }

}  // namespace

std::byte* ReplicatedLog::Extend(size_t bytes) {
  const size_t begin = entry_.size();
  entry_.resize(begin + bytes);
  return std::as_writable_bytes(std::span(entry_)).data() + begin;
}

uint64_t ReplicatedLog::Append(const verify::Logged& operation, log::Piece value) {
  if (entry_.empty()) *Extend(verify::kWordBytes) = ByteOf(EntryHolds::kOperations);
  const bool is_long = value.bytes > 0;
  const size_t value_bytes = is_long ? value.bytes : operation.value.size();
  std::byte* to = Extend(verify::LoggedBytes(operation.key.size(), value_bytes));
  const size_t at = verify::EncodeLoggedHead(operation, value_bytes, to);
  if (is_long) {
    std::memcpy(to + at, value.memory.get(), value_bytes);
  } else if (value_bytes > 0) {
    std::memcpy(to + at, operation.value.data(), value_bytes);
  }
  return last_ + 1;
}

void ReplicatedLog::AppendItems(std::span<const std::byte> operations) {
  *Extend(verify::kWordBytes) = ByteOf(EntryHolds::kItems);
  std::memcpy(Extend(operations.size()), operations.data(), operations.size());
}

void ReplicatedLog::AppendSessions(std::span<const verify::LoggedSession> sessions, bool are_all) {
  *Extend(verify::kWordBytes) = ByteOf(are_all ? EntryHolds::kAllSessions : EntryHolds::kSessions);
  for (const verify::LoggedSession& session : sessions) {
    verify::EncodeLoggedSession(session, Extend(verify::kLoggedSessionBytes));
  }
}

}  // namespace plov::server
