// Combinations: the ways in which a client's request and a server's reply can travel over RDMA.
//
// What they mean: Kalia, Kaminsky, Andersen, "Using RDMA Efficiently for Key-Value Services" (HERD,
// SIGCOMM 2014), sections 3.2 and 4, and "Design Guidelines for High Performance RDMA Systems"
// (USENIX ATC 2016). In each, request and reply have the same size.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <string_view>

namespace plov::bench {

enum class RequestBy {
  kNothing,  // the client READs
  kSend,
  kWrite,     // into the server's memory, which the server polls
  kWriteImm,  // the same, and the server's completion queue tells of it
  kWriteUc,   // kWrite over an unreliable connection: no acknowledgements
};

enum class ReplyBy {
  kNothing,
  kSend,
  kWrite,   // into the client's memory, which the client polls
  kRead,    // stays in the server's memory; the client READs it until it is the reply
  kSendUd,  // over an unreliable datagram queue pair: one for all clients
};

struct Combination {
  std::string_view name;
  std::string_view meaning;
  RequestBy request;
  ReplyBy reply;

  bool is_uc() const { return request == RequestBy::kWriteUc; }
  bool has_ud() const { return reply == ReplyBy::kSendUd; }
  // Whether the request is found by looking at the server's memory.
  bool is_polled() const { return request == RequestBy::kWrite || request == RequestBy::kWriteUc; }
};

inline constexpr auto kCombinations = std::to_array<Combination>({
    {"READ", "the client READs the server's memory: no server CPU", RequestBy::kNothing,
     ReplyBy::kNothing},
    {"SEND/SEND", "messages both ways, RC", RequestBy::kSend, ReplyBy::kSend},
    {"WRITE/SEND", "WRITE into memory that the server polls, reply by SEND, RC", RequestBy::kWrite,
     ReplyBy::kSend},
    {"WRITE_IMM/SEND", "WRITE with a completion at the server, reply by SEND, RC",
     RequestBy::kWriteImm, ReplyBy::kSend},
    {"WRITE/WRITE", "WRITE both ways, both sides poll memory, RC", RequestBy::kWrite,
     ReplyBy::kWrite},
    {"WRITE/READ", "WRITE, then READ until the reply is there, RC", RequestBy::kWrite,
     ReplyBy::kRead},
    {"WRITE_UC/SEND_UD", "HERD's: WRITE over UC, reply by SEND over UD", RequestBy::kWriteUc,
     ReplyBy::kSendUd},
});

// nullptr where there is none of that name.
constexpr const Combination* FindCombination(std::string_view name) {
  const auto found = std::ranges::find(kCombinations, name, &Combination::name);
  return found == kCombinations.end() ? nullptr : &*found;
}

}  // namespace plov::bench
