// What one client gets out of a server: PUTs and GETs, one at a time and pipelined, and the READs
// that a GET costs, first with no location known and then with those that the cache holds.
//
//   get_put URI [ITEMS [VALUE_BYTES]]      (1000000 64)
//
// Writes ITEMS items "bench:N" and reads them in random order. Reports, never judges.
#include <plov/client.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <string>
#include <vector>

namespace {

using Clock = std::chrono::steady_clock;

struct Work {
  std::vector<std::string> keys;
  std::vector<std::string_view> order;  // of the GETs
  std::string value;
};

Work MakeWork(size_t item_count, size_t value_bytes) {
  Work work;
  for (size_t i = 0; i < item_count; ++i) work.keys.push_back("bench:" + std::to_string(i));
  std::mt19937_64 random(1);
  for (size_t i = 0; i < item_count; ++i) work.order.push_back(work.keys[random() % item_count]);
  work.value.assign(value_bytes, 'v');
  return work;
}

// Runs `body`, which returns how many operations went wrong, and prints a line.
template <typename Body>
bool Report(const char* name, plov::Client* client, size_t operations, Body&& body) {
  const plov::ClientStats before = client->stats();
  const auto start = Clock::now();
  const size_t wrong = body();
  const double seconds = std::chrono::duration<double>(Clock::now() - start).count();
  const auto count = static_cast<double>(operations);
  const auto reads = static_cast<double>(client->stats().reads - before.reads);
  std::printf("%-28s %12.0f /s %8.2f READs each %8zu wrong\n", name, count / seconds, reads / count,
              wrong);
  return wrong == 0;
}

bool Puts(plov::Client* client, const Work& work) {
  std::vector<plov::PutItem> items;
  for (const std::string& key : work.keys) items.push_back({key, work.value});
  bool right = Report("PutMany", client, items.size(), [&] {
    size_t wrong = 0;
    client->PutMany(items, [&wrong](size_t, auto result) { wrong += !result; });
    return wrong;
  });
  right &= Report("Put, one at a time", client, work.order.size(), [&] {
    size_t wrong = 0;
    for (const auto key : work.order) wrong += !client->Put(key, work.value);
    return wrong;
  });
  return right;
}

bool Gets(const char* one_name, const char* many_name, plov::Client* client, const Work& work) {
  const auto is_wrong = [&work](const plov::Client::GetResult& result) {
    return !result || !*result || (*result)->value.size() != work.value.size();
  };
  bool right = Report(one_name, client, work.order.size(), [&] {
    size_t wrong = 0;
    for (const auto key : work.order) wrong += is_wrong(client->Get(key));
    return wrong;
  });
  right &= Report(many_name, client, work.order.size(), [&] {
    size_t wrong = 0;
    client->GetMany(work.order, [&](size_t, auto result) { wrong += is_wrong(result); });
    return wrong;
  });
  return right;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fprintf(stderr, "usage: get_put URI [ITEMS [VALUE_BYTES]]\n");
    return 2;
  }
  const size_t item_count = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 1'000'000;
  const size_t value_bytes = argc > 3 ? std::strtoull(argv[3], nullptr, 10) : 64;
  auto cold = plov::Client::Connect(argv[1], {.location_cache_bytes = 0});
  auto warm = plov::Client::Connect(argv[1], {.location_cache_bytes = item_count * 128});
  if (!cold || !warm || item_count == 0) {
    std::fprintf(stderr, "get_put: %s\n", cold ? "no items" : cold.error().message.c_str());
    return 3;
  }
  const Work work = MakeWork(item_count, value_bytes);
  bool right = Puts(&*cold, work);
  right &= Gets("Get, no location known", "GetMany, no location known", &*cold, work);
  right &= Gets("Get, locations remembered", "GetMany, locations remembered", &*warm, work);
  return right ? 0 : 3;
}
