// Damaged memory: bytes of the server changed behind its back, through /proc/PID/mem.

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>
#include <optional>

#include "tests/support/plovd.h"

namespace plov {
namespace {

using test::Plovd;

// The server's region as another process may write it; nullopt where the kernel does not let us.
class Memory {
 public:
  static std::optional<Memory> Open(pid_t pid) {
    const std::string process = "/proc/" + std::to_string(pid);
    std::ifstream maps(process + "/maps");
    for (std::string line; std::getline(maps, line);) {
      if (line.find("memfd:plov-region") == std::string::npos) continue;
      const size_t dash = line.find('-');
      const int fd = ::open((process + "/mem").c_str(), O_RDWR | O_CLOEXEC);
      if (fd < 0) return std::nullopt;
      return Memory(fd, std::stoull(line, nullptr, 16),
                    std::stoull(line.substr(dash + 1), nullptr, 16));
    }
    return std::nullopt;
  }

  // The address of the only occurrence of `text` under a mask, which repeats every 8 bytes; 0 when
  // there is none or another.
  uint64_t Find(const std::string& text) const {
    std::string bytes(end_ - begin_, '\0');
    if (::pread(fd_, bytes.data(), bytes.size(), static_cast<off_t>(begin_)) !=
        static_cast<ssize_t>(bytes.size())) {
      return 0;
    }
    const std::string found = Steps(bytes);
    const std::string wanted = Steps(text);
    const size_t at = found.find(wanted);
    if (at == std::string::npos || found.find(wanted, at + 1) != std::string::npos) return 0;
    return begin_ + at;
  }

  bool FlipByte(uint64_t address) const {
    char byte = 0;
    if (::pread(fd_, &byte, 1, static_cast<off_t>(address)) != 1) return false;
    byte = static_cast<char>(byte ^ 1);
    return ::pwrite(fd_, &byte, 1, static_cast<off_t>(address)) == 1;
  }

 private:
  Memory(int fd, uint64_t begin, uint64_t end) : fd_(fd), begin_(begin), end_(end) {}

  // What no mask changes: each byte XORed with the one 8 bytes later.
  static std::string Steps(const std::string& bytes) {
    std::string steps;
    for (size_t i = 0; i + 8 < bytes.size(); ++i) {
      steps += static_cast<char>(bytes[i] ^ bytes[i + 8]);
    }
    return steps;
  }

  int fd_;
  uint64_t begin_;
  uint64_t end_;
};

bool StatIsZero(Client* client, const std::string& name) {
  return client->ServerStats()->at(0).find("\n" + name + " 0\n") != std::string::npos;
}

void ExpectDamageIsSaid(const std::string& value) {
  const Plovd server({"--memory", "16M"});
  Client client = server.Connect({.timeout = std::chrono::seconds(20)});
  ASSERT_TRUE(client.Put("damaged", value));
  ASSERT_TRUE(client.Put("beside", "whole"));
  ASSERT_EQ((*client.Get("damaged"))->value, value);
  const auto memory = Memory::Open(server.pid());
  if (!memory) GTEST_SKIP() << "the kernel does not let a process write another's memory";
  const uint64_t address = memory->Find(value);
  ASSERT_NE(address, 0);
  ASSERT_TRUE(memory->FlipByte(address + value.size() / 2));
  EXPECT_EQ(client.Get("damaged").error().code, Code::kCorrupt);
  EXPECT_EQ((*client.Get("beside"))->value, "whole");
  EXPECT_FALSE(StatIsZero(&client, "corrupt"));
  EXPECT_EQ(client.stats().corrupt, 1);
  ASSERT_TRUE(memory->FlipByte(address + value.size() / 2));
  EXPECT_EQ((*client.Get("damaged"))->value, value) << "whole again";
}

TEST(Damage, OfARecordIsSaidAndNeverReturned) {
  ExpectDamageIsSaid("a value long enough to live in a record of its own, " + std::string(80, '.'));
}

TEST(Damage, OfABucketIsSaidAndNeverTakenForAbsence) {
  ExpectDamageIsSaid("a value that is inline");
}

}  // namespace
}  // namespace plov
