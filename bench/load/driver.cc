#include "bench/load/driver.h"

#include <fmt/core.h>

#include <algorithm>

#include "bench/load/worker.h"
#include "program/format.h"

namespace plov::bench {

std::expected<void, Error> Load(const Workload& workload, const DriveOptions& options) {
  if (workload.replay) return {};
  DriveOptions one_by_one = options;
  one_by_one.client.location_cache_bytes = 0;
  uint64_t stored = 0;
  PoolOptions pool{.clients = options.clients, .before = {}, .after = {}, .progress = {}};
  pool.progress = [&](uint64_t operations, uint64_t bytes) {
    stored = operations;
    if (options.progress) options.progress(operations, bytes);
  };
  const auto load = [&](uint32_t index, Shared* shared) -> std::expected<program::Json, Error> {
    auto worker = Worker::Create(workload, one_by_one, index, shared);
    if (!worker) return std::unexpected(worker.error());
    if (auto loaded = worker->Load(); !loaded) return std::unexpected(loaded.error());
    return program::Json::object();
  };
  const auto loaded = RunPool(pool, load);
  if (loaded) return {};
  Error error = loaded.error();
  if (error.code == Code::kNoSpace) {
    error.message += fmt::format(", after about {} of {} items", program::Grouped(stored),
                                 program::Grouped(workload.items));
  }
  return std::unexpected(std::move(error));
}

std::expected<Result, Error> Drive(const Workload& workload, const DriveOptions& options) {
  uint64_t inserted = UINT64_MAX;
  const auto drive = [&](uint32_t index, Shared* shared) -> std::expected<program::Json, Error> {
    auto worker = Worker::Create(workload, options, index, shared);
    if (!worker) return std::unexpected(worker.error());
    const auto result = worker->Measure();
    if (!result) return std::unexpected(result.error());
    program::Json json = EncodeResult(*result);
    json["inserted"] = shared->counts[index].inserted.load(std::memory_order_relaxed);
    return json;
  };
  const auto results = RunPool(options, drive);
  if (!results) return std::unexpected(results.error());
  Result all;
  for (const program::Json& json : *results) {
    all.AddClient(DecodeResult(json));
    inserted = std::min(inserted, json.at("inserted").get<uint64_t>());
  }
  all.inserted = inserted * options.clients;
  return all;
}

}  // namespace plov::bench
