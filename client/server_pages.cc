#include "client/server_pages.h"

#include "verify/counters.h"
#include "verify/message.h"
#include "verify/slow_writes.h"

namespace plov {

std::expected<void, Error> AppendStats(std::span<const std::byte> page, ServerClock::Bounds now,
                                       std::vector<std::string>* texts) {
  const auto counters = verify::ReadCounters(page);
  if (!counters) return Fail(Code::kProtocol, "what the server tells of itself makes no sense");
  texts->push_back(verify::TextOf(*counters, now.earliest_us / 2 + now.latest_us / 2));
  return {};
}

std::expected<void, Error> AppendSlowWrites(uint32_t shard, std::span<const std::byte> pages,
                                            std::vector<SlowWrite>* all) {
  for (const verify::SlowWrite& slow : verify::ReadSlowWrites(pages)) {
    const auto spent = [&slow](verify::Cause cause) {
      return slow.spent_us[static_cast<size_t>(cause)];
    };
    all->push_back({.shard = shard,
                    .number = slow.number,
                    .unix_us = slow.unix_us,
                    .total_us = slow.total_us(),
                    .work_us = spent(verify::Cause::kWork),
                    .queue_us = spent(verify::Cause::kQueue),
                    .growth_us = spent(verify::Cause::kGrowth),
                    .cleaning_us = spent(verify::Cause::kCleaning),
                    .value_us = spent(verify::Cause::kValue),
                    .disk_us = spent(verify::Cause::kDisk),
                    .requests = slow.requests,
                    .is_delete = slow.operation == static_cast<uint8_t>(verify::Operation::kDelete),
                    .value_bytes = slow.value_bytes,
                    .key_bytes = slow.key_bytes,
                    .key = std::string(slow.key_shown())});
  }
  return {};
}

}  // namespace plov
