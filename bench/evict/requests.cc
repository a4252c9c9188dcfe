#include "bench/evict/requests.h"

#include <fmt/core.h>

#include <algorithm>

#include "bench/load/presets.h"

namespace plov::bench {

namespace {

// What memcached keeps with an item: a head of 48 bytes, and 8 that count its versions.
constexpr double kBytesBesideItem = 56;
constexpr uint32_t kFittingPercent = 10;
constexpr uint64_t kScansInMemory = 8;  // so many fill it
constexpr double kInserts = 0.2;        // of shift
constexpr ItemShape kShape{.key_bytes = 16, .value_bytes_least = 100, .value_bytes_most = 400};

struct Own {
  std::string_view name;
  double exponent = kYcsbExponent;
  uint32_t fitting_percent = kFittingPercent;
};
constexpr auto kOwn = std::to_array<Own>({{"zipfian-0.8", 0.8},
                                          {"zipfian-0.99"},
                                          {"zipfian-1.2", 1.2},
                                          {"zipfian-roomy", kYcsbExponent, 30},
                                          {"scan"},
                                          {"shift"}});

Workload LoadOf(const Own& own) {
  Workload load;
  load.shape = kShape;
  load.popularity = Popularity::kZipf;
  load.exponent = own.exponent;
  load.mix[Kind::kGet] = 1;
  if (own.name == "shift") {
    load.popularity = Popularity::kLatest;
    load.mix[Kind::kGet] = 1 - kInserts;
    load.mix[Kind::kInsert] = kInserts;
  }
  return load;
}

}  // namespace

std::expected<EvictWorkload, Error> FindEvictWorkload(const std::string& name,
                                                      uint64_t memory_bytes) {
  const auto* const own = std::ranges::find(kOwn, name, &Own::name);
  const bool is_own = own != kOwn.end();
  auto load = is_own ? LoadOf(*own) : FindPreset(name);
  if (!load) {
    return Fail(load.error().code, fmt::format("{}, {}", load.error().message, kEvictNames));
  }
  EvictWorkload workload{.name = name, .load = std::move(*load)};
  workload.fitting = static_cast<uint64_t>(static_cast<double>(memory_bytes) /
                                           (workload.load.item_bytes() + kBytesBesideItem));
  workload.load.items = workload.fitting * 100 / (is_own ? own->fitting_percent : kFittingPercent);
  if (name == "scan") workload.scanned = workload.fitting / kScansInMemory;
  return workload;
}

const Operation& Requests::Next() {
  const uint64_t scanned = workload_.scanned;
  if (scanned > 0 && count_++ % (3 * scanned) >= 2 * scanned) {
    operation_.kind = Kind::kGet;
    operation_.number = next_scanned_++;
    items_.FillKey(operation_.number, &operation_.key);
    return operation_;
  }
  source_.Next(&operation_);
  if (operation_.kind == Kind::kInsert) source_.GrowTo(operation_.number + 1);
  return operation_;
}

const std::string& Requests::Value() {
  items_.FillValue(operation_.number, operation_.key, &operation_.value);
  return operation_.value;
}

}  // namespace plov::bench
