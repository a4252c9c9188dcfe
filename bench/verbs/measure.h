// Measure: a client and a server that exchange requests and replies by one combination of verbs.
//
//   client                                    server
//     Order                    ------------>    makes memory, queue pairs
//     Introduction             ------------>    connects
//                              <------------  Introduction, or why not
//     requests, replies by the verbs under measurement, every reply checked whole
//     Stop                     ------------>
//                              <------------  Report
//
// These messages go over a stream socket; queue pairs are set up by hand with the numbers in them,
// as rdmacm knows no UC, and as the round-trip of a set-up is not what is measured.
#pragma once

#include <chrono>
#include <cstdint>
#include <expected>
#include <memory>
#include <string>

#include "bench/shared/network.h"
#include "bench/verbs/combination.h"
#include "fabric/os.h"
#include "verify/error.h"

namespace plov::bench {

// Sizes of requests and replies: words, of which the last says that it is all there.
inline constexpr uint32_t kBytesMin = 16;
inline constexpr uint32_t kBytesMax = 64 << 10;
inline constexpr uint32_t kWindowMax = 256;

struct Run {
  const Combination* combination = nullptr;
  uint32_t bytes = 0;   // of a request, and of a reply; a multiple of 8
  uint32_t window = 0;  // requests in flight
  std::chrono::microseconds duration{};
};

struct RunResult {
  uint64_t operations = 0;
  double seconds = 0;
  double median_us = 0;  // latencies, where the window is 1
  double p99_us = 0;
  double server_cpu_us = 0;  // for each operation
  double reads = 0;          // of the client, for each operation

  double rate() const { return static_cast<double>(operations) / seconds; }
};

// Threads: one. The stream is a connected socket, with a Serve at its other end.
class Measurer {
 public:
  virtual ~Measurer() = default;

  static std::expected<std::unique_ptr<Measurer>, Error> Create(const WantedDevice& wanted,
                                                                fabric::Fd stream);

  virtual std::string device() const = 0;

  // Errors: kInvalidArgument what this device, or the size, cannot do, with the reason; kCorrupt a
  // wrong reply; kTimeout a reply that never came; kUnavailable the server is gone.
  virtual std::expected<RunResult, Error> Measure(const Run& run) = 0;
};

// Serves one client, until it closes its end of the stream.
std::expected<void, Error> Serve(const WantedDevice& wanted, fabric::Fd stream);

}  // namespace plov::bench
