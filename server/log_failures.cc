#include "server/log_failures.h"

#include <spdlog/spdlog.h>

namespace plov::server {

void LogFailures::Look(uint32_t shard, const log::GroupCommit& log) {
  if (const uint64_t failures = log.failures(); failures != told_) {
    if (!fails_) {
      spdlog::error("shard {} cannot write its log, so writes are refused: {}", shard,
                    log.failure_message());
    }
    told_ = failures;
    fails_ = true;
  }
  if (fails_ && log.failure() == Code::kOk) {
    fails_ = false;
    spdlog::info("shard {} writes its log again", shard);
  }
}

}  // namespace plov::server
