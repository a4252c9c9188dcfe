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
  SimConnection(Network* network, std::shared_ptr<Network::Peer> peer, const Endpoint& endpoint);
  ~SimConnection() override;

  const fabric::Limits& limits() const override { return limits_; }
  std::span<const std::byte> region() const override { return mapped_; }
  size_t Read(std::span<const fabric::ReadOp> batch) override;
  size_t Poll(std::span<fabric::Completion> completions) override;
  bool Send(std::span<const std::byte> message) override;
  std::optional<std::span<const std::byte>> Receive() override;
  std::expected<std::span<std::byte>, Error> staging() override;
  bool alive() const override { return !cut_ && !peer_->closed; }
  int fd() const override { return network_->event_fd_; }
  bool Arm() override { return completions_.empty() && peer_->outbox.empty() && alive(); }

  Network::Peer* peer() { return peer_.get(); }
  std::span<std::byte> remote_region() const { return remote_region_; }
  void Complete(const fabric::Completion& completion);
  // The link broke, and this side knows it.
  void Cut() { cut_ = true; }

 private:
  void LookInVain();

  Network* network_;
  std::shared_ptr<Network::Peer> peer_;
  std::span<std::byte> remote_region_;
  std::span<std::byte> mapped_;
  fabric::Limits limits_;
  std::vector<fabric::Completion> completions_;
  Message received_;
  uint32_t in_flight_ = 0;
  uint32_t awaited_ = 0;  // replies
  bool cut_ = false;
  // How often the client has looked for something since it had its turn, and there was nothing.
  uint32_t vain_looks_ = 0;
  size_t rests_ = 0;
};

class SimPort final : public fabric::Port {
 public:
  SimPort(Network* network, Network::Listener* listener) : network_(network), listener_(listener) {}

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
  Network::Listener* listener_;
  Message message_;  // told last
};

}  // namespace plov::sim
