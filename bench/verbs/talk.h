// Talk: what client and server say to each other over the stream beside the measurement.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <expected>
#include <type_traits>

#include "bench/verbs/endpoint.h"
#include "fabric/os.h"
#include "verify/error.h"

namespace plov::bench {

// Changes whenever anything here does.
inline constexpr uint64_t kTalkMagic = 0x0100626e65627670;  // "pvbenb\0\1"

struct Order {
  uint64_t magic = kTalkMagic;
  uint32_t combination = 0;  // its index in kCombinations
  uint32_t bytes = 0;
  uint32_t window = 0;
  uint32_t zero = 0;
};
static_assert(sizeof(Order) == 24);

// How something went; the text, ended by a zero, says why not.
struct WireOutcome {
  uint32_t code = 0;  // a Code; 0 is success
  uint32_t zero = 0;
  std::array<char, 248> text{};
};
static_assert(sizeof(WireOutcome) == 256);

struct Answer {
  WireOutcome outcome;
  Introduction introduction;
};
static_assert(sizeof(Answer) == 304);

struct Stop {
  uint64_t magic = kTalkMagic;
};

struct Report {
  WireOutcome outcome;
  uint64_t replies = 0;
  uint64_t cpu_ns = 0;  // of the server's process, from its answer to the Stop
};
static_assert(sizeof(Report) == 272);

WireOutcome WireOutcomeOf(const std::expected<void, Error>& outcome);
std::expected<void, Error> OutcomeOf(const WireOutcome& outcome);

// Threads: one.
class Stream {
 public:
  explicit Stream(fabric::Fd socket) : socket_(std::move(socket)) {}

  template <typename Message>
  std::expected<void, Error> Send(const Message& message) {
    static_assert(std::is_trivially_copyable_v<Message>);
    return SendBytes(std::as_bytes(std::span(&message, 1)));
  }
  // kUnavailable: the peer has closed its end; kTimeout.
  template <typename Message>
  std::expected<Message, Error> Receive(std::chrono::milliseconds limit) {
    static_assert(std::is_trivially_copyable_v<Message>);
    Message message;
    auto received = ReceiveBytes(std::as_writable_bytes(std::span(&message, 1)), limit);
    if (!received) return std::unexpected(received.error());
    return message;
  }
  // Waits until there is something to receive; a system call.
  bool Wait(std::chrono::milliseconds limit) const;

 private:
  std::expected<void, Error> SendBytes(std::span<const std::byte> bytes);
  std::expected<void, Error> ReceiveBytes(std::span<std::byte> bytes,
                                          std::chrono::milliseconds limit);

  fabric::Fd socket_;
};

}  // namespace plov::bench
