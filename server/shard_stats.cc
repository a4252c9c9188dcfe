// Shard: what `plov stats` prints.

#include <fmt/format.h>

#include "server/shard.h"

namespace plov::server {

void Shard::AddLogStats(const std::function<void(std::string_view, uint64_t)>& line) const {
  line("log_mode", static_cast<uint64_t>(commit_mode_));
  line("log_durable_batch", log_->durable());
  line("log_pending_batches", log_->pending() ? log_->last_batch() - log_->durable() : 0);
  line("log_commit_us_p50", log_->times().Quantile(0.5));
  line("log_commit_us_p99", log_->times().Quantile(0.99));
  line("log_commit_us_max", log_->times().max_us());
  line("log_bytes", log_->bytes_written());
  line("log_segment", log_->segment());
  line("log_failed", log_->failure() != Code::kOk);
  if (!snapshot_) return;
  const log::SnapshotFeed::Stats snapshots = snapshot_->feed().stats();
  line("snapshots", snapshots.taken);
  line("snapshot_failures", snapshots.failed);
  line("snapshot_running", snapshots.running);
  line("snapshot_written_bytes", snapshots.written_bytes);
  line("snapshot_items", snapshots.items);
  line("snapshot_bytes", snapshots.bytes);
  if (snapshots.taken > 0) {
    const auto age = std::chrono::steady_clock::now() - snapshots.taken_at;
    line("snapshot_age_s",
         static_cast<uint64_t>(std::chrono::duration_cast<std::chrono::seconds>(age).count()));
  }
}

std::string Shard::StatsText() const {
  const cuckoo::TableStats table = store_->table().stats();
  const StoreStats& stats = store_->stats();
  const cuckoo::Geometry& geometry = store_->table().current().geometry();
  size_t clients = 0;
  uint64_t connection_bytes = 0;
  for (const Endpoint& endpoint : endpoints_) {
    clients += endpoint.peers.size();
    connection_bytes += endpoint.port->connection_bytes();
  }
  std::string text;
  const auto line = [&text](std::string_view name, uint64_t value) {
    fmt::format_to(std::back_inserter(text), "{} {}\n", name, value);
  };
  const RecordArea& records = store_->records();
  const Growth& growth = store_->growth();
  line("items", table.items);
  line("items_displaced", table.displaced);
  line("payload_bytes", stats.payload_bytes);
  line("full_percent", store_->percent_full());
  line("memory_bytes", store_->memory().budget_bytes());
  line("memory_used_bytes", store_->memory().used_bytes());
  line("memory_committed_bytes", store_->region().committed_bytes());
  line("host_refuses", store_->region().host().refuses());
  line("table_percent", table.items * 100 / store_->table().capacity());
  line("table_bytes", growth.table_bytes());
  line("buckets", store_->table().capacity());
  line("bucket_bytes", geometry.bucket_bytes);
  line("bucket_bytes_auto", growth.chooses_buckets());
  line("item_bytes_64", static_cast<uint64_t>(growth.choice().narrow.item_bytes));
  line("item_bytes_128", static_cast<uint64_t>(growth.choice().wide.item_bytes));
  line("generation", geometry.generation);
  line("growing", store_->table().phase() != cuckoo::GrowingTable::Phase::kSteady);
  line("growths", growth.growths());
  line("homes_overflowed", table.overflowed_homes);
  line("stashed", table.stashed);
  line("stash_bytes", store_->stash_bytes());
  line("displacements", table.moves);
  line("records_bytes", records.allocated_bytes());
  line("records_bytes_max", records.used_bytes() + store_->memory().available_bytes());
  line("records_used_bytes", records.used_bytes());
  line("records_moved", records.moved_records());
  line("records_moved_bytes", records.moved_bytes());
  line("recovered_items", store_->recovery().items);
  line("recovered_damaged", store_->recovery().damaged);
  line("clients", clients);
  line("clients_refused", admission_ == nullptr ? 0 : admission_->refused());
  line("connection_bytes_max", connection_bytes + sessions_.bytes());
  line("sessions", sessions_.size());
  line("messages", counters_.messages);
  line("requests", counters_.requests);
  line("puts", stats.puts);
  line("deletes", stats.deletes);
  line("gets_by_message", stats.fallback_gets);
  line("no_space", stats.no_space);
  line("expired", stats.expired);
  line("corrupt", stats.corrupt + table.corrupt);
  line("clients_dropped_unconfirmed", counters_.dropped_unconfirmed);
  line("retries_answered", counters_.retries_answered);
  line("protocol_errors", counters_.protocol_errors);
  line("sleeps", counters_.sleeps);
  if (log_ != nullptr) AddLogStats(line);
  line("cpu_us", ClockUs(CLOCK_THREAD_CPUTIME_ID) / thread_shards_);
  line("uptime_us", MonotonicUs() - started_us_);
  line("clock_us", store_->UnixUs(MonotonicUs()));
  return text;
}

}  // namespace plov::server
