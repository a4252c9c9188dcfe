#include "fabric/verbs/address.h"

#include <netdb.h>
#include <netinet/in.h>

#include <charconv>
#include <cstring>
#include <future>
#include <memory>
#include <system_error>
#include <thread>

#include "fabric/verbs/verbs.h"

namespace plov::fabric::verbs {

namespace {

constexpr std::string_view kScheme = "rdma:";
constexpr std::string_view kSlashes = "//";

bool IsPort(std::string_view text) {
  uint16_t port = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), port);
  return error == std::errc() && end == text.data() + text.size() && port != 0;
}

}  // namespace

bool IsRdma(std::string_view uri) { return uri.starts_with(kScheme); }

std::expected<void, Error> Check(std::string_view uri) {
  auto parsed = ParseUri(uri);
  if (!parsed) return std::unexpected(std::move(parsed.error()));
  return {};
}

std::expected<HostPort, Error> ParseUri(std::string_view uri) {
  const auto no_address = [uri] {
    return Fail(Code::kInvalidArgument,
                "'" + std::string(uri) +
                    "' names no RDMA server: use rdma://HOST:PORT, as in rdma://10.0.0.1:7777");
  };
  std::string_view rest = uri.substr(kScheme.size());
  if (!rest.starts_with(kSlashes)) return no_address();
  rest.remove_prefix(kSlashes.size());
  const size_t colon = rest.rfind(':');
  if (colon == std::string_view::npos) return no_address();
  std::string_view host = rest.substr(0, colon);
  const std::string_view port = rest.substr(colon + 1);
  if (host.starts_with('[') && host.ends_with(']')) {
    host = host.substr(1, host.size() - 2);
  } else if (host.contains(':')) {
    return no_address();
  }
  if (host.empty() || !IsPort(port) ||
      host.find_first_of(std::string_view("/\0", 2)) != host.npos) {
    return no_address();
  }
  return HostPort{std::string(host), std::string(port)};
}

sockaddr* SocketAddress::get() { return reinterpret_cast<sockaddr*>(&storage); }

bool SocketAddress::any() const {
  if (storage.ss_family == AF_INET) {
    return reinterpret_cast<const sockaddr_in*>(&storage)->sin_addr.s_addr == htonl(INADDR_ANY);
  }
  const auto* six = reinterpret_cast<const sockaddr_in6*>(&storage);
  return std::memcmp(&six->sin6_addr, &in6addr_any, sizeof(in6addr_any)) == 0;
}

namespace {

std::expected<SocketAddress, Error> LookUp(const HostPort& name, int flags) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_NUMERICSERV | flags;
  addrinfo* found = nullptr;
  const int failed = ::getaddrinfo(name.host.c_str(), name.port.c_str(), &hints, &found);
  if (failed != 0) {
    return Fail(Code::kUnavailable, "cannot find the host " + name.host + ": " +
                                        ::gai_strerror(failed) +
                                        "; name it by its address, or mend its name");
  }
  const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> owner(found, &::freeaddrinfo);
  SocketAddress address;
  if (found->ai_addrlen > sizeof(address.storage)) {
    return Fail(Code::kInvalidArgument, name.host + " has no IP address");
  }
  std::memcpy(&address.storage, found->ai_addr, found->ai_addrlen);
  address.bytes = found->ai_addrlen;
  return address;
}

}  // namespace

// An address is found at once. A name is looked up by a thread of its own, since getaddrinfo has no
// deadline; a thread that is not waited for any more ends with the look-up.
std::expected<SocketAddress, Error> Resolve(const HostPort& name, Deadline deadline) {
  if (auto address = LookUp(name, AI_NUMERICHOST)) return address;
  std::packaged_task<std::expected<SocketAddress, Error>()> task(
      [name] { return LookUp(name, 0); });
  auto found = task.get_future();
  try {
    std::thread(std::move(task)).detach();
  } catch (const std::system_error& error) {
    return Fail(Code::kSystem, std::string("cannot start a thread: ") + error.what());
  }
  if (found.wait_until(deadline) != std::future_status::ready) {
    return Fail(Code::kTimeout, "the address of the host " + name.host +
                                    " is not found in time; name it by its address, or mend its "
                                    "name server");
  }
  return found.get();
}

}  // namespace plov::fabric::verbs
