// Peers of the verbs fabric made by hand, which need not keep to the protocol: they say, send,
// write and read what a test tells them.
#pragma once

#include <infiniband/verbs.h>

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "fabric/verbs/cm.h"
#include "fabric/verbs/memory.h"
#include "fabric/verbs/qp.h"
#include "fabric/verbs/wire.h"
#include "tests/fabric/conformance.h"

namespace plov::fabric::verbs {

// The bytes of an object of a wire format.
template <typename T>
std::span<const std::byte> BytesOf(const T& object) {
  return std::as_bytes(std::span(&object, 1));
}

// A queue pair with memory of its own, and what it is asked to do. Each work request is waited for;
// what it ended with is returned. Every call that fails for another reason ends the test.
class RawQp {
 public:
  static constexpr size_t kMemoryBytes = size_t{8} << 20;
  static constexpr QpSizes kSizes = {.sends = 64, .receives = 16};
  // Its receive buffers end its memory.
  static constexpr size_t kReceiveBytes = size_t{kSizes.receives} * kMessageBytesMax;

  RawQp() = default;
  explicit RawQp(rdma_cm_id* id);
  void Connect(rdma_cm_id* id, ReadDepths depths);

  // Any bytes, from registered memory; with an immediate where one is given.
  ibv_wc_status Send(std::span<const std::byte> bytes, std::optional<uint32_t> immediate = {});
  // As many as asked for with one doorbell; what the last ended with, and how many arrived.
  std::pair<ibv_wc_status, size_t> SendMany(size_t count, std::span<const std::byte> bytes);
  // An access of `bytes` bytes at a remote address, of which its own memory is the other end.
  ibv_wc_status Access(ibv_wr_opcode opcode, uint64_t address, uint32_t rkey, uint32_t bytes);

  // Buffers for messages of at most kMessageBytesMax.
  void PostReceives(uint32_t count);
  // The next message; the test ends when none comes.
  std::span<const std::byte> AwaitReceive();

  std::span<std::byte> memory() const { return memory_.bytes(); }
  uint32_t rkey() const { return memory_.mr->rkey; }
  uint32_t number() const { return qp_.number(); }
  void Destroy() { qp_.Destroy(); }

 private:
  ibv_wc Await();
  std::span<std::byte> ReceiveBuffer(uint64_t number) const;
  ibv_wc_status Post(ibv_send_wr* request);

  Pd pd_;
  Cq cq_;
  RegisteredPages memory_;
  Qp qp_;
  uint64_t receives_posted_ = 0;
};

// What rdmacm told: an event, and the private data that came with it.
struct CmNews {
  rdma_cm_event_type type;
  std::vector<std::byte> private_data;
};
CmNews AwaitNews(const EventChannel& channel, rdma_cm_id** id = nullptr);

// A client made by hand.
class RawClient {
 public:
  static constexpr ReadDepths kDepths = {.responder = 16, .initiator = 16};

  explicit RawClient(const std::string& uri);
  ~RawClient();

  static Hello GoodHello() { return {kWireMagic, kTestFormatVersion, 0, 0, kClientId, {}}; }
  static constexpr uint64_t kClientId = 0x68616e64;

  // Says `hello`, and returns at once.
  void Request(std::span<const std::byte> hello, ReadDepths depths = kDepths);
  CmNews Answer() { return AwaitNews(channel_); }
  // Takes the answer for a Welcome, and is ready to send.
  void Establish(const CmNews& answer);

  // All of that, as an honest client does, while the server accepts.
  static std::unique_ptr<RawClient> ConnectedTo(TestServer* server, ReadDepths depths = kDepths);

  RawQp& qp() { return qp_; }
  const Welcome& welcome() const { return welcome_; }
  Announcement GoodAnnouncement() const {
    return {kWireMagic, AddressOf(qp_.memory().data()), TestServer::kStagingBytes, qp_.rkey(), 0};
  }
  ibv_wc_status Announce(std::span<const std::byte> announcement) {
    return qp_.Send(announcement, 0);
  }

 private:
  EventChannel channel_;
  CmId id_;
  RawQp qp_;
  ReadDepths depths_;
  Welcome welcome_{};
};

// A server made by hand, which answers the one client that comes as it likes.
class RawServer {
 public:
  RawServer();

  static constexpr size_t kRegionBytes = 4096;
  Welcome GoodWelcome() const {
    return {kWireMagic,   kTestFormatVersion,
            qp_.rkey(),   AddressOf(qp_.memory().data()),
            kRegionBytes, 4096};
  }
  // What a client makes of this answer; `change` gets a good Welcome to spoil.
  std::expected<std::unique_ptr<Connection>, Error> Answer(
      const std::function<void(Welcome*)>& change, size_t bytes = sizeof(Welcome));

  RawQp& qp() { return qp_; }

 private:
  std::string uri_;
  EventChannel channel_;
  CmId listener_;
  CmId id_;
  RawQp qp_;
};

}  // namespace plov::fabric::verbs
