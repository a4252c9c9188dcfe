// ShardWorld: a shard behind a port whose events are written by the test, and clients that speak
// the real messages.
#pragma once

#include <gtest/gtest.h>
#include <spdlog/spdlog.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "server/shard.h"
#include "server/shard_thread.h"
#include "tests/server/store_world.h"

namespace plov::server {

using Bytes = std::vector<std::byte>;

// A fabric::Port whose events are scripted and whose calls are recorded. Scripting and Wake from
// any thread, as a client would.
class FakePort : public fabric::Port {
 public:
  struct Sent {
    fabric::PeerId peer;
    Bytes message;
  };
  struct PostedRead {
    fabric::PeerId peer;
    fabric::PeerRead read;
  };

  // Of who connects.
  std::optional<uid_t> user;
  bool may_write = true;
  bool reads_only = false;
  bool never_writes = false;
  bool administers = false;

  FakePort() : fd_(::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)) {}
  ~FakePort() override { ::close(fd_); }

  void Script(fabric::PortEvent::Kind kind, fabric::PeerId peer, uint64_t client_id = 0,
              Bytes message = {}, bool ok = false) {
    {
      const std::lock_guard lock(mutex_);
      events_.push_back({{.kind = kind,
                          .peer = peer,
                          .client_id = client_id,
                          .user = user,
                          .may_write = may_write,
                          .reads_only = reads_only,
                          .never_writes = never_writes,
                          .administers = administers,
                          .ok = ok},
                         std::move(message)});
    }
    Wake();
  }

  std::optional<fabric::PortEvent> Poll() override {
    const std::lock_guard lock(mutex_);
    if (events_.empty()) return std::nullopt;
    current_ = std::move(events_.front());
    events_.pop_front();
    current_.event.message = current_.message;
    return current_.event;
  }

  void Send(fabric::PeerId peer, std::span<const std::byte> message) override {
    sent.push_back({peer, {message.begin(), message.end()}});
  }
  void Read(fabric::PeerId peer, const fabric::PeerRead& read) override {
    reads.push_back({peer, read});
  }
  void Close(fabric::PeerId peer) override {
    closed.push_back(peer);
    const std::lock_guard lock(mutex_);
    std::erase_if(events_, [peer](const auto& scripted) { return scripted.event.peer == peer; });
  }

  int fd() const override { return fd_; }
  bool Arm() override {
    if (on_arm) on_arm();
    const std::lock_guard lock(mutex_);
    return events_.empty();
  }
  void Disarm() override {
    uint64_t count;
    while (::read(fd_, &count, sizeof(count)) > 0) continue;
  }
  void Wake() override {
    const uint64_t one = 1;
    EXPECT_EQ(::write(fd_, &one, sizeof(one)), ssize_t{sizeof(one)});
  }

  bool IsClosed(fabric::PeerId peer) const { return std::ranges::count(closed, peer) > 0; }

  std::vector<Sent> sent;
  std::vector<PostedRead> reads;
  std::vector<fabric::PeerId> closed;
  std::function<void()> on_arm;

 private:
  struct Scripted {
    fabric::PortEvent event;
    Bytes message;
  };

  int fd_;
  std::mutex mutex_;
  std::deque<Scripted> events_;
  Scripted current_ = {};
};

// A reply with bytes of its own.
struct Replied {
  Code status = Code::kOk;
  uint64_t request_id = 0;
  uint64_t version = 0;
  std::string value = {};
  bool held = false;
  uint32_t value_bytes = 0;
  uint64_t record_offset = 0;
  uint32_t record_bytes = 0;
  uint64_t number = 0;
};

inline Bytes Encode(uint64_t client_id, const std::vector<verify::Request>& requests,
                    bool keeps_held = false) {
  Bytes buffer(32 << 10);
  verify::MessageWriter writer(buffer, client_id);
  for (const auto& request : requests) EXPECT_TRUE(writer.Add(request));
  const auto message = writer.Finish({.keeps_held = keeps_held});
  return {message.begin(), message.end()};
}

inline std::vector<Replied> Decode(uint64_t client_id, const Bytes& message) {
  std::vector<Replied> replies;
  auto reader =
      verify::MessageReader::Open(message, client_id, verify::MessageReader::Holds::kReplies);
  EXPECT_TRUE(reader.has_value());
  while (reader && reader->remaining() > 0) {
    const auto reply = reader->NextReply();
    if (!reply) {
      ADD_FAILURE() << "a reply that cannot be read";
      break;
    }
    replies.push_back({reply->status, reply->request_id, reply->version, std::string(reply->value),
                       reply->held, reply->value_bytes, reply->record_offset, reply->record_bytes,
                       reply->number});
  }
  return replies;
}

// A value as it arrives by a READ.
inline void StoreSlices(const fabric::PeerRead& read, std::string_view value) {
  for (size_t done = 0; done < read.bytes;) {
    const size_t bytes = read.SliceBytesAt(done);
    read.StoreSlice(done, std::as_bytes(std::span(value)).subspan(done, bytes));
    done += bytes;
  }
}

class ShardWorld {
 public:
  using Kind = fabric::PortEvent::Kind;

