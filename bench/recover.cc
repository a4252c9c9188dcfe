// How fast a server takes over the memory that a former one left: items a second, one core.
//
//   recover [ITEMS [VALUE_BYTES [FOLDER]]]      (4000000 64 /dev/shm)
//
// Writes ITEMS items of 16-byte keys into a warm file in FOLDER, closes it, and times Store::Create
// on it three times. The thread's own CPU time as well, so that what the host takes away can be
// told. Reports, and fails only when not every item comes back.
#include <fmt/core.h>
#include <unistd.h>

#include <cstdlib>
#include <string>

#include "bench/load/clock.h"
#include "server/store.h"

namespace {

using plov::bench::NowNs;
using plov::bench::ThreadCpuNs;
using plov::server::Store;
using plov::server::StoreOptions;

double SecondsOf(int64_t ns) { return static_cast<double>(ns) / 1e9; }

bool Fill(const StoreOptions& options, uint64_t item_count, size_t value_bytes) {
  const auto store = Store::Create(options);
  if (!store) {
    fmt::print(stderr, "recover: {}\n", store.error().message);
    return false;
  }
  const std::string value(value_bytes, 'v');
  for (uint64_t i = 0; i < item_count; ++i) {
    const std::string key = fmt::format("item{:012}", i);
    plov::verify::Request request;
    request.operation = plov::verify::Operation::kPut;
    request.key = key;
    request.value = value;
    request.value_bytes = static_cast<uint32_t>(value_bytes);
    if ((*store)->Write(request, 1).status != plov::Code::kOk) return false;
  }
  const auto& table = (*store)->table();
  fmt::print(
      "{} items of 16+{} bytes in {} buckets, {:.0f} % displaced\n", item_count, value_bytes,
      table.capacity(),
      100.0 * static_cast<double>(table.stats().displaced) / static_cast<double>(item_count));
  return true;
}

// Whether every item came back.
bool Recover(const StoreOptions& options, uint64_t item_count) {
  const int64_t wall_ns = NowNs(), cpu_ns = ThreadCpuNs();
  const auto store = Store::Create(options);
  const double wall_s = SecondsOf(NowNs() - wall_ns);
  const double cpu_s = SecondsOf(ThreadCpuNs() - cpu_ns);
  if (!store || (*store)->recovery().items != item_count) return false;
  const auto count = static_cast<double>(item_count);
  fmt::print("recovered in {:.3f} s: {:.2f} million items/s; by CPU time {:.3f} s: {:.2f}\n",
             wall_s, count / wall_s / 1e6, cpu_s, count / cpu_s / 1e6);
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  const uint64_t item_count = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 4'000'000;
  const size_t value_bytes = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 64;
  const std::string folder = argc > 3 ? argv[3] : "/dev/shm";
  const std::string path = fmt::format("{}/plov-recover-{}", folder, ::getpid());
  // Records, and while the table grows two of them.
  const size_t memory_bytes = (item_count * (320 + value_bytes)) + (size_t{64} << 20);
  const StoreOptions options{.memory_bytes = memory_bytes, .hash_seed = 1, .warm_path = path};
  bool right = Fill(options, item_count, value_bytes);
  for (int i = 0; right && i < 3; ++i) right = Recover(options, item_count);
  ::unlink(path.c_str());
  if (!right) fmt::print(stderr, "recover: not every item was stored and came back\n");
  return right ? 0 : 3;
}
