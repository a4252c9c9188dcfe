#include "bench/verbs/talk.h"

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace plov::bench {

WireOutcome WireOutcomeOf(const std::expected<void, Error>& outcome) {
  WireOutcome wire;
  if (outcome) return wire;
  wire.code = static_cast<uint32_t>(outcome.error().code);
  const std::string& text = outcome.error().message;
  std::memcpy(wire.text.data(), text.data(), std::min(text.size(), wire.text.size() - 1));
  return wire;
}

std::expected<void, Error> OutcomeOf(const WireOutcome& outcome) {
  if (outcome.code == 0) return {};
  const size_t length = ::strnlen(outcome.text.data(), outcome.text.size());
  return Fail(static_cast<Code>(outcome.code), std::string(outcome.text.data(), length));
}

bool Stream::Wait(std::chrono::milliseconds limit) const {
  pollfd poll_fd{socket_.get(), POLLIN, 0};
  return ::poll(&poll_fd, 1, static_cast<int>(limit.count())) == 1;
}

std::expected<void, Error> Stream::SendBytes(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t sent = ::send(socket_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0) return Fail(Code::kUnavailable, "the other side is gone");
    bytes = bytes.subspan(static_cast<size_t>(sent));
  }
  return {};
}

std::expected<void, Error> Stream::ReceiveBytes(std::span<std::byte> bytes,
                                                std::chrono::milliseconds limit) {
  while (!bytes.empty()) {
    if (!Wait(limit)) return Fail(Code::kTimeout, "the other side does not answer");
    const ssize_t received = ::recv(socket_.get(), bytes.data(), bytes.size(), 0);
    if (received < 0 && errno == EINTR) continue;
    if (received <= 0) return Fail(Code::kUnavailable, "the other side is gone");
    bytes = bytes.subspan(static_cast<size_t>(received));
  }
  return {};
}

}  // namespace plov::bench
