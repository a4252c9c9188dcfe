// A peer's server program: found, started, waited for.
#pragma once

#include <expected>
#include <functional>
#include <string>
#include <vector>

#include "program/process.h"
#include "verify/error.h"

namespace plov::bench {

struct PeerProgram {
  std::string name;     // in PATH
  std::string package;  // Debian's, that it is of
  std::vector<std::string> arguments;
};

// Starts it and calls `connect` until that says true. Errors: kUnavailable (it is not installed),
// kSystem (it ended, or did not serve in time).
std::expected<program::Process, Error> StartPeerServer(const PeerProgram& program,
                                                       const std::function<bool()>& connect);

// Whether a server listens on this Unix socket.
bool Listens(const std::string& socket);

// Runs a program to its end and returns what it printed. Errors: kUnavailable (it is not
// installed), kSystem (it failed).
std::expected<std::string, Error> OutputOf(const PeerProgram& program);

}  // namespace plov::bench
