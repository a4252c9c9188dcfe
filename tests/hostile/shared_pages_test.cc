// What a client that keeps to nothing finds in the pages that it can map.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "tests/hostile/raw_client.h"
#include "tests/support/plovd.h"
#include "tests/support/sanitizers.h"

namespace plov {
namespace {

using fabric::Mapping;

struct Range {
  uint64_t begin, end;
};

// No address of a program that is loaded anywhere is below. Under a sanitizer these are 80 TiB: its
// shadow, in pieces of any size, lies where a bucket's directory and version read as one word.
constexpr uint64_t kProgramsBegin = test::kSanitized ? uint64_t{80} << 40 : uint64_t{1} << 32;

// Where the server's memory is, in ascending order: what it can read, which reservations are not.
std::vector<Range> MapsOf(pid_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/maps");
  std::vector<Range> ranges;
  for (std::string line; std::getline(file, line);) {
    Range range{};
    char dash;
    std::string access;
    std::istringstream(line) >> std::hex >> range.begin >> dash >> range.end >> access;
    if (range.begin >= kProgramsBegin && access.starts_with("r")) ranges.push_back(range);
  }
  return ranges;
}

size_t AddressesIn(const Mapping& pages, const std::vector<Range>& ranges) {
  size_t count = 0;
  for (size_t at = 0; at + sizeof(uint64_t) <= pages.bytes().size(); at += sizeof(uint64_t)) {
    uint64_t word;
    std::memcpy(&word, pages.bytes().data() + at, sizeof(word));
    if (word < ranges.front().begin || word >= ranges.back().end) continue;
    count += static_cast<size_t>(std::ranges::count_if(
        ranges, [word](const Range& range) { return word >= range.begin && word < range.end; }));
  }
  return count;
}

size_t AddressesInPagesOfAServer() {
  test::Plovd server({"--memory", "32M"});
  Client client = server.Connect();
  for (int i = 0; i < 2000; ++i) EXPECT_TRUE(client.Put("key" + std::to_string(i), "a value"));
  EXPECT_TRUE(client.Put("large", std::string(1 << 20, 'v')));
  EXPECT_TRUE(client.Get("large") && client.Delete("key7"));
  const RawClient hostile(server, PROT_READ);
  const std::vector<Range> ranges = MapsOf(server.pid());
  if (ranges.empty()) throw std::runtime_error("the server has no memory");
  size_t count = 0;
  for (const Mapping& pages : hostile.pages()) count += AddressesIn(pages, ranges);
  return count;
}

// One in many servers has a checksum or masked bytes that look like an address; what is one is in
// each.
TEST(SharedPages, HoldNoAddressOfTheServer) {
  size_t least = SIZE_MAX;
  for (int i = 0; i < 3 && least > 0; ++i) least = std::min(least, AddressesInPagesOfAServer());
  EXPECT_EQ(least, 0);
}

}  // namespace
}  // namespace plov
