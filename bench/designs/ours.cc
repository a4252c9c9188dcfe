// plov's own client library as a side.

#include <fmt/core.h>
#include <plov/client.h>

#include <algorithm>
#include <map>
#include <span>
#include <string_view>

#include "bench/designs/side.h"
#include "verify/bucket.h"
#include "verify/record.h"

namespace plov::bench {

namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::seconds kTimeout{30};
constexpr size_t kKeysPerTurn = 1024;
constexpr size_t kPutsPerBatch = 256;
// 16 bytes each, in sets of four: so roomy that few are forgotten, and mostly none.
constexpr size_t kCacheBytesPerItem = 1024;
constexpr size_t kCacheBytesMax = size_t{1} << 30;

// Some items' PUTs at a time.
class PutBatch {
 public:
  // numbers: kPutsPerBatch at most.
  std::expected<void, Error> Put(Client* client, const DesignLoad& load,
                                 std::span<const uint32_t> numbers) {
    items_.clear();
    for (size_t i = 0; i < numbers.size(); ++i) {
      const std::string& key = load.keys[numbers[i]];
      load.items.FillValue(numbers[i], key, &values_[i]);
      items_.push_back({.key = key, .value = values_[i]});
    }
    std::expected<void, Error> outcome;
    client->PutMany(items_, [&outcome](size_t, const auto& result) {
      if (!result) outcome = std::unexpected(result.error());
    });
    return outcome;
  }

 private:
  std::vector<std::string> values_ = std::vector<std::string>(kPutsPerBatch);
  std::vector<PutItem> items_;
};

class Ours final : public Side {
 public:
  Ours(const OursOptions& options, const DesignLoad& load)
      : options_(options), load_(load), order_(load.order.size()) {
    std::ranges::transform(load.order, order_.begin(), [&load](uint32_t number) {
      return std::string_view(load.keys[number]);
    });
  }

  std::expected<SideResult, Error> Measure(uint32_t window,
                                           std::chrono::microseconds duration) override {
    const auto client = ClientOf(window);
    if (!client) return std::unexpected(client.error());
    if (options_.puts) return MeasurePuts(*client, duration);
    const ClientStats before = (*client)->stats();
    SideResult result;
    const auto start = Clock::now();
    do {
      const auto got = window == 1 ? GetOne(*client, &result) : GetSome(*client);
      if (!got) return std::unexpected(got.error());
    } while (Clock::now() < start + duration);
    result.seconds = std::chrono::duration<double>(Clock::now() - start).count();
    const ClientStats after = (*client)->stats();
    result.gets = after.gets - before.gets;
    result.reads = after.reads - before.reads;
    result.bucket_reads = after.bucket_reads - before.bucket_reads;
    result.bytes = result.bucket_reads * verify::kBucketBytesMin +
                   (result.reads - result.bucket_reads) * RecordBytes();
    return result;
  }

 private:
  std::expected<Client*, Error> ClientOf(uint32_t window) {
    if (const auto found = clients_.find(window); found != clients_.end()) return &found->second;
    ClientOptions options;
    options.timeout = kTimeout;
    options.window = window;
    options.location_cache_bytes =
        options_.remembers ? std::min(kCacheBytesMax, order_.size() * kCacheBytesPerItem) : 0;
    auto connected = Client::Connect(options_.uri, options);
    if (!connected) return std::unexpected(connected.error());
    Client* client = &clients_.emplace(window, std::move(*connected)).first->second;
    next_ = 0;
    while (options_.remembers && next_ < order_.size()) {
      const size_t first = next_;
      if (auto got = GetSome(client); !got) return std::unexpected(got.error());
      if (options_.learned) options_.learned(next_ - first);
    }
    next_ = options_.first;
    return client;
  }

  std::expected<void, Error> Check(size_t at, const Client::GetResult& result) const {
    if (!result) return std::unexpected(result.error());
    if (*result && load_.items.IsValue(load_.order[at], order_[at], (*result)->value)) return {};
    return Fail(Code::kCorrupt, fmt::format("the value of {} is not what was stored", order_[at]));
  }

  std::expected<void, Error> GetSome(Client* client) {
    if (next_ >= order_.size()) next_ = 0;
    const size_t first = next_;
    const auto turn =
        std::span(order_).subspan(first, std::min(kKeysPerTurn, order_.size() - first));
    next_ += turn.size();
    std::expected<void, Error> outcome;
    client->GetMany(turn, [&](size_t index, const auto& result) {
      if (auto checked = Check(first + index, result); !checked) outcome = checked;
    });
    return outcome;
  }

  std::expected<void, Error> GetOne(Client* client, SideResult* result) {
    if (next_ >= order_.size()) next_ = 0;
    const size_t at = next_++;
    const auto begun = Clock::now();
    if (auto checked = Check(at, client->Get(order_[at])); !checked) return checked;
    const auto ns = std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now() - begun);
    result->latency.Count(static_cast<uint64_t>(ns.count()));
    return {};
  }

  std::expected<SideResult, Error> MeasurePuts(Client* client, std::chrono::microseconds duration) {
    PutBatch batch;
    SideResult result;
    const auto start = Clock::now();
    do {
      const size_t count = std::min(kPutsPerBatch, load_.order.size() - next_);
      const auto put = batch.Put(client, load_, std::span(load_.order).subspan(next_, count));
      if (!put) return std::unexpected(put.error());
      result.gets += count;
      next_ = next_ + count == load_.order.size() ? 0 : next_ + count;
    } while (Clock::now() < start + duration);
    result.seconds = std::chrono::duration<double>(Clock::now() - start).count();
    return result;
  }

  uint64_t RecordBytes() const {
    const ItemShape& shape = load_.items.shape();
    return verify::RecordBytes(shape.key_bytes, shape.value_bytes_most);
  }

  OursOptions options_;
  const DesignLoad& load_;
  std::vector<std::string_view> order_;
  std::map<uint32_t, Client> clients_;  // by their windows
  size_t next_ = 0;
};

}  // namespace

std::expected<void, Error> StoreItems(const std::string& uri, const DesignLoad& load) {
  ClientOptions options;
  options.timeout = kTimeout;
  auto client = Client::Connect(uri, options);
  if (!client) return std::unexpected(client.error());
  PutBatch batch;
  for (size_t first = 0; first < load.order.size(); first += kPutsPerBatch) {
    const size_t count = std::min(kPutsPerBatch, load.order.size() - first);
    auto put = batch.Put(&*client, load, std::span(load.order).subspan(first, count));
    if (!put) return put;
  }
  return {};
}

std::unique_ptr<Side> OursOn(const OursOptions& options, const DesignLoad& load) {
  return std::make_unique<Ours>(options, load);
}

}  // namespace plov::bench
