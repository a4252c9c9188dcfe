#include "bench/load/clusters.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <sstream>

namespace plov::bench {

namespace {

// Fields that are used, by their places in a line.
constexpr size_t kNumber = 0;
constexpr size_t kKeyBytes = 2;
constexpr size_t kValueBytes = 3;
constexpr size_t kOperations = 10;
constexpr size_t kExponent = 11;
constexpr size_t kFields = 13;

// A field that has commas stands in quotes.
std::vector<std::string> FieldsOf(std::string_view line) {
  std::vector<std::string> fields(1);
  bool quoted = false;
  for (const char c : line) {
    if (c == '"') {
      quoted = !quoted;
    } else if (c == ',' && !quoted) {
      fields.emplace_back();
    } else {
      fields.back() += c;
    }
  }
  return fields;
}

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

std::optional<Cluster> ParseCluster(std::string_view line) {
  const auto fields = FieldsOf(line);
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

}  // namespace plov::bench
