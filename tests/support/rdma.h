// What tests ask of the machine's RDMA, by the rdma program of iproute2.
#pragma once

#include <array>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

namespace plov::test {

// Whether the tests' servers listen on RDMA (plovd.cc), and what to say where they do not.
inline bool OverRdma() {
  return std::getenv("PLOV_TEST_RDMA") != nullptr && std::getenv("PLOV_RDMA_ADDRESS") != nullptr;
}
inline constexpr const char* kNoRdma =
    "NO RDMA: run with PLOV_TEST_RDMA=1 in a virtual machine that has it, tests/vm.sh";

// What a command of the shell writes to its standard output.
inline std::string OutputOf(const std::string& command) {
  FILE* output = ::popen(command.c_str(), "r");
  std::string text;
  std::array<char, 4096> piece;
  while (output != nullptr && std::fgets(piece.data(), piece.size(), output) != nullptr) {
    text += piece.data();
  }
  if (output != nullptr) ::pclose(output);
  return text;
}

// How many reliable queue pairs the machine has, of whatever process: two for each connection
// inside it.
inline size_t QueuePairs() {
  const std::string listing = OutputOf("rdma resource show qp");
  constexpr std::string_view kReliable = " type RC ";
  size_t count = 0;
  for (size_t at = listing.find(kReliable); at != std::string::npos;
       at = listing.find(kReliable, at + 1)) {
    ++count;
  }
  return count;
}

}  // namespace plov::test
