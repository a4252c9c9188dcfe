// Network ends: what client and server hold of the simulated network, as fabric/fabric.h has it.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "tests/sim/network.h"

namespace plov::sim {

// The one that lives, or null.
Network* CurrentNetwork();

// Where the product's fabric/fabric.cc would choose a fabric.
struct Fabric {
  static std::expected<std::unique_ptr<fabric::Connection>, Error> Connect(
      std::string_view uri, const fabric::ConnectOptions& options);
};

class SimConnection final : public fabric::Connection {
 public:
  SimConnection(Network* network, std::shared_ptr<Network::Peer> peer, uint64_t region_bytes);
  ~SimConnection() override { network_->Drop(this); }

  const fabric::Limits& limits() const override { return limits_; }
  std::expected<void, Error> Register(std::span<std::byte>) override { return {}; }
  size_t Read(std::span<const fabric::ReadOp> batch) override;
  size_t Poll(std::span<fabric::Completion> completions) override;
  bool Send(std::span<const std::byte> message) override;
  std::optional<std::span<const std::byte>> Receive() override;
  std::expected<std::span<std::byte>, Error> staging() override {
    return std::as_writable_bytes(std::span(peer_->staging));
  }
  bool alive() const override { return !cut_ && !peer_->closed; }
  int fd() const override { return network_->event_fd_; }
  bool Arm() override { return completions_.empty() && peer_->outbox.empty() && alive(); }

  Network::Peer* peer() { return peer_.get(); }
  void Complete(const fabric::Completion& completion);
  // The link broke, and this side knows it.
  void Cut() { cut_ = true; }

 private:
  Network* network_;
  std::shared_ptr<Network::Peer> peer_;
  fabric::Limits limits_;
  std::vector<fabric::Completion> completions_;
  Message received_;
  uint32_t in_flight_ = 0;
  uint32_t awaited_ = 0;  // replies
  uint32_t polls_ = 0;    // since a READ completed
  bool cut_ = false;
  // The first READ, of the superblock, is waited for while nobody else has a turn.
  bool is_set_up_ = false;
};

class SimPort final : public fabric::Port {
 public:
  explicit SimPort(Network* network) : network_(network) {}

  std::optional<fabric::PortEvent> Poll() override;
  void Send(fabric::PeerId id, std::span<const std::byte> message) override;
  void Read(fabric::PeerId id, const fabric::PeerRead& read) override;
  void Close(fabric::PeerId id) override;
  int fd() const override { return network_->event_fd_; }
  bool Arm() override { return false; }
  void Disarm() override {}
  void Wake() override {}

 private:
  std::optional<fabric::PortEvent> EventOf(Network::Peer* peer);

  Network* network_;
  Message message_;  // told last
};

}  // namespace plov::sim
