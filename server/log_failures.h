// LogFailures: says in the log file when a shard's log cannot be written, and when it can be again.
//
// Threads: the shard's.
#pragma once

#include <cstdint>

#include "log/group_commit.h"
#include "server/sessions.h"
#include "verify/message.h"

namespace plov::server {

// The reply to a write while the log cannot be written, and why not.
inline WriteReply RefusalOf(Code failure) {
  return {failure, failure == Code::kNoSpace ? verify::kLogIsFull : 0};
}

class LogFailures {
 public:
  // Often.
  void Look(uint32_t shard, const log::GroupCommit& log);

 private:
  uint64_t told_ = 0;
  bool fails_ = false;
};

}  // namespace plov::server
