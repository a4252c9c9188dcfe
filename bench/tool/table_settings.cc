#include "bench/tool/table_settings.h"

#include "bench/tool/lists.h"
#include "verify/bucket.h"

namespace plov::bench {

namespace po = boost::program_options;

namespace {

constexpr uint64_t kItemsMin = 10'000;  // fewer say nothing of a percentile
constexpr uint64_t kItemsMax = 100'000'000;
constexpr uint32_t kSeedsMax = 1000;
constexpr uint64_t kQuickItems = 20'000;
constexpr uint32_t kQuickSeeds = 2;

}  // namespace

po::options_description TableOptions() {
  po::options_description options("Options of table", 100);
  // clang-format off
  options.add_options()
      ("items", Text("N"), "buckets of a table, which hold an item each (1000000)")
      ("seeds", Text("N"), "tables, each under another seed, whose medians are shown (5)")
      ("bucket-bytes", Text("LIST"), "sizes of buckets, 64 or 128 (64,128)")
      ("html", Text("FILE"), "write a page there with plots and tables")
      ("json", po::bool_switch(), "print JSON, one object, instead of tables")
      ("quick", po::bool_switch(), "small tables, to see that it works");
  // clang-format on
  return options;
}

std::expected<TableSettings, Error> TableSettingsOf(const Given& given) {
  TableSettings settings;
  if (given.On("quick")) {
    settings.items = kQuickItems;
    settings.seeds = kQuickSeeds;
  }
  settings.json = given.On("json");
  for (auto filled : {given.Fill("items", kItemsMin, kItemsMax, &settings.items),
                      given.Fill("seeds", 1, kSeedsMax, &settings.seeds)}) {
    if (!filled) return std::unexpected(filled.error());
  }
  if (given.Has("bucket-bytes")) {
    auto bytes = NumbersOf(given, "bucket-bytes", verify::kBucketBytesMin, verify::kBucketBytesMax);
    if (!bytes) return std::unexpected(bytes.error());
    for (const uint32_t size : *bytes) {
      if (size != verify::kBucketBytesMin && size != verify::kBucketBytesMax) {
        return given.Invalid("--bucket-bytes: a bucket has 64 bytes or 128");
      }
    }
    settings.bucket_bytes = std::move(*bytes);
  }
  if (given.Has("html") && given.Text("html").empty()) return given.Invalid("--html is empty");
  settings.html = given.Text("html");
  return settings;
}

}  // namespace plov::bench
