#include "bench/fabric/get_load.h"

#include <fmt/core.h>

#include <algorithm>
#include <optional>
#include <random>
#include <span>

#include "bench/load/histogram.h"

namespace plov::bench {

namespace {

using Clock = std::chrono::steady_clock;

// Between two looks at the clock; many windows, for each batch ends with fewer and fewer in flight.
constexpr size_t kKeysPerTurn = 1024;
constexpr size_t kPutsPerBatch = 512;
constexpr uint64_t kSeed = 20130626;          // any
constexpr std::chrono::seconds kTimeout{10};  // a machine in a machine has pauses

double SecondsSince(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

}  // namespace

GetLoad::GetLoad(Client client, const GetLoadOptions& options)
    : client_(std::move(client)), value_bytes_(options.value_bytes) {
  keys_.reserve(options.items);
  for (uint64_t i = 0; i < options.items; ++i) {
    keys_.push_back(fmt::format("{}{:0{}}", options.kind, i, kKeyBytes - 1));
  }
  order_.assign(keys_.begin(), keys_.end());
  std::ranges::shuffle(order_, std::mt19937_64(kSeed));
}

std::expected<GetLoad, Error> GetLoad::Create(const GetLoadOptions& options) {
  ClientOptions client_options;
  client_options.timeout = kTimeout;
  client_options.window = options.window;
  if (!options.remembers) client_options.location_cache_bytes = 0;
  auto client = Client::Connect(options.uri, client_options);
  if (!client) return std::unexpected(client.error());
  return GetLoad(std::move(*client), options);
}

std::string GetLoad::ValueOf(std::string_view key) const {
  std::string value;
  while (value.size() < value_bytes_) value += key;
  value.resize(value_bytes_);
  return value;
}

std::expected<void, Error> GetLoad::Store() {
  for (size_t first = 0; first < keys_.size(); first += kPutsPerBatch) {
    const size_t count = std::min(kPutsPerBatch, keys_.size() - first);
    std::vector<std::string> values;
    std::vector<PutItem> items;
    for (const std::string& key : std::span(keys_).subspan(first, count)) {
      values.push_back(ValueOf(key));
    }
    for (size_t i = 0; i < count; ++i) {
      items.push_back({.key = keys_[first + i], .value = values[i]});
    }
    std::expected<void, Error> outcome;
    client_.PutMany(items, [&outcome](size_t, const auto& result) {
      if (!result) outcome = std::unexpected(result.error());
    });
    if (!outcome) return outcome;
  }
  return {};
}

// The value repeats the key.
std::expected<void, Error> GetLoad::Check(std::string_view key,
                                          const Client::GetResult& result) const {
  if (!result) return std::unexpected(result.error());
  bool is_right = result->has_value() && (*result)->value.size() == value_bytes_;
  for (size_t at = 0; is_right && at < value_bytes_; at += key.size()) {
    is_right = key.starts_with((*result)->value.substr(at, key.size()));
  }
  if (is_right) return {};
  return Fail(Code::kCorrupt, fmt::format("the value of {} is not what was stored", key));
}

std::expected<void, Error> GetLoad::GetNext(size_t count) {
  if (next_ >= order_.size()) next_ = 0;
  const auto turn = std::span<const std::string_view>(order_).subspan(
      next_, std::min(count, order_.size() - next_));
  next_ += turn.size();
  std::expected<void, Error> outcome;
  client_.GetMany(turn, [&](size_t index, const auto& result) {
    if (auto checked = Check(turn[index], result); !checked) outcome = checked;
  });
  return outcome;
}

std::expected<void, Error> GetLoad::WarmUp() {
  next_ = 0;
  do {
    if (auto got = GetNext(kKeysPerTurn); !got) return got;
  } while (next_ < order_.size());
  return {};
}

void GetLoad::AddReads(const ClientStats& before, GetResult* result) const {
  const ClientStats after = client_.stats();
  const auto gets = static_cast<double>(after.gets - before.gets);
  const auto buckets = static_cast<double>(after.bucket_reads - before.bucket_reads);
  result->bucket_reads = buckets / gets;
  result->record_reads = (static_cast<double>(after.reads - before.reads) - buckets) / gets;
}

std::expected<GetResult, Error> GetLoad::GetMany(std::chrono::microseconds duration) {
  const ClientStats before = client_.stats();
  const auto start = Clock::now();
  do {
    if (auto got = GetNext(kKeysPerTurn); !got) return std::unexpected(got.error());
  } while (Clock::now() < start + duration);
  GetResult result;
  result.gets_per_second =
      static_cast<double>(client_.stats().gets - before.gets) / SecondsSince(start);
  AddReads(before, &result);
  return result;
}

std::expected<GetResult, Error> GetLoad::GetSingly(std::chrono::microseconds duration) {
  const ClientStats before = client_.stats();
  Histogram latency;
  const auto start = Clock::now();
  auto now = start;
  do {
    if (next_ >= order_.size()) next_ = 0;
    const std::string_view key = order_[next_++];
    const auto begun = now;
    if (auto checked = Check(key, client_.Get(key)); !checked) {
      return std::unexpected(checked.error());
    }
    now = Clock::now();
    const std::chrono::nanoseconds taken = now - begun;
    latency.Count(static_cast<uint64_t>(taken.count()));
  } while (now < start + duration);
  GetResult result;
  result.gets_per_second = static_cast<double>(latency.count()) / SecondsSince(start);
  AddReads(before, &result);
  result.median_us = static_cast<double>(latency.Percentile(0.5)) / 1e3;
  result.p99_us = static_cast<double>(latency.Percentile(0.99)) / 1e3;
  return result;
}

}  // namespace plov::bench
