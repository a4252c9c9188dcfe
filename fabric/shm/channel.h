// Channel: the shared memory of one connection, made by the server, mapped by both sides.
//
//   page 0  ChannelControl: both rings' controls, and whether the server has closed the connection
//   then    request ring data, reply ring data; not of a connection that only READs, whose rings
//           are always full and always empty: whoever says another thing has broken them
//
// Handshake over the socket (SOCK_SEQPACKET): the client sends a Hello, the server answers with a
// Welcome and, when its status is kOk, the three descriptors in the order of HandshakeFd.
#pragma once

#include <sys/types.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <optional>
#include <span>

#include "fabric/access.h"
#include "fabric/admission.h"
#include "fabric/os.h"
#include "fabric/shm/ring.h"

namespace plov::fabric::shm {

inline constexpr size_t kControlBytes = 4096;
// A ring holds seven of the largest messages and their heads; measured on loopback PUTs, more buys
// nothing.
inline constexpr uint32_t kMessageBytesMax = 32 << 10;
inline constexpr size_t kRingBytes = size_t{8} * kMessageBytesMax;
// Messages that a client sends before it has read their replies: as many as there is surely room
// to reply to, however small they are themselves.
inline constexpr size_t kUnansweredMax = kRingBytes / RingBytesOf(kMessageBytesMax);
static_assert(kUnansweredMax == 7);
// READs in flight only queue in the client itself; 64 is more than a core's outstanding cache
// misses.
inline constexpr uint32_t kReadDepth = 64;

// Two of the largest values, and room to grow; a client makes no more for a server. verbs has the
// same.
inline constexpr uint64_t kStagingBytesMax = uint64_t{64} << 20;

// Zeroed pages are a valid control: rings start empty, the connection open.
struct ChannelControl {
  RingControl requests;
  RingControl replies;
  // 1 once the server has closed the connection; the server's. A client looks after each READ
  // (ShmConnection::alive) and so never takes for the server's word what it READ after the Close.
  // It may write here, too, which deceives only itself.
  alignas(64) std::atomic<uint32_t> closed;
};
static_assert(sizeof(ChannelControl) == 448 && offsetof(ChannelControl, replies) == 192 &&
              offsetof(ChannelControl, closed) == 384 && sizeof(ChannelControl) <= kControlBytes);

inline constexpr uint64_t kHandshakeMagic = 0x0100736d766f6c70;  // "plovms\0\1"

struct Hello {
  uint64_t magic;
  uint32_t format_version;
  uint16_t shard;
  uint16_t flags;  // kHelloAdministers, kHelloReadsOnly, kHelloNeverWrites
  uint64_t client_id;
};
static_assert(sizeof(Hello) == 24 && offsetof(Hello, flags) == 14 &&
              offsetof(Hello, client_id) == 16);

struct Welcome {
  uint64_t magic;
  uint32_t status;  // a Code
  uint32_t format_version;
  uint64_t region_bytes;   // with kUnavailable: a RefusalReason
  uint64_t staging_bytes;  // with kUnavailable: the limit that is behind it
};
static_assert(sizeof(Welcome) == 32);

enum HandshakeFd { kRegionFd, kLifeFd, kChannelFd, kHandshakeFds };
using HandshakeFds = std::array<Fd, kHandshakeFds>;

bool SendHello(int socket, const Hello& hello);
// Does not wait. False when what is there is no Hello, or nothing is.
bool ReceiveHello(int socket, Hello* hello);
bool SendWelcome(int socket, const Welcome& welcome, std::span<const int> fds);
std::expected<Welcome, Error> ReceiveWelcome(int socket, HandshakeFds* fds);

// The user at the other end, as the kernel says; nullopt when it does not.
std::optional<uid_t> UserOf(int socket);
// And the user's groups.
Person PersonOf(int socket);

// After the handshake the socket carries wakes, a byte each: to whoever sleeps on the other side. A
// socket and not an eventfd, because what a peer does to its end of a socket harms only itself.
void WakePeer(int socket);
// Takes the wakes that came. False when the peer has hung up.
bool TakeWakes(int socket);
// The same of a client's, and the last file that came with one.
bool TakeWakes(int socket, Fd* file);
// Passes a file with a wake; false when that cannot be done now.
bool PassFile(int socket, int file);

// The views into a mapped channel.
struct Channel {
  Mapping mapping;

  static constexpr size_t kBytes = kControlBytes + 2 * kRingBytes;
  static constexpr size_t kBytesWithoutRings = kControlBytes;

  RingControl* request_control() const { return &Control()->requests; }
  RingControl* reply_control() const { return &Control()->replies; }
  std::atomic<uint32_t>* closed() const { return &Control()->closed; }
  bool has_rings() const { return mapping.bytes().size() == kBytes; }
  std::span<std::byte> request_data() const { return RingAt(kControlBytes); }
  std::span<std::byte> reply_data() const { return RingAt(kControlBytes + kRingBytes); }

 private:
  ChannelControl* Control() const {
    return reinterpret_cast<ChannelControl*>(mapping.bytes().data());
  }
  std::span<std::byte> RingAt(size_t offset) const {
    return has_rings() ? mapping.bytes().subspan(offset, kRingBytes) : std::span<std::byte>();
  }
};

}  // namespace plov::fabric::shm
