// What a PUT waits for while the table grows: the time of every single write of a store, sorted by
// what its table was doing.
//
//   growth [ITEMS [VALUE_BYTES [MEMORY_MIB]]]      (10000000 16 4096)
//
// Writes ITEMS items into a store that begins with the smallest table; one thread, no network, and
// the thread's own CPU time, so that what the host takes away does not count. Reports, never
// judges.
#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "bench/load/clock.h"
#include "server/store.h"

namespace {

using plov::bench::ThreadCpuNs;
constexpr std::array<const char*, 4> kPhases = {"steady", "preparing", "moving", "retiring"};

struct Times {
  std::vector<uint32_t> ns;

  double Us(double part) {
    const auto at = static_cast<size_t>(part * static_cast<double>(ns.size() - 1));
    std::nth_element(ns.begin(), ns.begin() + static_cast<std::ptrdiff_t>(at), ns.end());
    return ns[at] / 1000.0;
  }

  void Print(const char* name) {
    if (ns.empty()) return;
    const auto over = std::count_if(ns.begin(), ns.end(), [](uint32_t t) { return t > 1'000'000; });
    std::printf("%-10s %10zu writes: p50 %6.2f us, p99 %6.2f, p99.9 %7.2f, p99.99 %8.2f, ", name,
                ns.size(), Us(0.5), Us(0.99), Us(0.999), Us(0.9999));
    std::printf("max %8.2f; over 1 ms: %td\n", Us(1), over);
  }
};

size_t Argument(int argc, char** argv, int at, size_t otherwise) {
  return argc > at ? std::strtoull(argv[at], nullptr, 10) : otherwise;
}

}  // namespace

int main(int argc, char** argv) {
  const size_t item_count = Argument(argc, argv, 1, 10'000'000);
  const std::string value(Argument(argc, argv, 2, 16), 'v');
  const size_t memory_bytes = Argument(argc, argv, 3, 4096) << 20;
  auto store = plov::server::Store::Create({.memory_bytes = memory_bytes, .hash_seed = 1});
  if (!store) {
    std::fprintf(stderr, "%s\n", store.error().message.c_str());
    return 1;
  }
  std::array<Times, kPhases.size()> times;
  const int64_t start_ns = ThreadCpuNs();
  for (size_t i = 0; i < item_count; ++i) {
    const std::string key = "bench:" + std::to_string(i);
    plov::verify::Request request;
    request.operation = plov::verify::Operation::kPut;
    request.key = key;
    request.value = value;
    request.value_bytes = static_cast<uint32_t>(value.size());
    const auto phase = static_cast<size_t>((*store)->table().phase());
    const int64_t before_ns = ThreadCpuNs();
    const auto reply = (*store)->Write(request, 1);
    const int64_t ns = ThreadCpuNs() - before_ns;
    times[phase].ns.push_back(static_cast<uint32_t>(std::min<int64_t>(ns, UINT32_MAX)));
    if (reply.status != plov::Code::kOk) {
      std::fprintf(stderr, "PUT %zu failed: start with more memory\n", i);
      return 1;
    }
  }
  const double seconds = static_cast<double>(ThreadCpuNs() - start_ns) / 1e9;
  std::printf("%zu items of %zu bytes in %.2f s, %llu growths, %llu buckets\n", item_count,
              value.size(), seconds, static_cast<unsigned long long>((*store)->growth().growths()),
              static_cast<unsigned long long>((*store)->table().capacity()));
  for (size_t i = 0; i < kPhases.size(); ++i) times[i].Print(kPhases[i]);
  return 0;
}
