// A socket that somebody listens on before plovd runs, and passes to it.

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <future>
#include <sstream>
#include <string>

#include "fabric/os.h"
#include "tests/support/plovd.h"
#include "tests/support/probe.h"

namespace plov {
namespace {

using test::Child;
using ::testing::HasSubstr;

class Activation : public ::testing::Test {
 protected:
  // A socket that listens at a path of the test's folder.
  fabric::Fd Listen(const std::string& path, int type = SOCK_SEQPACKET) const {
    fabric::Fd socket(::socket(AF_UNIX, type | SOCK_CLOEXEC, 0));
    sockaddr_un address{.sun_family = AF_UNIX, .sun_path = {}};
    path.copy(address.sun_path, sizeof(address.sun_path) - 1);
    ::unlink(path.c_str());
    EXPECT_EQ(::bind(socket.get(), reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
    EXPECT_EQ(::listen(socket.get(), 16), 0);
    return socket;
  }
  // Starts plovd as a service manager does, with this descriptor as its first.
  Child Start(int fd) const {
    return Child::Fork([this, fd] {
      if (fd == 3) {
        ::fcntl(3, F_SETFD, 0);
      } else {
        ::dup2(fd, 3);
      }
      ::setenv("LISTEN_FDS", "1", 1);
      ::setenv("LISTEN_PID", std::to_string(::getpid()).c_str(), 1);
      const int output = ::open(log_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
      ::dup2(output, 1);
      ::dup2(output, 2);
      const std::string plovd = test::PlovdPath();
      return ::execl(plovd.c_str(), plovd.c_str(), "--listen", uri_.c_str(), "--memory", "64M",
                     static_cast<char*>(nullptr));
    });
  }
  std::string Log() const {
    std::ifstream file(log_);
    std::ostringstream text;
    text << file.rdbuf();
    return text.str();
  }

  test::TemporaryFolder folder_;
  const std::string path_ = folder_.path() + "/s.sock";
  const std::string uri_ = "shm:" + path_;
  const std::string log_ = folder_.path() + "/log";
};

TEST_F(Activation, WhoConnectedBeforeTheServerRanIsServed) {
  const fabric::Fd socket = Listen(path_);
  auto early = std::async(std::launch::async, [this] {
    auto client = Client::Connect(uri_, {.timeout = std::chrono::seconds(60)});
    return client && client->Put("k", "v");
  });
  Child server = Start(socket.get());
  EXPECT_TRUE(early.get()) << Log();
  server.Signal(SIGTERM);
  EXPECT_EQ(server.Wait(), 0);
}

TEST_F(Activation, TheNameStaysAndServesTheNextServer) {
  const fabric::Fd socket = Listen(path_);
  for (const int signal : {SIGTERM, SIGKILL, SIGTERM}) {
    Child server = Start(socket.get());
    auto client = Client::Connect(uri_, {.timeout = std::chrono::seconds(60)});
    ASSERT_TRUE(client) << client.error().message << Log();
    EXPECT_TRUE(client->Put("k", "v"));
    server.Signal(signal);
    server.Wait();
    EXPECT_TRUE(std::filesystem::exists(path_));
  }
}

// It has no lock while no server runs, and yet nobody may take its name.
TEST_F(Activation, AHeldNameIsNobodyElses) {
  const fabric::Fd socket = Listen(path_);
  Child other = Child::Exec({test::PlovdPath(), "--listen", uri_, "--memory", "64M"}, log_);
  EXPECT_EQ(other.Wait(), 3);
  EXPECT_THAT(Log(), HasSubstr("somebody listens on " + path_));
  EXPECT_TRUE(std::filesystem::exists(path_));
}

TEST_F(Activation, TwoServersDoNotShareASocket) {
  const fabric::Fd socket = Listen(path_);
  Child server = Start(socket.get());
  auto client = Client::Connect(uri_, {.timeout = std::chrono::seconds(60)});
  ASSERT_TRUE(client) << Log();
  Child second = Start(socket.get());
  EXPECT_EQ(second.Wait(), 3);
  EXPECT_THAT(Log(), HasSubstr("another plovd serves"));
  EXPECT_TRUE(client->Put("k", "v"));
}

TEST_F(Activation, WhatIsForeignIsNamed) {
  const fabric::Fd removed = Listen(path_);
  ASSERT_EQ(::unlink(path_.c_str()), 0);
  Child nobody_finds = Start(removed.get());
  EXPECT_EQ(nobody_finds.Wait(), 3);
  EXPECT_THAT(Log(), HasSubstr("which is not there any more: restart the socket unit"));
  const fabric::Fd elsewhere = Listen(folder_.path() + "/other");
  const fabric::Fd stream = Listen(path_, SOCK_STREAM);
  const fabric::Fd file(::open(folder_.path().c_str(), O_RDONLY | O_CLOEXEC));
  const fabric::Fd deaf(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
  const fabric::Fd internet(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  for (const auto& [fd, why] :
       {std::pair(elsewhere.get(), "which is no --listen of it"),
        std::pair(stream.get(), "is not a sequential-packet socket"),
        std::pair(file.get(), "is not a socket"), std::pair(deaf.get(), "has no path"),
        std::pair(internet.get(), "is no Unix socket")}) {
    Child server = Start(fd);
    EXPECT_EQ(server.Wait(), 3);
    EXPECT_THAT(Log(), HasSubstr(why));
  }
}

}  // namespace
}  // namespace plov
