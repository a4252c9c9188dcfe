// Fabric: how bytes move between a client and one shard of a server.
//
//   client                                       server, one per shard
//   Connection::Read  -- one-sided READ -------> the shard's region; no server code runs
//   Connection::Send  -- message --------------> Port::Poll (kMessage)
//   Connection::Receive <-------- message ------ Port::Send
//   staging() memory  <-------- one-sided READ - Port::Read (large values, rendezvous)
//
// A URI chooses the implementation: "shm:NAME" or "shm:/path" (fabric/shm/), "rdma://HOST:PORT"
// (fabric/verbs/).
//
// What every fabric guarantees (tests/fabric/conformance.h checks it on each):
//   1. A READ delivers aligned 8-byte words, each as it was at some instant between Read() and its
//      completion; no order among the words of a READ or among READs in flight.
//   2. A READ posted after another's completion was polled sees memory at least as new.
//   3. A completion with Status::kDone means that the server lived, and had not closed this
//      connection (Port::Close, Listener::Withdraw), when the last word was read: what the server
//      stores after a Close is never READ as good, whatever the client is doing at that moment.
//   4. Messages arrive whole, once, in order. One message has one reply; the server gets a client's
//      next message only after it replied to the last, so a reply always has room.
//   5. A peer that dies, in any state, is noticed on the other side without any call of that peer.
//   6. No range outside the region or the staging memory is ever read, whatever a peer says.
//   7. A client that can READ is known to its port: kOpened is there to be polled before Connect
//      returns. So a port that was polled dry, after a std::atomic_thread_fence(seq_cst) that
//      follows a store to the region, has named every client whose READs may have missed the store.
#pragma once

#include <sys/types.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "fabric/admission.h"
#include "fabric/claim.h"
#include "verify/error.h"
#include "verify/words.h"

namespace plov::fabric {

using Clock = std::chrono::steady_clock;
using Deadline = Clock::time_point;

// One one-sided READ. The memory it goes to is the connection's from Read() until the completion
// was polled or the connection has ended, whatever became of who asked for it.
struct ReadOp {
  uint64_t offset = 0;  // in the shard's region, word-aligned
  uint32_t bytes = 0;
  std::byte* to = nullptr;
  uint64_t tag = 0;  // comes back in the completion
};

enum class Status : uint8_t {
  kDone,
  kPeerGone,    // the server is dead, stopped serving the shard or closed this connection; what was
                // read may be of a former life
  kOutOfRange,  // nothing was read
};

struct Completion {
  uint64_t tag;
  Status status;
};

struct Limits {
  uint64_t region_bytes = 0;
  uint64_t staging_bytes = 0;      // 0 of a connection that only READs
  uint32_t message_bytes_max = 0;  // likewise
  uint32_t read_depth = 0;         // READs in flight
};

// Shards have numbers up to this one.
inline constexpr uint32_t kShardMax = UINT16_MAX;

struct ConnectOptions {
  uint32_t shard = 0;
  uint32_t format_version = 0;  // refused with kProtocol when the server's differs
  uint64_t client_id = 0;       // at most one connection per id and shard: a new one ends the old
  Claim claim = {};             // to the id, where no kernel says whose it is
  bool administers = false;     // takes an administrator's place where it may (Admission)
  // Only READs: no message is ever sent or received, and there is no staging memory, so that it
  // costs the server next to nothing (Port::connection_bytes). It has no id, and claims none: one
  // client may have as many as it likes, beside its others, at any number of servers and shards.
  bool reads_only = false;
  // Its messages write nothing. It claims no id, and one client may have as many as it likes.
  bool never_writes = false;
  Deadline deadline;
};

// As a Hello says it.
inline uint16_t FlagsOf(const ConnectOptions& options) {
  return static_cast<uint16_t>((options.administers ? kHelloAdministers : 0) |
                               (options.reads_only ? kHelloReadsOnly : 0) |
                               (options.never_writes ? kHelloNeverWrites : 0));
}

// A client's end. Threads: one. All calls but Connect return at once.
class Connection {
 public:
  virtual ~Connection() = default;

  // Connects to one shard. kUnavailable (no server there), kPermission, kProtocol, kTimeout (a
  // server that does not answer), kInvalidArgument (no such fabric), kNoShard (a server is there,
  // and does not serve this shard now: nothing else gives this code), kUnknown (the server knows
  // the client id, and not as this client's).
  static std::expected<std::unique_ptr<Connection>, Error> Connect(std::string_view uri,
                                                                   const ConnectOptions& options);

  virtual const Limits& limits() const = 0;

