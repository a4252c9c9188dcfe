// plov's own client library as a side.

#include <algorithm>
#include <map>

#include "bench/designs/side.h"
#include "bench/peers/plov.h"
#include "bench/shared/tested_server.h"
#include "verify/record.h"

namespace plov::bench {

namespace {

using Clock = std::chrono::steady_clock;

constexpr size_t kKeysPerCall = 1024;
constexpr size_t kPutsPerBatch = 256;
// 16 bytes each, in sets of four: so roomy that few are forgotten, and mostly none.
constexpr size_t kCacheBytesPerItem = 1024;
constexpr size_t kCacheBytesMax = size_t{1} << 30;

class Ours final : public Side {
 public:
  Ours(const OursOptions& options, const Work& work) : options_(options), work_(work) {}

  std::expected<SideResult, Error> Measure(uint32_t window,
                                           std::chrono::microseconds duration) override {
    const auto plov = ClientOf(window);
    if (!plov) return std::unexpected(plov.error());
    const auto bucket_bytes = BucketBytesOf(*plov);
    if (!bucket_bytes) return std::unexpected(bucket_bytes.error());
    const ClientStats before = (*plov)->client().stats();
    const Way gets = window == 1 ? Way::kGet : Way::kGetMany;
    const Way way = options_.puts ? Way::kPutMany : gets;
    SideResult result;
    const auto start = Clock::now();
    auto now = start;
    do {
      const auto begun = now;
      const Range range = NextRange(way == Way::kGet ? 1 : kKeysPerCall);
      if (auto did = (*plov)->Do(way, range); !did) return std::unexpected(did.error());
      now = Clock::now();
      result.gets += range.count;
      if (way == Way::kGet) result.latency.Count(static_cast<uint64_t>((now - begun).count()));
    } while (now < start + duration);
    result.seconds = std::chrono::duration<double>(now - start).count();
    const ClientStats after = (*plov)->client().stats();
    result.reads = after.reads - before.reads;
    result.bucket_reads = after.bucket_reads - before.bucket_reads;
    result.bytes =
        result.bucket_reads * *bucket_bytes + (result.reads - result.bucket_reads) * RecordBytes();
    return result;
  }

 private:
  std::expected<Plov*, Error> ClientOf(uint32_t window) {
    if (const auto found = clients_.find(window); found != clients_.end()) {
      return found->second.get();
    }
    const size_t cache_bytes = std::min(kCacheBytesMax, work_.count() * kCacheBytesPerItem);
    auto plov = Plov::Connect(work_, options_.uri,
                              {.location_cache_bytes = options_.remembers ? cache_bytes : 0,
                               .window = window,
                               .puts = kPutsPerBatch});
    if (!plov) return std::unexpected(plov.error());
    next_ = 0;
    while (options_.remembers && next_ < work_.count()) {
      const Range range = NextRange(kKeysPerCall);
      if (auto got = (*plov)->Do(Way::kGetMany, range); !got) return std::unexpected(got.error());
      if (options_.learned) options_.learned(range.count);
    }
    next_ = options_.first;
    return clients_.emplace(window, std::move(*plov)).first->second.get();
  }

  static std::expected<uint64_t, Error> BucketBytesOf(Plov* plov) {
    const auto stats = plov->client().ServerStats();
    if (!stats) return std::unexpected(stats.error());
    return StatOf(stats->at(0), "bucket_bytes");
  }

  // Of so many items, or as many as there are before the order's end.
  Range NextRange(size_t most) {
    if (next_ >= work_.count()) next_ = 0;
    const Range range{next_, std::min(most, work_.count() - next_)};
    next_ += range.count;
    return range;
  }

  uint64_t RecordBytes() const {
    const ItemShape& shape = work_.items().shape();
    return verify::RecordBytes(shape.key_bytes, shape.value_bytes_most);
  }

  OursOptions options_;
  const Work& work_;
  std::map<uint32_t, std::unique_ptr<Plov>> clients_;  // by their windows
  size_t next_ = 0;
};

}  // namespace

std::unique_ptr<Side> OursOn(const OursOptions& options, const Work& work) {
  return std::make_unique<Ours>(options, work);
}

}  // namespace plov::bench