  explicit ShardWorld(const StoreOptions& options = StoreWorld::SmallOptions(),
                      const ClientTimeouts& timeouts = {})
      : ShardWorld(std::move(*Store::Create(options)), timeouts) {}

  FakePort port, other_port;
  Store* const store;  // the shard's
  Shard shard;
  std::unique_ptr<ShardThread> worker;  // has a thread where a test gives it one

  // One connection of a client.
  struct Client {
    FakePort* port;
    fabric::PeerId peer;
    uint64_t id;
  };

  Client Connect(uint64_t client_id) { return Connect(client_id, &port); }
  Client Connect(uint64_t client_id, FakePort* at) {
    at->Script(Kind::kOpened, ++last_peer_, client_id);
    Settle();
    return {at, last_peer_, client_id};
  }

  // Sends and returns the replies of the one message that comes back.
  std::vector<Replied> Ask(const Client& client, const std::vector<verify::Request>& requests) {
    return Post(client, Encode(client.id, requests));
  }
  Replied AskOne(const Client& client, const verify::Request& request) {
    const auto replies = Ask(client, {request});
    EXPECT_EQ(replies.size(), 1u);
    return replies.empty() ? Replied{} : replies[0];
  }
  // What the shard tells clients that READ its counters, once it has brought them up to date.
  std::string StatsText(const Client& client) {
    verify::Request request;
    request.operation = verify::Operation::kStats;
    request.request_id = 1;
    AskOne(client, request);
    const auto page = store->region().memory().subspan(verify::kCountersOffset, verify::kPageBytes);
    const auto counters = verify::ReadCounters(page);
    EXPECT_TRUE(counters);
    return counters ? verify::TextOf(*counters, store->UnixUs(MonotonicUs())) : std::string();
  }
  // Nothing when no reply came.
  std::vector<Replied> Post(const Client& client, Bytes message) {
    client.port->sent.clear();
    client.port->Script(Kind::kMessage, client.peer, 0, std::move(message));
    Settle();
    return Collect(client);
  }
  std::vector<Replied> Collect(const Client& client) {
    if (client.port->sent.empty()) return {};
    EXPECT_EQ(client.port->sent.size(), 1u);
    EXPECT_EQ(client.port->sent[0].peer, client.peer);
    return Decode(client.id, client.port->sent[0].message);
  }

  // The first slices of a request that takes many.
  void BeginLong(const Client& client, const verify::Request& request) {
    client.port->sent.clear();
    client.port->Script(Kind::kMessage, client.peer, 0, Encode(client.id, {request}));
    for (int i = 0; i < 3; ++i) shard.Step();
    ASSERT_TRUE(client.port->sent.empty()) << "one slice was enough";
  }
  // And the others.
  Replied EndLong(const Client& client) {
    Settle();
    const auto replies = Collect(client);
    EXPECT_EQ(replies.size(), 1u);
    return replies.empty() ? Replied{} : replies[0];
  }

  // Lets the value of a rendezvous arrive, or its READ fail.
  std::vector<Replied> Arrive(const Client& client, std::string_view value) {
    const fabric::PeerRead read = client.port->reads.back().read;
    EXPECT_EQ(read.bytes, value.size());
    StoreSlices(read, value);
    return FinishRead(client, true);
  }
  std::vector<Replied> FinishRead(const Client& client, bool ok) {
    client.port->sent.clear();
    client.port->Script(Kind::kReadDone, client.peer, 0, {}, ok);
    Settle();
    return Collect(client);
  }
  void HangUp(const Client& client) {
    client.port->Script(Kind::kClosed, client.peer);
    Settle();
  }

  void Settle() {
    while (shard.Step()) continue;
  }

  size_t allocated() const { return store->records().allocated_bytes(); }

 private:
  ShardWorld(std::unique_ptr<Store> owned, const ClientTimeouts& timeouts)
      : store(owned.get()), shard(std::move(owned), timeouts) {
    spdlog::set_level(spdlog::level::off);  // garbage is worth a line each
    shard.AddPort(&port);
    shard.AddPort(&other_port);
    worker = ShardThread::Create().value();
    EXPECT_TRUE(worker->Take(&shard));
  }

  fabric::PeerId last_peer_ = 0;
};

inline verify::Request Ping(uint64_t request_id) {
  verify::Request request;
  request.request_id = request_id;
  return request;
}
inline verify::Request GetOf(std::string_view key, uint64_t request_id = 1) {
  auto request = RequestOf(verify::Operation::kGet, key);
  request.request_id = request_id;
  return request;
}
inline verify::Request PutOf(std::string_view key, std::string_view value, uint64_t sequence) {
  auto request = RequestOf(verify::Operation::kPut, key, value);
  request.request_id = request.sequence = sequence;
  return request;
}
inline verify::Request RendezvousOf(std::string_view key, size_t value_bytes, uint64_t sequence) {
  auto request = PutOf(key, {}, sequence);
  request.rendezvous = true;
  request.value_bytes = static_cast<uint32_t>(value_bytes);
  request.staging_offset = 4096;
  return request;
}
inline verify::Request RetryOf(verify::Request request) {
  request.retry = true;
  return request;
}

}  // namespace plov::server
