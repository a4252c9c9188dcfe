#include "bench/load/presets.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <boost/tokenizer.hpp>
#include <charconv>
#include <sstream>

namespace plov::bench {

namespace {

constexpr uint64_t kDefaultBytes = uint64_t{512} << 20;
constexpr uint64_t kDefaultItemsMin = 1000;
constexpr uint64_t kDefaultItemsMax = 1'000'000;
constexpr std::string_view kTwitter = "twitter:";

// YCSB's keys are "user" and a hash of up to 20 digits, mostly 23 or 24 bytes; its values ten
// fields of 100 bytes.
constexpr ItemShape kYcsbShape{
    .key_bytes = 24, .value_bytes_least = 1000, .value_bytes_most = 1000};
constexpr ItemShape kCounterShape{
    .key_bytes = 16, .value_bytes_least = 10, .value_bytes_most = 10, .are_numbers = true};
constexpr ItemShape kHerdShape{.key_bytes = 16, .value_bytes_least = 32, .value_bytes_most = 32};

struct Preset {
  std::string_view name;
  ItemShape shape;
  Popularity popularity;
  double gets;
  Kind other;
};

constexpr auto kPresets = std::to_array<Preset>({
    {"ycsb-a", kYcsbShape, Popularity::kZipf, 0.50, Kind::kPut},
    {"ycsb-b", kYcsbShape, Popularity::kZipf, 0.95, Kind::kPut},
    {"ycsb-c", kYcsbShape, Popularity::kZipf, 1.00, Kind::kPut},
    {"ycsb-d", kYcsbShape, Popularity::kLatest, 0.95, Kind::kInsert},
    {"ycsb-f", kYcsbShape, Popularity::kZipf, 0.50, Kind::kModify},
    {"herd-95", kHerdShape, Popularity::kUniform, 0.95, Kind::kPut},
    {"herd-50", kHerdShape, Popularity::kUniform, 0.50, Kind::kPut},
    {"counters", kCounterShape, Popularity::kZipf, 0.50, Kind::kIncrement},
});

// Fields that are used, by their places in a line.
constexpr size_t kNumber = 0;
constexpr size_t kKeyBytes = 2;
constexpr size_t kValueBytes = 3;
constexpr size_t kOperations = 10;
constexpr size_t kExponent = 11;
constexpr size_t kFields = 13;

template <typename Number>
bool ParseNumber(std::string_view text, Number* number) {
  const char* end = text.data() + text.size();
  const auto [rest, failure] = std::from_chars(text.data(), end, *number);
  return failure == std::errc() && rest == end;
}

// "get:0.90 set:0.10"
bool ParseOperations(const std::string& text, Cluster* cluster) {
  std::istringstream words(text);
  for (std::string word; words >> word;) {
    const size_t colon = std::min(word.find(':'), word.size());
    double part = 0;
    if (colon == word.size() || !ParseNumber(std::string_view(word).substr(colon + 1), &part)) {
      return false;
    }
    cluster->operations.emplace_back(word.substr(0, colon), part);
  }
  return !cluster->operations.empty();
}

std::optional<Cluster> ParseCluster(const std::string& line) {
  using Csv = boost::escaped_list_separator<char>;  // a field that has commas stands in quotes
  const boost::tokenizer<Csv> tokens(line, Csv("", ",", "\""));
  const std::vector<std::string> fields(tokens.begin(), tokens.end());
  if (fields.size() != kFields) return std::nullopt;
  Cluster cluster;
  double exponent = 0;
  if (!ParseNumber(fields[kNumber], &cluster.number) ||
      !ParseNumber(fields[kKeyBytes], &cluster.key_bytes) ||
      !ParseNumber(fields[kValueBytes], &cluster.value_bytes) ||
      !ParseOperations(fields[kOperations], &cluster)) {
    return std::nullopt;
  }
  if (fields[kExponent] != "NA") {
    if (!ParseNumber(fields[kExponent], &exponent)) return std::nullopt;
    cluster.exponent = exponent;
  }
  return cluster;
}

std::expected<Workload, Error> FindCluster(std::string_view text) {
  const auto clusters = ParseClusters(ClustersCsv());
  if (!clusters) return std::unexpected(clusters.error());
  uint32_t number = 0;
  const auto [rest, failure] = std::from_chars(text.data(), text.data() + text.size(), number);
  const auto found = std::ranges::find(*clusters, number, &Cluster::number);
  if (failure != std::errc() || rest != text.data() + text.size() || found == clusters->end()) {
    return Fail(Code::kInvalidArgument,
                fmt::format("there is no twitter:{}: the table has clusters 1 to {} without 5",
                            text, clusters->back().number));
  }
  return WorkloadOf(*found);
}

}  // namespace

std::expected<std::vector<Cluster>, Error> ParseClusters(std::string_view csv) {
  std::vector<Cluster> clusters;
  std::istringstream lines{std::string(csv)};
  size_t number = 0;
  for (std::string line; std::getline(lines, line);) {
    ++number;
    if (number == 1 || line.empty()) continue;
    auto cluster = ParseCluster(line);
    if (!cluster) {
      return Fail(Code::kInvalidArgument, fmt::format("line {} describes no cluster", number));
    }
    clusters.push_back(std::move(*cluster));
  }
  return clusters;
}

uint64_t DefaultItems(const ItemShape& shape) {
  const uint64_t bytes = uint64_t{shape.key_bytes} + shape.value_bytes_most;
  return std::clamp(kDefaultBytes / bytes, kDefaultItemsMin, kDefaultItemsMax);
}

std::expected<Workload, Error> WorkloadOf(const Cluster& cluster) {
  Workload workload;
  workload.name = fmt::format("{}{}", kTwitter, cluster.number);
  workload.shape = {.key_bytes = cluster.key_bytes,
                    .value_bytes_least = cluster.value_bytes,
                    .value_bytes_most = cluster.value_bytes};
  workload.items = DefaultItems(workload.shape);
  for (const auto& [name, part] : cluster.operations) {
    const auto kind = KindOfMemcached(name);
    if (!kind) {
      return Fail(Code::kInvalidArgument,
                  fmt::format("{}: no operation for '{}'", workload.name, name));
    }
    workload.mix[*kind] += part;
  }
  if (cluster.exponent.value_or(0) > 0) {
    workload.popularity = Popularity::kZipf;
    workload.exponent = *cluster.exponent;
  }
  return workload;
}

std::expected<Workload, Error> FindPreset(std::string_view name) {
  if (name.starts_with(kTwitter)) return FindCluster(name.substr(kTwitter.size()));
  if (name == "ycsb-e") {
    return Fail(Code::kInvalidArgument,
                "ycsb-e scans ranges of keys in their order, and a hash table has no order: plov "
                "cannot run it");
  }
  const auto found = std::ranges::find(kPresets, name, &Preset::name);
  if (found == kPresets.end()) {
    return Fail(Code::kInvalidArgument,
                fmt::format("no workload '{}'; there are {}", name, kPresetNames));
  }
  Workload workload;
  workload.name = name;
  workload.shape = found->shape;
  workload.items = DefaultItems(found->shape);
  workload.popularity = found->popularity;
  workload.exponent = kYcsbExponent;
  workload.mix[Kind::kGet] = found->gets;
  workload.mix[found->other] += 1 - found->gets;
  return workload;
}

}  // namespace plov::bench
