#include "server/replica_log.h"

#include <cstring>
#include <vector>

namespace plov::server {

uint64_t ReplicaLog::AppendHeld(const cluster::Append& held) {
  const std::vector<std::byte> bytes = cluster::Encode(stream_, held);
  std::string value(bytes.size(), '\0');
  std::memcpy(value.data(), bytes.data(), bytes.size());
  return commit()->Append(
      {.kind = verify::Logged::Kind::kHeld, .version = ++last_, .value = value});
}

void ReplicaLog::Keep(const cluster::Append& held) {
  const uint64_t batch = AppendHeld(held);
  ++given_count_;
  if (!given_.empty() && given_.back().batch == batch) {
    given_.back().count = given_count_;
  } else {
    given_.push_back({batch, given_count_});
  }
}

uint64_t ReplicaLog::kept() {
  const uint64_t durable = commit()->durable();
  for (; !given_.empty() && given_.front().batch <= durable; given_.pop_front()) {
    kept_count_ = given_.front().count;
  }
  return kept_count_;
}

// What is written and not published is in it.
uint64_t ReplicaLog::BeginSnapshot(uint64_t) { return AppendHeld(everything_()); }

}  // namespace plov::server
