// What a client that keeps to nothing finds in the pages that it can map.

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "fabric/shm/channel.h"
#include "tests/support/plovd.h"
#include "verify/superblock.h"

namespace plov {
namespace {

using fabric::Fd;
using fabric::Mapping;
namespace shm = fabric::shm;

// Every page that a server gives to a client.
std::vector<Mapping> MapAllOf(const test::Plovd& server) {
  const Fd socket(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
  sockaddr_un address{.sun_family = AF_UNIX, .sun_path = {}};
  server.uri().substr(4).copy(address.sun_path, sizeof(address.sun_path) - 1);
  EXPECT_EQ(::connect(socket.get(), reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
  shm::SendHello(socket.get(), {shm::kHandshakeMagic, verify::kFormatVersion, 0, 1});
  shm::HandshakeFds fds;
  EXPECT_TRUE(shm::ReceiveWelcome(socket.get(), &fds));
  std::vector<Mapping> pages;
  for (const Fd& fd : fds) {
    const auto bytes = static_cast<size_t>(::lseek(fd.get(), 0, SEEK_END));
    pages.push_back(std::move(*Mapping::Map(fd.get(), bytes, PROT_READ)));
  }
  return pages;
}

struct Range {
  uint64_t begin, end;
};

// Where the server's memory is, less what no address of a program that is loaded anywhere is in and
// the reservations of sanitizers.
std::vector<Range> MapsOf(pid_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/maps");
  std::vector<Range> ranges;
  for (std::string line; std::getline(file, line);) {
    Range range{};
    char dash;
    std::istringstream(line) >> std::hex >> range.begin >> dash >> range.end;
    const bool is_program = range.begin >> 32 != 0 && range.end - range.begin < uint64_t{1} << 40;
    if (is_program) ranges.push_back(range);
  }
  return ranges;
}

size_t AddressesIn(const Mapping& pages, const std::vector<Range>& ranges) {
  size_t count = 0;
  for (size_t at = 0; at + sizeof(uint64_t) <= pages.bytes().size(); at += sizeof(uint64_t)) {
    uint64_t word;
    std::memcpy(&word, pages.bytes().data() + at, sizeof(word));
    count += static_cast<size_t>(std::ranges::count_if(
        ranges, [word](const Range& range) { return word >= range.begin && word < range.end; }));
  }
  return count;
}

TEST(SharedPages, HoldNoAddressOfTheServer) {
  test::Plovd server({"--memory", "32M"});
  Client client = server.Connect();
  for (int i = 0; i < 2000; ++i) ASSERT_TRUE(client.Put("key" + std::to_string(i), "a value"));
  ASSERT_TRUE(client.Put("large", std::string(1 << 20, 'v')));
  ASSERT_TRUE(client.Get("large") && client.Delete("key7"));
  const std::vector<Mapping> all = MapAllOf(server);
  const std::vector<Range> ranges = MapsOf(server.pid());
  ASSERT_FALSE(ranges.empty());
  for (const Mapping& pages : all) EXPECT_EQ(AddressesIn(pages, ranges), 0);
}

}  // namespace
}  // namespace plov
