// The handshake of the shared-memory fabric, both directions, over a socket pair.
//
// Properties: a Hello that is taken is one, whole, and is sent as the same bytes; descriptors that
// come with a Welcome, wanted or not, are all owned, so none stays open.
#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <vector>

#include "fabric/os.h"
#include "fabric/shm/channel.h"
#include "tests/fuzz/input.h"

namespace plov::fuzz {
namespace {

using namespace fabric::shm;
using fabric::Fd;

constexpr size_t kFdsMax = 8;

struct Pair {
  Fd mine, theirs;
};

Pair MakePair() {
  std::array<int, 2> fds;
  Check(::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, fds.data()) == 0,
        "a socket pair");
  return {Fd(fds[0]), Fd(fds[1])};
}

// The lowest number that is free, so that a descriptor that stays open is noticed.
int LowestFree() {
  const Fd lowest(::fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 0));
  return lowest.get();
}

void TestHello(std::span<const uint8_t> bytes) {
  const Pair pair = MakePair();
  ::send(pair.theirs.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
  Hello hello;
  if (!ReceiveHello(pair.mine.get(), &hello)) return;
  Check(bytes.size() == sizeof(hello) && hello.magic == kHandshakeMagic, "a Hello is whole");
  Check(SendHello(pair.mine.get(), hello), "a Hello is sent");
  std::array<uint8_t, 2 * sizeof(hello)> again;
  const ssize_t got = ::recv(pair.theirs.get(), again.data(), again.size(), 0);
  Check(got == sizeof(hello) && std::memcmp(again.data(), bytes.data(), sizeof(hello)) == 0,
        "a Hello that is taken and sent is the same");
}

// Any bytes with any number of descriptors, in one control message or in none.
void SendAnything(int socket, std::span<const uint8_t> bytes, size_t fd_count) {
  iovec data{const_cast<uint8_t*>(bytes.data()), bytes.size()};
  alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int) * kFdsMax)> control{};
  msghdr message{};
  message.msg_iov = &data;
  message.msg_iovlen = 1;
  if (fd_count > 0) {
    message.msg_control = control.data();
    message.msg_controllen = CMSG_SPACE(sizeof(int) * fd_count);
    cmsghdr* part = CMSG_FIRSTHDR(&message);
    *part = {CMSG_LEN(sizeof(int) * fd_count), SOL_SOCKET, SCM_RIGHTS};
    std::array<int, kFdsMax> fds;
    fds.fill(STDERR_FILENO);
    std::memcpy(CMSG_DATA(part), fds.data(), sizeof(int) * fd_count);
  }
  ::sendmsg(socket, &message, MSG_NOSIGNAL);
}

void TestWelcome(std::span<const uint8_t> bytes, size_t fd_count) {
  const int free_before = LowestFree();
  {
    const Pair pair = MakePair();
    SendAnything(pair.theirs.get(), bytes, fd_count);
    HandshakeFds fds;
    const auto welcome = ReceiveWelcome(pair.mine.get(), &fds);
    if (welcome) {
      Check(bytes.size() == sizeof(*welcome) &&
                std::memcmp(bytes.data(), &*welcome, bytes.size()) == 0,
            "a Welcome is what was sent");
      Check(welcome->status != 0 || fd_count >= kHandshakeFds, "it has its descriptors");
    }
  }
  Check(LowestFree() == free_before, "no descriptor stays open");
}

}  // namespace
}  // namespace plov::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t bytes) {
  using namespace plov::fuzz;
  Input input(data, bytes);
  const auto kind = input.Take<uint8_t>();
  const auto message = input.TakeRest();
  if (kind % 2 == 0) {
    TestHello(message);
  } else {
    TestWelcome(message, kind / 2 % (kFdsMax + 1));
  }
  return 0;
}