  // The region, where a READ is nothing but loads: a copy of words that are inside of it
  // (verify::CopyFromShared) is as good as READ once alive() was true after it. Empty where READs
  // are requests. Stays as long as the connection.
  virtual std::span<const std::byte> region() const { return {}; }

  // Posts READs, as many as fit under read_depth, with one doorbell; returns how many.
  virtual size_t Read(std::span<const ReadOp> batch) = 0;
  // Collects completions; returns how many.
  virtual size_t Poll(std::span<Completion> completions) = 0;

  // Sends a message. False when there is no room now, or too many replies are outstanding: receive
  // replies and try again. Always false of a connection that only READs.
  virtual bool Send(std::span<const std::byte> message) = 0;
  // The next message, valid until the next call; nullopt when there is none. A message that breaks
  // the protocol ends the connection: alive() turns false.
  virtual std::optional<std::span<const std::byte>> Receive() = 0;

  // Memory that the server may READ; offsets into it name rendezvous values. An error says why
  // there is none, and how to mend that; kPermission: this client may not write, or this connection
  // only READs.
  virtual std::expected<std::span<std::byte>, Error> staging() = 0;

  // False once the server is gone or has closed the connection. Costs loads of cached words.
  virtual bool alive() const = 0;

  // To sleep: Arm(), and when it returns true wait until fd() is readable or the deadline; false
  // means that there is something to poll already. Receive() disarms.
  virtual int fd() const = 0;
  virtual bool Arm() = 0;
  // Sleeps until a message comes, at most so long. It costs less than a sleep by fd(), but whatever
  // else ends that one does not end this. False at once when a READ is to be polled, when the server
  // is gone, or where nothing costs less than fd().
  virtual bool SleepForMessage(Clock::duration) { return false; }

  // Whether the server's thread is awake and was last seen on the core that the caller runs on, so
  // that to poll is to keep it from answering. Shows the server where the caller runs.
  virtual bool OnPeersCore() { return false; }
};

using PeerId = uint64_t;

struct PortEvent {
  enum class Kind : uint8_t {
    kOpened,
    kMessage,
    kReadDone,
    kClosed,
    kProgress,  // a part of a READ was done: poll again
  } kind;
  PeerId peer = 0;
  uint64_t client_id = 0;          // kOpened; 0 of one that only READs
  std::optional<uid_t> user = {};  // kOpened, where the kernel knows it
  bool may_write = true;           // kOpened; false of one that only READs, or never writes
  bool reads_only = false;         // kOpened: sends no messages, to be sent none
  bool never_writes = false;       // kOpened: has said so
  bool administers = false;        // kOpened: has an administrator's place
  std::span<const std::byte> message = {};  // kMessage: a private copy, valid until the next Poll
  uint64_t tag = 0;                         // kReadDone
  bool ok = false;  // kReadDone: false when the range was outside the staging memory
};

// A READ of a peer's staging memory into the shard's own region, a slice at a time: what a slice
// holds is fixed, in private memory, before a word of it is masked and seen in the region. So no
// peer decides a word there, though it may change what is READ.
struct PeerRead {
  // Of the region, from the word where the value begins.
  static constexpr size_t kSliceBytes = (size_t{16} << 10) + 8;
  // A value of at most so many bytes is one slice.
  static constexpr size_t kWholeBytes = size_t{64} << 10;

  uint64_t offset = 0;
  uint64_t bytes = 0;
  uint64_t* shared = nullptr;       // word-aligned record memory
  const uint64_t* masks = nullptr;  // of each slice; stay until the READ is done
  size_t shared_offset = 0;         // where the value begins: bytes from `shared`
  uint64_t tag = 0;

  // Of the slice that begins after so many bytes, which are a number of whole slices.
  uint64_t SliceBytesAt(uint64_t done) const {
    if (bytes <= kWholeBytes) return bytes;
    const uint64_t most = kSliceBytes - (shared_offset + done) % verify::kWordBytes;
    return std::min(most, bytes - done);
  }
  void StoreSlice(uint64_t done, std::span<const std::byte> slice) const {
    if (slice.empty()) return;
    const size_t index = (shared_offset % verify::kWordBytes + done) / kSliceBytes;
    verify::MaskToShared(shared, shared_offset + done, slice, masks[index]);
  }
};

// A shard's end of a listener, from Expose to Withdraw. Threads: the shard's, but for Wake.
class Port {
 public:
  virtual ~Port() = default;

  // The next event, or nullopt when there is nothing to do.
  virtual std::optional<PortEvent> Poll() = 0;

