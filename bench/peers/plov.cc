#include "bench/peers/plov.h"

#include <algorithm>
#include <utility>

namespace plov::bench {

namespace {

constexpr std::chrono::seconds kTimeout{30};  // machines have pauses

}  // namespace

std::expected<std::unique_ptr<Plov>, Error> Plov::Connect(const Work& work, const std::string& uri,
                                                          const PlovOptions& options) {
  ClientOptions client_options;
  client_options.timeout = kTimeout;
  client_options.window = options.window;
  client_options.location_cache_bytes = options.location_cache_bytes;
  auto client = Client::Connect(uri, client_options);
  if (!client) return std::unexpected(client.error());
  return std::unique_ptr<Plov>(new Plov(work, std::move(*client), options.puts));
}

std::expected<void, Error> Plov::Fill() {
  constexpr size_t kPutsPerBatch = 512;
  std::vector<std::string> names(kPutsPerBatch);
  std::vector<std::string> values(kPutsPerBatch);
  std::vector<PutItem> items(kPutsPerBatch);
  std::expected<void, Error> outcome;
  for (uint64_t first = 0; first < work().count() && outcome; first += kPutsPerBatch) {
    const size_t count = std::min<uint64_t>(kPutsPerBatch, work().count() - first);
    for (size_t i = 0; i < count; ++i) {
      const uint64_t number = work().first() + first + i;
      work().items().FillKey(number, &names[i]);
      work().items().FillValue(number, names[i], &values[i]);
      items[i] = {.key = names[i], .value = values[i]};
    }
    client_.PutMany(std::span(items).first(count), [&outcome](size_t, const auto& result) {
      if (!result) outcome = std::unexpected(result.error());
    });
  }
  return outcome;
}

std::expected<void, Error> Plov::Do(Way way, Range range) {
  switch (way) {
    case Way::kGet:
      return Get(keys(range));
    case Way::kGetMany:
      return GetMany(keys(range));
    case Way::kPut:
      return Put(range);
    case Way::kPutMany:
      return PutMany(range);
  }
  std::unreachable();
}

std::expected<void, Error> Plov::Get(std::span<const std::string_view> keys) {
  for (const std::string_view key : keys) {
    const auto result = client_.Get(key);
    if (!result) return std::unexpected(result.error());
    if (!*result || !work().IsRight(key, (*result)->value)) return work().Wrong(key);
  }
  return {};
}

std::expected<void, Error> Plov::GetMany(std::span<const std::string_view> keys) {
  std::expected<void, Error> outcome;
  client_.GetMany(keys, [&](size_t index, const auto& result) {
    if (result && *result && work().IsRight(keys[index], (*result)->value)) return;
    outcome = result ? work().Wrong(keys[index]) : std::unexpected(result.error());
  });
  return outcome;
}

std::expected<void, Error> Plov::Put(Range range) {
  std::string& value = values_[0];
  for (size_t place = range.first; place < range.first + range.count; ++place) {
    const std::string_view key = work().keys()[place];
    work().items().FillValue(work().order()[place], key, &value);
    if (const auto put = client_.Put(key, value); !put) return std::unexpected(put.error());
  }
  return {};
}

// So many, and then the next so many, as Redis is asked.
std::expected<void, Error> Plov::PutMany(Range range) {
  std::expected<void, Error> outcome;
  for (size_t done = 0; done < range.count && outcome; done += puts_.size()) {
    const size_t count = std::min(puts_.size(), range.count - done);
    for (size_t i = 0; i < count; ++i) {
      const size_t place = range.first + done + i;
      work().items().FillValue(work().order()[place], work().keys()[place], &values_[i]);
      puts_[i] = {.key = work().keys()[place], .value = values_[i]};
    }
    client_.PutMany(std::span(puts_).first(count), [&outcome](size_t, const auto& result) {
      if (!result) outcome = std::unexpected(result.error());
    });
  }
  return outcome;
}

}  // namespace plov::bench
