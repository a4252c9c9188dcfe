// A program that has closed its standard files, as a daemon may: what it prints all the same does not
// go into a connection or the client's memory.

#include <gtest/gtest.h>
#include <unistd.h>

#include <cerrno>
#include <string>

#include "tests/support/child.h"
#include "tests/support/plovd.h"

namespace plov {
namespace {

TEST(StandardFiles, ThatAreClosedAreNotTheClients) {
  test::Plovd server({"--memory", "64M"});
  auto child = test::Child::Fork([&server] {
    for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) ::close(fd);
    Client client = server.Connect();
    const std::string large(100'000, 'v');
    const bool stored = client.Put("large", large).has_value();
    const bool written = ::write(STDOUT_FILENO, "printed", 7) >= 0 || errno != EBADF;
    [[maybe_unused]] const ssize_t lost = ::write(STDERR_FILENO, "printed", 7);
    const auto got = client.Get("large");
    return stored && !written && got && *got && (*got)->value == large ? 0 : 1;
  });
  EXPECT_EQ(child.Wait(), 0);
}

}  // namespace
}  // namespace plov