  // Replies to the peer's last message.
  virtual void Send(PeerId peer, std::span<const std::byte> message) = 0;
  virtual void Read(PeerId peer, const PeerRead& read) = 0;
  // Ends a connection; no event follows. READs of it that read a word from now on do not succeed.
  virtual void Close(PeerId peer) = 0;

  // To sleep: Arm(), and when it returns true wait until fd() is readable, then Disarm().
  virtual int fd() const = 0;
  virtual bool Arm() = 0;
  virtual void Disarm() = 0;
  // Instead of Disarm(), by who waits for several ports and saw that fd() was not readable.
  virtual void StayAwake() { Disarm(); }
  // Makes fd() readable until Disarm(). Any thread.
  virtual void Wake() = 0;

  // Whether a peer that is awake was last seen on the core that the caller runs on; see Connection.
  virtual bool OnPeersCore() { return false; }

  // The most memory that the connections there are can take of this host, beside the region. One
  // that only READs: 4 KiB over shared memory, 16 KiB over RDMA, of which nothing is pinned.
  virtual uint64_t connection_bytes() const { return 0; }
};

namespace shm {
class PassedSockets;
}

// Ends a sleep of a port, one of those that were waited for; readable: the descriptors that were.
inline void Disarm(Port* port, std::span<const int> readable) {
  if (std::ranges::find(readable, port->fd()) != readable.end()) return port->Disarm();
  port->StayAwake();
}

// What one shard exposes: its region, and the file descriptor behind it. All stay until Withdraw
// has returned or the listener is gone.
struct Exposure {
  std::span<std::byte> region;
  int region_fd = -1;
  Claims* claims = nullptr;  // null: any claim will do
};

struct ListenOptions {
  std::vector<Exposure> shards;  // exposed before the first client comes; by number
  uint32_t format_version = 0;
  uint64_t staging_bytes = 0;  // that a client may have, of its own memory
  // Who may connect, and write; the same for all listeners of a server.
  std::shared_ptr<Admission> admission = std::make_shared<Admission>(Admission::Limits{});
  std::chrono::milliseconds hello_time{5000};  // for a client to say who it is
  shm::PassedSockets* passed = nullptr;        // sockets that listen already; used by Listen
};

// The server's end of a URI. Threads: the one that called Listen, which must live as long as the
// listener.
class Listener {
 public:
  virtual ~Listener() = default;  // stops serving, leaves nothing behind

  // kInUse (another server serves this URI), kPermission, kInvalidArgument, kSystem.
  static std::expected<std::unique_ptr<Listener>, Error> Listen(std::string_view uri,
                                                                const ListenOptions& options);

  // kInvalidArgument for what no listener could ever serve on, by its form; nothing is tried.
  static std::expected<void, Error> Check(std::string_view uri);

  // Whether a listener on this URI registers its regions with a device, which pins all their pages
  // as long as they are exposed: memory that is sparse would be filled with pages.
  static bool Pins(std::string_view uri);

  virtual const std::string& uri() const = 0;

  // Lets clients connect to a shard, which is not exposed yet, from now on. The port is the
  // listener's. Returns at once, but over RDMA once the region is registered, which takes a
  // fraction of a second for a GiB. kNoSpace, kSystem, kPermission: nothing is exposed.
  virtual std::expected<Port*, Error> Expose(uint32_t shard, const Exposure& exposure) = 0;
  // Ends all connections to a shard, without an event, as Port::Close does (guarantee 3), and its
  // port: the shard's thread has stopped using it before, and nobody wakes it any more. Messages and
  // READs that are under way are dropped. Clients get kNoShard from now on. After the return the
  // region cannot be READ or written, though a client on this host may map its file for a while;
  // the shard may be exposed again at once, with any region. Nothing happens to a shard that is not
  // exposed.
  virtual void Withdraw(uint32_t shard) = 0;
  // Of a shard that is exposed.
  virtual Port& port(uint32_t shard) = 0;

  // HandleEvents accepts connections; it has work when fd() is readable.
  virtual int fd() const = 0;
  virtual void HandleEvents() = 0;
  // The next thing that the operator should hear of, in words: that a device went away, or is back,
  // or that clients are refused. Empty when there is nothing.
  virtual std::string TakeNotice() { return {}; }
};

// Sleeps until one of the connections has something to poll or the deadline passes.
void Wait(std::span<Connection* const> connections, Deadline deadline);
inline void Wait(Connection* connection, Deadline deadline) { Wait({&connection, 1}, deadline); }

}  // namespace plov::fabric
