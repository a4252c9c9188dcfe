#include "server/slow_log.h"

#include <algorithm>

namespace plov::server {

void SlowLog::Count(const Batch& batch) {
  page_->Add(verify::Histogram::kWrites, batch.times.total_us());
  if (batch.times.total_us() >= threshold_us_.load(std::memory_order_relaxed)) Add(batch);
}

void SlowLog::Add(const Batch& batch) {
  const Batch::Shown& shown = batch.slowest.took_us > 0 ? batch.slowest : batch.write;
  verify::SlowWrite slow{};
  slow.number = ++count_;
  slow.unix_us = store_->UnixUs(batch.times.begun_us());
  for (size_t i = 0; i < verify::kCauses; ++i) {
    slow.spent_us[i] =
        static_cast<uint32_t>(std::min<uint64_t>(batch.times.spent_us()[i], UINT32_MAX));
  }
  slow.requests = batch.handled;
  slow.operation = static_cast<uint8_t>(shown.operation);
  slow.value_bytes = shown.value_bytes;
  slow.key_bytes = static_cast<uint16_t>(shown.key.size());
  shown.key.copy(slow.key.data(), slow.key.size());
  verify::StoreSlowWrite(verify::WordsAt(store_->region().data(), verify::kSlowWritesOffset), slow);
}

}  // namespace plov::server
