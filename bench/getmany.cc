// The GETs that bench/instructions.sh counts the instructions of.
//
//   getmany URI VALUE_BYTES CACHE_BYTES SWEEPS
//
// Gets 20,000 items, keys of 16 bytes, SWEEPS times in one random order, in batches of 1,000, with so
// much memory for locations; stores them first where they are not. Reports nothing; a wrong answer is
// exit status 1.
#include <plov/client.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <string>
#include <string_view>
#include <vector>

namespace {

constexpr size_t kItems = 20'000;
constexpr size_t kBatch = 1'000;

bool Store(plov::Client* client, std::span<const std::string_view> keys, const std::string& value) {
  std::vector<plov::PutItem> items;
  for (const std::string_view key : keys) items.push_back({.key = key, .value = value});
  bool stored = true;
  client->PutMany(items, [&](size_t, const auto& result) { stored = stored && result; });
  return stored;
}

bool Sweep(plov::Client* client, std::span<const std::string_view> keys, size_t value_bytes) {
  size_t right = 0;
  for (size_t first = 0; first < keys.size(); first += kBatch) {
    client->GetMany(keys.subspan(first, kBatch), [&](size_t, const auto& result) {
      right += result && *result && (*result)->value.size() == value_bytes;
    });
  }
  return right == keys.size();
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 5) {
    std::fputs("usage: getmany URI VALUE_BYTES CACHE_BYTES SWEEPS\n", stderr);
    return 2;
  }
  const size_t value_bytes = std::strtoull(argv[2], nullptr, 10);
  auto client =
      plov::Client::Connect(argv[1], {.timeout = std::chrono::minutes(1),
                                      .location_cache_bytes = std::strtoull(argv[3], nullptr, 10)});
  if (!client) {
    std::fprintf(stderr, "getmany: %s\n", client.error().message.c_str());
    return 1;
  }
  std::vector<std::string> names;
  for (size_t i = 0; i < kItems; ++i) names.push_back("key:" + std::to_string(100'000'000'000 + i));
  std::ranges::shuffle(names, std::mt19937_64(1));
  const std::vector<std::string_view> keys(names.begin(), names.end());
  const size_t sweeps = std::strtoull(argv[4], nullptr, 10);
  const auto first = client->Get(keys.front());
  const bool stored = first && *first;
  if (!stored && !Store(&*client, keys, std::string(value_bytes, 'v'))) return 1;
  for (size_t sweep = 0; sweep < sweeps; ++sweep) {
    if (!Sweep(&*client, keys, value_bytes)) return 1;
  }
  return 0;
}
