#include "cluster/zk/addresses.h"

#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <array>
#include <charconv>
#include <memory>
#include <optional>
#include <set>

#include "cluster/paths.h"
#include "fabric/os.h"

namespace plov::cluster::zk {

namespace {

constexpr std::string_view kPort = "2181";

bool IsPort(std::string_view text) {
  uint16_t port = 0;
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), port);
  return failure == std::errc() && end == text.data() + text.size() && port != 0;
}

// NAME, NAME:PORT, [ADDRESS], [ADDRESS]:PORT.
std::optional<Host> ParseHost(std::string_view text) {
  Host host;
  std::string_view rest;
  if (text.starts_with('[')) {
    const size_t end = text.find(']');
    if (end == std::string_view::npos) return std::nullopt;
    host.name = text.substr(1, end - 1);
    rest = text.substr(end + 1);
  } else {
    host.name = text.substr(0, text.find(':'));
    rest = text.substr(host.name.size());
  }
  const bool has_port = rest.starts_with(':');
  if (!has_port && !rest.empty()) return std::nullopt;
  host.port = has_port ? rest.substr(1) : kPort;
  if (host.name.empty() || !IsPort(host.port)) return std::nullopt;
  return host;
}

bool HasFamily(int family) {
  return static_cast<bool>(fabric::Fd(::socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0)));
}

std::string Numeric(const addrinfo& info) {
  std::array<char, NI_MAXHOST> host;
  std::array<char, NI_MAXSERV> port;
  const int failure = ::getnameinfo(info.ai_addr, info.ai_addrlen, host.data(), host.size(),
                                    port.data(), port.size(), NI_NUMERICHOST | NI_NUMERICSERV);
  return failure != 0 ? "" : std::string(host.data()) + ":" + port.data();
}

}  // namespace

std::expected<Place, Error> ParsePlace(std::string_view place) {
  const auto fail = [place](std::string_view why) {
    return Fail(Code::kInvalidArgument, "zk://" + std::string(place) + ": " + std::string(why) +
                                            ": zk://HOST[:PORT],.../ROOT");
  };
  const size_t slash = place.find('/');
  if (slash == std::string_view::npos) return fail("has no root, as in /plov/NAME");
  Place parsed{{}, std::string(place.substr(slash))};
  if (!CheckPath(parsed.root.substr(1))) return fail("its root is not a path");
  std::string_view hosts = place.substr(0, slash);
  while (true) {
    const size_t comma = hosts.find(',');
    const auto host = ParseHost(hosts.substr(0, comma));
    if (!host) return fail("\"" + std::string(hosts.substr(0, comma)) + "\" is not a host");
    parsed.hosts.push_back(*host);
    if (comma == std::string_view::npos) return parsed;
    hosts.remove_prefix(comma + 1);
  }
}

std::expected<std::string, Error> LookUp(const std::vector<Host>& hosts) {
  std::set<std::string> known;
  std::string addresses;
  std::string why;
  Code code = Code::kInvalidArgument;
  for (const Host& host : hosts) {
    addrinfo hints{};
    hints.ai_socktype = SOCK_STREAM;
    addrinfo* found = nullptr;
    const int failure = ::getaddrinfo(host.name.c_str(), host.port.c_str(), &hints, &found);
    if (failure != 0) {
      if (failure == EAI_AGAIN) code = Code::kUnavailable;  // the name service does not answer now
      why += (why.empty() ? "" : "; ") + host.name + ": " + ::gai_strerror(failure);
      continue;
    }
    const std::unique_ptr<addrinfo, void (*)(addrinfo*)> owner(found, ::freeaddrinfo);
    for (const addrinfo* info = found; info != nullptr; info = info->ai_next) {
      const std::string address = Numeric(*info);
      if (address.empty() || !HasFamily(info->ai_family)) continue;
      if (known.insert(address).second) addresses += (addresses.empty() ? "" : ",") + address;
    }
  }
  if (!addresses.empty()) return addresses;
  return Fail(code, "no server of the ZooKeeper ensemble has an address: " +
                        (why.empty() ? "this machine has none of their address families" : why));
}

}  // namespace plov::cluster::zk
