// plov-bench run: the workload that its options describe.

#include <fmt/core.h>

#include <array>
#include <charconv>
#include <memory>
#include <optional>

#include "bench/load/presets.h"
#include "bench/run/study.h"
#include "verify/quantity.h"

namespace plov::bench {

namespace {

constexpr const char* kDefaultWorkload = "ycsb-b";
constexpr uint64_t kQuickItems = 2000;
constexpr uint64_t kItemsMax = 10'000'000'000;
constexpr double kExponentMax = 10;
constexpr auto kOptionsOfItems = std::to_array<const char*>(
    {"workload", "items", "key-bytes", "value-bytes", "distribution", "exponent", "reads"});

struct NamedPopularity {
  std::string_view name;
  Popularity popularity;
};
constexpr auto kPopularities = std::to_array<NamedPopularity>({{"uniform", Popularity::kUniform},
                                                               {"zipfian", Popularity::kZipf},
                                                               {"latest", Popularity::kLatest}});

// "N" or "LEAST..MOST".
Outcome FillValueBytes(const Given& given, ItemShape* shape) {
  if (!given.Has("value-bytes")) return {};
  if (shape->are_numbers) return given.Invalid("--value-bytes is not for the workload counters");
  const std::string text = given.Text("value-bytes");
  const size_t dots = text.find("..");
  const auto least = ParseSize(text.substr(0, dots));
  const auto most = dots == text.npos ? least : ParseSize(text.substr(dots + 2));
  if (!least || !most || *least > *most || *most > Replay::kValueBytesMax) {
    return given.Invalid(fmt::format(
        "--value-bytes '{}' is not a size up to 16M, or two of them as LEAST..MOST", text));
  }
  shape->value_bytes_least = static_cast<uint32_t>(*least);
  shape->value_bytes_most = static_cast<uint32_t>(*most);
  return {};
}

Outcome FillPopularity(const Given& given, Workload* workload) {
  if (given.Has("distribution")) {
    const NamedPopularity* found = nullptr;
    for (const NamedPopularity& one : kPopularities) {
      if (one.name == given.Text("distribution")) found = &one;
    }
    if (found == nullptr) return given.Invalid("--distribution is uniform, zipfian or latest");
    workload->popularity = found->popularity;
  }
  if (!given.Has("exponent")) return {};
  const auto exponent = ParseDecimal(given.Text("exponent"));
  if (!exponent || !(*exponent > 0) || *exponent > kExponentMax) {
    return given.Invalid(fmt::format("--exponent '{}' is not a number over 0, up to {}",
                                     given.Text("exponent"), kExponentMax));
  }
  if (workload->popularity == Popularity::kUniform && !given.Has("distribution")) {
    workload->popularity = Popularity::kZipf;
  }
  if (workload->popularity == Popularity::kUniform) {
    return given.Invalid("--exponent is for --distribution zipfian or latest");
  }
  workload->exponent = *exponent;
  return {};
}

Outcome FillReads(const Given& given, Workload* workload) {
  if (!given.Has("reads")) return {};
  const auto percent = ParseDecimal(given.Text("reads"));
  if (!percent || !(*percent >= 0) || *percent > 100) {
    return given.Invalid(
        fmt::format("--reads '{}' is not a percentage from 0 to 100", given.Text("reads")));
  }
  workload->mix = {};
  workload->mix[Kind::kGet] = *percent / 100;
  const Kind other = workload->shape.are_numbers ? Kind::kIncrement : Kind::kPut;
  workload->mix[other] = 1 - *percent / 100;
  return {};
}

Outcome FillReplay(const Given& given, Workload* workload) {
  for (const char* name : kOptionsOfItems) {
    if (given.Has(name)) {
      return given.Invalid(
          fmt::format("--{} and --replay: a replay says itself what it does", name));
    }
  }
  auto replay = Replay::Read(given.Text("replay"));
  if (!replay) return std::unexpected(replay.error());
  workload->name = "replay of " + given.Text("replay");
  for (size_t i = 0; i < kKinds; ++i) {
    workload->mix.shares[i] = replay->part(static_cast<Kind>(i));
  }
  workload->replay = std::make_shared<const Replay>(std::move(*replay));
  workload->repeats = given.Has("duration");
  return {};
}

}  // namespace

std::optional<double> ParseDecimal(const std::string& text) {
  double number = 0;
  const char* end = text.data() + text.size();
  const auto [rest, failure] = std::from_chars(text.data(), end, number);
  if (failure != std::errc() || rest != end) return std::nullopt;
  return number;
}

Outcome FillWorkload(const Given& given, Workload* workload) {
  if (given.Has("replay")) return FillReplay(given, workload);
  auto preset = FindPreset(given.Has("workload") ? given.Text("workload") : kDefaultWorkload);
  if (!preset) return given.Invalid("--workload: " + preset.error().message);
  *workload = std::move(*preset);
  ItemShape& shape = workload->shape;
  if (auto filled = FillValueBytes(given, &shape); !filled) return filled;
  if (auto filled =
          given.Fill("key-bytes", Items::kKeyBytesMin, Replay::kKeyBytesMax, &shape.key_bytes);
      !filled) {
    return filled;
  }
  if (shape.key_bytes < Items::kKeyBytesMin || shape.key_bytes > Replay::kKeyBytesMax ||
      shape.value_bytes_most > Replay::kValueBytesMax) {
    return given.Invalid(fmt::format(
        "--workload {}: its keys of {} or values of {} bytes are beyond what is possible here, "
        "keys of {} to {} and values up to {}: set --key-bytes or --value-bytes",
        workload->name, shape.key_bytes, shape.value_bytes_most, Items::kKeyBytesMin,
        Replay::kKeyBytesMax, Replay::kValueBytesMax));
  }
  workload->items = given.On("quick") ? kQuickItems : DefaultItems(shape);
  if (auto filled = given.Fill("items", 1, kItemsMax, &workload->items); !filled) return filled;
  if (auto filled = FillPopularity(given, workload); !filled) return filled;
  return FillReads(given, workload);
}

}  // namespace plov::bench
