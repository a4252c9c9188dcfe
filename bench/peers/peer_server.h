// Programs of others: found, started, waited for, or run to their end.
#pragma once

#include <cstdint>
#include <expected>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "program/process.h"
#include "verify/error.h"

namespace plov::bench {

struct PeerProgram {
  std::string name;     // in PATH
  std::string package;  // Debian's, that it is of
  std::vector<std::string> arguments = {};
};

// Starts it; what it writes goes nowhere. Errors: kUnavailable (it is not installed), kSystem.
std::expected<program::Process, Error> StartProgram(const PeerProgram& program);

// The same, and calls `connect` until that says true. kSystem: it ended, or did not serve in time.
std::expected<program::Process, Error> StartPeerServer(const PeerProgram& program,
                                                       const std::function<bool()>& connect);

// A peer's server, and what memory it took when it was empty.
class PeerServer {
 public:
  explicit PeerServer(program::Process process)
      : process_(std::move(process)), empty_bytes_(process_.ResidentBytes()) {}

  // More than when it was empty.
  uint64_t memory_bytes() const { return process_.ResidentBytes() - empty_bytes_; }

 private:
  program::Process process_;
  uint64_t empty_bytes_;
};

// Whether a server listens on this Unix socket.
bool Listens(const std::string& socket);

// Runs a program to its end and returns what it printed. Errors: kUnavailable (it is not
// installed), kSystem (it failed, with the end of what it printed), kTimeout (five minutes).
std::expected<std::string, Error> OutputOf(const PeerProgram& program);

}  // namespace plov::bench
