// The file of plovd's --config.
//
// Property: options that are accepted are within what plovd(8) allows, and so is every size and
// duration by itself.
#include <unistd.h>

#include <array>
#include <string>

#include "fabric/os.h"
#include "server/options.h"
#include "tests/fuzz/input.h"
#include "verify/quantity.h"
#include "verify/record.h"
#include "verify/superblock.h"

namespace plov::fuzz {
namespace {

void CheckOptions(const server::Options& options) {
  const server::ServerOptions& server = options.server;
  Check(server.shards.count >= 1 && server.shards.count <= server::kServerShardsMax, "--shards");
  Check(server.PartOf(server.memory_bytes) >= size_t{16} << 20, "--memory per shard");
  Check(server.bucket_bytes == 0 || server.bucket_bytes == 64 || server.bucket_bytes == 128,
        "--bucket-bytes");
  Check(server.value_bytes_max >= 1 && server.value_bytes_max <= verify::kValueBytesMax,
        "--max-value");
  Check(server.spin_us <= 1'000'000, "--spin-us");
  Check(!server.uris.empty(), "--listen");
  constexpr uint64_t kMiB = uint64_t{1} << 20;
  const server::LogOptions& log = server.log;
  Check(log.segment_bytes >= kMiB && log.segment_bytes <= 1024 * kMiB, "--log-segment");
  Check(log.buffer_bytes >= kMiB && log.buffer_bytes <= 1024 * kMiB, "--log-buffer");
  Check(log.interval.count() >= 1000, "--log-interval");
  Check(log.snapshots.rate_bytes >= kMiB && log.snapshots.keep >= 1, "--snapshot-*");
}

void TestConfig(std::string_view text) {
  auto file = fabric::CreateMemory("plov-fuzz-config", text.size());
  Check(file.has_value(), "a file");
  Check(::pwrite(file->get(), text.data(), text.size(), 0) == static_cast<ssize_t>(text.size()),
        "its text");
  const std::string option = "--config=/proc/self/fd/" + std::to_string(file->get());
  const std::array<const char*, 2> arguments = {"plovd", option.c_str()};
  const auto options = server::ParseOptions(static_cast<int>(arguments.size()), arguments.data());
  if (options) {
    if (options->action == server::Options::Action::kServe) CheckOptions(*options);
  } else {
    Check(options.error().code == Code::kInvalidArgument, "it is the user's error");
    Check(!options.error().message.empty(), "it says what is wrong");
  }
}

void TestQuantities(std::string_view text) {
  if (const auto size = ParseSize(text)) {
    const auto plain = ParseSize(std::to_string(*size));
    Check(plain && *plain == *size, "a size is so many bytes");
  }
  if (const auto duration = ParseDuration(text)) {
    Check(duration->count() >= 0, "a duration is not negative");
    const auto plain = ParseDuration(std::to_string(duration->count()) + "us");
    Check(plain && *plain == *duration, "a duration is so many microseconds");
  }
}

}  // namespace
}  // namespace plov::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t bytes) {
  using namespace plov::fuzz;
  TestConfig(TextOf({data, bytes}));
  TestQuantities(TextOf({data, bytes}));
  return 0;
}
