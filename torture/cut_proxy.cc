#include "torture/cut_proxy.h"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <list>

#include "fabric/os.h"
#include "program/loopback.h"

namespace plov::torture {

namespace {

// How soon a cut, and its end, are noticed.
constexpr int kLookMs = 5;
constexpr size_t kPartBytes = size_t{64} << 10;
constexpr int kBacklog = 16;

fabric::Fd TcpSocket() {
  return fabric::Fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
}

// A host's way to one member.
struct Endpoint {
  fabric::HostId host;
  uint16_t member_port;
  fabric::Fd socket = TcpSocket();
};

// A connection through it: what came from either end, and has to go to the other.
class Pair {
 public:
  Pair(fabric::HostId host, fabric::Fd server, fabric::Fd member)
      : host_(host), ends_{End{std::move(server), {}}, End{std::move(member), {}}} {}

  fabric::HostId host() const { return host_; }

  void AddTo(std::vector<pollfd>* polled) const {
    for (const size_t i : {0U, 1U}) {
      const int in = ends_[i].came.empty() ? POLLIN : 0;
      const int out = ends_[1 - i].came.empty() ? 0 : POLLOUT;
      polled->push_back({ends_[i].socket.get(), static_cast<short>(in | out), 0});
    }
  }

  // Passes on what there is. False: an end is gone.
  bool Pass() {
    return std::ranges::all_of(std::array{0U, 1U}, [this](size_t i) {
      return Take(&ends_[i]) && Give(&ends_[i].came, ends_[1 - i].socket.get());
    });
  }

 private:
  struct End {
    fabric::Fd socket;
    std::string came;
  };

  // Also of a socket that is not connected yet.
  static bool IsLater(ssize_t done) {
    return done < 0 && (errno == EAGAIN || errno == EINTR || errno == ENOTCONN);
  }

  static bool Take(End* end) {
    if (!end->came.empty()) return true;
    std::array<char, kPartBytes> part;
    const ssize_t taken = ::recv(end->socket.get(), part.data(), part.size(), 0);
    if (taken > 0) end->came.assign(part.data(), static_cast<size_t>(taken));
    return taken > 0 || IsLater(taken);
  }

  static bool Give(std::string* came, int to) {
    if (came->empty()) return true;
    const ssize_t given = ::send(to, came->data(), came->size(), MSG_NOSIGNAL);
    if (given > 0) came->erase(0, static_cast<size_t>(given));
    return given > 0 || IsLater(given);
  }

  fabric::HostId host_;
  std::array<End, 2> ends_;
};

void Accept(const Endpoint& endpoint, std::list<Pair>* pairs) {
  fabric::Fd server(
      ::accept4(endpoint.socket.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
  if (!server) return;
  fabric::Fd member = TcpSocket();
  if (!program::ConnectLoopback(member.get(), endpoint.member_port) && errno != EINPROGRESS) return;
  pairs->emplace_back(endpoint.host, std::move(server), std::move(member));
}

[[noreturn]] void Serve(const fabric::CutTable& table, fabric::HostId ensemble,
                        const std::vector<Endpoint>& endpoints) {
  const auto passes = [&](fabric::HostId host) { return !table.IsCut(host, ensemble); };
  std::list<Pair> pairs;
  std::vector<pollfd> polled;
  for (;;) {
    polled.clear();
    for (const Endpoint& endpoint : endpoints) {
      if (passes(endpoint.host)) polled.push_back({endpoint.socket.get(), POLLIN, 0});
    }
    for (const Pair& pair : pairs) {
      if (passes(pair.host())) pair.AddTo(&polled);
    }
    ::poll(polled.data(), polled.size(), kLookMs);
    for (const Endpoint& endpoint : endpoints) {
      if (passes(endpoint.host)) Accept(endpoint, &pairs);
    }
    std::erase_if(pairs, [&](Pair& pair) { return passes(pair.host()) && !pair.Pass(); });
  }
}

}  // namespace

std::expected<CutProxy, Error> CutProxy::Start(const fabric::CutTable* table,
                                               fabric::HostId ensemble,
                                               const std::vector<uint16_t>& member_ports) {
  std::vector<Endpoint> endpoints;
  std::vector<std::string> uris;
  for (fabric::HostId host = 0; host < ensemble; ++host) {
    std::string& uri = uris.emplace_back("zk://");
    for (const uint16_t member_port : member_ports) {
      const Endpoint& endpoint = endpoints.emplace_back(host, member_port);
      const auto port = program::BindLoopback(endpoint.socket.get());
      if (!port || ::listen(endpoint.socket.get(), kBacklog) != 0) {
        return FailErrno("cannot listen on 127.0.0.1", errno);
      }
      uri += (uri.ends_with('/') ? "127.0.0.1:" : ",127.0.0.1:") + std::to_string(*port);
    }
  }
  auto process = program::Process::Fork([&]() -> int { Serve(*table, ensemble, endpoints); });
  if (!process) return std::unexpected(process.error());
  return CutProxy(std::move(uris), std::move(*process));
}

}  // namespace plov::torture
