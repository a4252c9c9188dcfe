// Wire: what two ends of the verbs fabric say to each other before and beside the messages.
//
//   client                                          server
//     REQ  {Hello}                    ------------>   looks whether it serves such a one
//     REP  {Welcome} or REJ {Refusal} <------------   the port knows the client before the REP goes
//     RTU                             ------------>
//     SEND with immediate {Announcement} --------->   when staging memory is registered
//     SEND {message}                  <----------->
//
// A client that said kHelloReadsOnly sends nothing after its RTU: the server has no buffers for it.
//
// A client sends no more than kCredits messages and announcements that no reply has proved to have
// arrived: a message's own reply does, an announcement's is the next that comes. The server takes
// what has arrived out of its buffer and posts it again before it replies.
//
// Hello, Welcome and Refusal travel as rdmacm's private data, which arrives padded with zeros: 56
// bytes are the most that a REQ carries, 148 a REJ and 196 a REP (rdma_connect(3), IP port space).
// All numbers are little-endian, as everything of plov's.
#pragma once

#include <cstddef>
#include <cstdint>

#include "fabric/admission.h"
#include "fabric/claim.h"

namespace plov::fabric::verbs {

// Changes whenever anything here does.
inline constexpr uint64_t kWireMagic = 0x02007672766f6c70;  // "plovrv\0\2"

// The same as of the other fabrics: the server's replies have no more room (server/shard.h).
inline constexpr uint32_t kMessageBytesMax = 32 << 10;
// What a client may have on its way. Each costs a receive buffer at both ends, pinned as long as
// the connection. One is served while the next arrives.
inline constexpr uint32_t kCredits = 4;

// What a server may ask a client to pin for large values: more than the largest value needs.
inline constexpr uint64_t kStagingBytesMax = uint64_t{64} << 20;

struct Hello {
  uint64_t magic;
  uint32_t format_version;
  uint16_t shard;
  uint16_t flags;  // kHelloAdministers, kHelloReadsOnly, kHelloNeverWrites
  uint64_t client_id;
  Claim claim;
};
static_assert(sizeof(Hello) == 56 && offsetof(Hello, format_version) == 8 &&
              offsetof(Hello, shard) == 12 && offsetof(Hello, flags) == 14 &&
              offsetof(Hello, client_id) == 16 && offsetof(Hello, claim) == 24 &&
              offsetof(Claim, next) == 16);
static_assert(sizeof(Hello) <= 56, "a REQ carries no more");

struct Welcome {
  uint64_t magic;
  uint32_t format_version;
  uint32_t region_rkey;
  uint64_t region_address;
  uint64_t region_bytes;
  uint64_t staging_bytes;  // how much of it the client may announce
};
static_assert(sizeof(Welcome) == 40 && offsetof(Welcome, format_version) == 8 &&
              offsetof(Welcome, region_rkey) == 12 && offsetof(Welcome, region_address) == 16 &&
              offsetof(Welcome, region_bytes) == 24 && offsetof(Welcome, staging_bytes) == 32);
static_assert(sizeof(Welcome) <= 196, "a REP carries no more");

struct Refusal {
  uint64_t magic;
  uint32_t code;  // a Code, not kOk; kInUse: it is drained
  uint32_t format_version;
};
static_assert(sizeof(Refusal) == 16 && offsetof(Refusal, code) == 8 &&
              offsetof(Refusal, format_version) == 12);
static_assert(sizeof(Refusal) <= 148, "a REJ carries no more");

// Staging memory that the server may READ from now on. It is no message: nothing answers it.
struct Announcement {
  uint64_t magic;
  uint64_t address;
  uint64_t bytes;
  uint32_t rkey;
  uint32_t zero;
};
static_assert(sizeof(Announcement) == 32 && offsetof(Announcement, address) == 8 &&
              offsetof(Announcement, bytes) == 16 && offsetof(Announcement, rkey) == 24 &&
              offsetof(Announcement, zero) == 28);

}  // namespace plov::fabric::verbs
