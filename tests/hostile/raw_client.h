// A client that has shaken hands over shared memory and does no more of what is expected of it.
#pragma once

#include <sys/socket.h>
#include <sys/un.h>

#include <stdexcept>
#include <vector>

#include "fabric/random.h"
#include "fabric/shm/channel.h"
#include "tests/support/plovd.h"
#include "verify/superblock.h"

namespace plov {

class RawClient {
 public:
  // Maps every page that the server gives; with PROT_WRITE those that may be written only.
  RawClient(const test::Plovd& server, int protection)
      : socket_(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0)) {
    sockaddr_un address{.sun_family = AF_UNIX, .sun_path = {}};
    server.uri().substr(4).copy(address.sun_path, sizeof(address.sun_path) - 1);
    fabric::shm::HandshakeFds fds;
    if (::connect(socket_.get(), reinterpret_cast<sockaddr*>(&address), sizeof(address)) != 0 ||
        !fabric::shm::SendHello(
            socket_.get(),
            {fabric::shm::kHandshakeMagic, verify::kFormatVersion, 0, 0, fabric::RandomId()}) ||
        !fabric::shm::ReceiveWelcome(socket_.get(), &fds)) {
      throw std::runtime_error("the server does not welcome a client");
    }
    for (const fabric::Fd& fd : fds) {
      const auto bytes = static_cast<size_t>(::lseek(fd.get(), 0, SEEK_END));
      auto pages = fabric::Mapping::Map(fd.get(), bytes, protection);
      if (pages) pages_.push_back(std::move(*pages));
    }
  }

  const std::vector<fabric::Mapping>& pages() const { return pages_; }

 private:
  fabric::Fd socket_;
  std::vector<fabric::Mapping> pages_;
};

}  // namespace plov
