// Combinations: the ways in which a client's request and a server's reply can travel over RDMA.
//
// What they mean: Kalia, Kaminsky, Andersen, "Using RDMA Efficiently for Key-Value Services" (HERD,
// SIGCOMM 2014), sections 3.2 and 4, and "Design Guidelines for High Performance RDMA Systems"
// (USENIX ATC 2016). In each, request and reply have the same size.
#pragma once

#include <algorithm>
#include <array>
#include <string_view>

namespace plov::bench {

// How a message travels.
enum class By {
  kNothing,  // there is none: the client READs
  kSend,
  kWrite,     // into the receiver's memory, which it polls
  kWriteImm,  // the same, and the receiver's completion queue tells of it
  kWriteUc,   // kWrite over an unreliable connection: no acknowledgements
  kRead,      // a reply stays in the server's memory; the client READs it until it is the reply
  kSendUd,    // over an unreliable datagram queue pair: one for all clients
};

struct Combination {
  std::string_view name;
  std::string_view meaning;
  By request;
  By reply;

  bool is_uc() const { return request == By::kWriteUc; }
  bool has_ud() const { return reply == By::kSendUd; }
  // Whether the request is found by looking at the server's memory.
  bool is_polled() const { return request == By::kWrite || request == By::kWriteUc; }
  bool has_reads() const { return request == By::kNothing || reply == By::kRead; }
};

inline constexpr auto kCombinations = std::to_array<Combination>({
    {"READ", "the client READs the server's memory: no server CPU", By::kNothing, By::kNothing},
    {"SEND/SEND", "messages both ways, RC", By::kSend, By::kSend},
    {"WRITE/SEND", "WRITE into memory that the server polls, reply by SEND, RC", By::kWrite,
     By::kSend},
    {"WRITE_IMM/SEND", "WRITE with a completion at the server, reply by SEND, RC", By::kWriteImm,
     By::kSend},
    {"WRITE/WRITE", "WRITE both ways, both sides poll memory, RC", By::kWrite, By::kWrite},
    {"WRITE/READ", "WRITE, then READ until the reply is there, RC", By::kWrite, By::kRead},
    {"WRITE_UC/SEND_UD", "HERD's: WRITE over UC, reply by SEND over UD", By::kWriteUc, By::kSendUd},
});

// nullptr where there is none of that name.
constexpr const Combination* FindCombination(std::string_view name) {
  const auto found = std::ranges::find(kCombinations, name, &Combination::name);
  return found == kCombinations.end() ? nullptr : &*found;
}

}  // namespace plov::bench
