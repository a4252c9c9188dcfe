#include "tests/sim/network_ends.h"

#include <sys/mman.h>

#include <algorithm>
#include <stdexcept>
#include <string>
#include <utility>

#include "tests/sim/fiber.h"
#include "verify/words.h"

namespace plov::sim {

using fabric::Completion;
using fabric::PortEvent;

namespace {

constexpr uint32_t kMessageBytesMax = 32 << 10;
constexpr uint32_t kAwaitedMax = 8;
// Who looks so often without having had a turn waits in a loop.
constexpr uint32_t kVainLooksMax = 8;
// Turns that pass while a connection is made.
constexpr uint32_t kConnectTurns = 3;

}  // namespace

SimConnection::SimConnection(Network* network, std::shared_ptr<Network::Peer> peer,
                             const Endpoint& endpoint)
    : network_(network),
      peer_(std::move(peer)),
      remote_region_(endpoint.region),
      limits_{.region_bytes = endpoint.region.size(),
              .staging_bytes = peer_->staging_bytes,
              .message_bytes_max = kMessageBytesMax,
              .read_depth = network->options_.read_depth} {
  peer_->connection = this;
  if (!network->options_.loads) return;
  void* mapped =
      ::mmap(nullptr, endpoint.region.size(), PROT_READ, MAP_SHARED, endpoint.region_fd, 0);
  if (mapped == MAP_FAILED) throw std::runtime_error("the simulated network: cannot map a region");
  mapped_ = {static_cast<std::byte*>(mapped), endpoint.region.size()};
}

SimConnection::~SimConnection() {
  network_->Drop(this);
  if (!mapped_.empty()) ::munmap(mapped_.data(), mapped_.size());
}

void SimConnection::LookInVain() {
  if (rests_ != Fiber::rests()) vain_looks_ = 0;
  rests_ = Fiber::rests();
  if (++vain_looks_ < kVainLooksMax) return;
  Fiber::Rest();
}

std::expected<std::span<std::byte>, Error> SimConnection::staging() {
  if (peer_->staging_bytes == 0) return Fail(Code::kSystem, "memory cannot be locked");
  return std::as_writable_bytes(std::span(peer_->staging)).first(peer_->staging_bytes);
}

size_t SimConnection::Read(std::span<const fabric::ReadOp> batch) {
  size_t posted = 0;
  for (const fabric::ReadOp& op : batch) {
    if (in_flight_ == limits_.read_depth) break;
    ++posted;
    ++in_flight_;
    ++network_->reads_;
    if (op.offset % verify::kWordBytes != 0 || op.offset > limits_.region_bytes ||
        op.bytes > limits_.region_bytes - op.offset) {
      completions_.push_back({op.tag, fabric::Status::kOutOfRange});
      continue;
    }
    Network::Flight& flight = network_->flights_.emplace_back();
    flight.connection = this;
    flight.op = op;
    flight.gone = !alive();
    network_->Plan(&flight);
  }
  return posted;
}

void SimConnection::Complete(const Completion& completion) { completions_.push_back(completion); }

size_t SimConnection::Poll(std::span<Completion> completions) {
  const size_t count = std::min(completions.size(), completions_.size());
  if (count == 0) LookInVain();
  std::copy_n(completions_.begin(), count, completions.begin());
  completions_.erase(completions_.begin(), completions_.begin() + static_cast<ptrdiff_t>(count));
  in_flight_ -= static_cast<uint32_t>(count);
  return count;
}

bool SimConnection::Send(std::span<const std::byte> message) {
  if (message.size() > kMessageBytesMax) ++network_->overruns_;
  if (!alive() || awaited_ == kAwaitedMax) return false;
  ++awaited_;
  peer_->inbox.emplace_back(message.begin(), message.end());
  return true;
}

std::optional<std::span<const std::byte>> SimConnection::Receive() {
  if (peer_->outbox.empty()) {
    LookInVain();
    return std::nullopt;
  }
  --awaited_;
  received_ = std::move(peer_->outbox.front());
  peer_->outbox.pop_front();
  return received_;
}

// From a random client on, so that none is always the first.
std::optional<PortEvent> SimPort::Poll() {
  const auto& peers = listener_->peers;
  if (peers.empty()) return std::nullopt;
  const size_t first = network_->random_->Below(peers.size());
  for (size_t i = 0; i < peers.size(); ++i) {
    const auto peer = Network::OldestOf(peers, peers[(first + i) % peers.size()]);
    if (auto event = EventOf(peer.get())) return event;
  }
  return std::nullopt;
}

std::optional<PortEvent> SimPort::EventOf(Network::Peer* peer) {
  PortEvent event{.kind = PortEvent::Kind::kOpened, .peer = peer->id};
  if (!peer->opened) {
    peer->opened = true;
    event.client_id = peer->client_id;
    return event;
  }
  if (peer->fetch && peer->connection != nullptr) {
    const fabric::PeerRead read = *std::exchange(peer->fetch, std::nullopt);
    const size_t bytes = peer->staging_bytes;
    event.kind = PortEvent::Kind::kReadDone;
    event.tag = read.tag;
    event.ok = read.offset % verify::kWordBytes == 0 && read.offset <= bytes &&
               read.bytes <= bytes - read.offset;
    if (event.ok) {
      const auto value = std::as_bytes(std::span(peer->staging)).subspan(read.offset, read.bytes);
      for (size_t done = 0; done < read.bytes;) {
        const size_t slice_bytes = read.SliceBytesAt(done);
        read.StoreSlice(done, value.subspan(done, slice_bytes));
        done += slice_bytes;
      }
    }
    return event;
  }
  if (!peer->inbox.empty() && !peer->answering) {
    message_ = std::move(peer->inbox.front());
    peer->inbox.pop_front();
    peer->claim.OnSpoken();
    peer->answering = true;
    event.kind = PortEvent::Kind::kMessage;
    event.message = message_;
    return event;
  }
  if (!peer->broken) return std::nullopt;
  event.kind = PortEvent::Kind::kClosed;
  peer->closed = true;
  std::erase_if(listener_->peers, [peer](const auto& other) { return other.get() == peer; });
  return event;
}

void SimPort::Send(fabric::PeerId id, std::span<const std::byte> message) {
  Network::Peer* peer = network_->PeerOf(listener_, id);
  if (peer == nullptr) return;
  peer->answering = false;
  peer->answered = true;
  peer->outbox.emplace_back(message.begin(), message.end());
}

void SimPort::Read(fabric::PeerId id, const fabric::PeerRead& read) {
  if (Network::Peer* peer = network_->PeerOf(listener_, id)) peer->fetch = read;
}

void SimPort::Close(fabric::PeerId id) {
  Network::Peer* peer = network_->PeerOf(listener_, id);
  if (peer == nullptr) return;
  peer->closed = true;
  if (peer->connection != nullptr) network_->EndFlights(peer->connection, false);
  std::erase_if(listener_->peers, [id](const auto& other) { return other->id == id; });
}

std::expected<std::unique_ptr<fabric::Connection>, Error> Fabric::Connect(
    std::string_view uri, const fabric::ConnectOptions& options) {
  Network* network = CurrentNetwork();
  if (uri != "sim:" || network == nullptr) {
    return Fail(Code::kInvalidArgument, "no simulated network");
  }
  for (uint32_t turns = network->random_->Below(kConnectTurns); turns > 0; --turns) Fiber::Rest();
  return network->Connect(options);
}

}  // namespace plov::sim

namespace plov::fabric {

std::expected<std::unique_ptr<Connection>, Error> Connection::Connect(
    std::string_view uri, const ConnectOptions& options) {
  return sim::Fabric::Connect(uri, options);
}

}  // namespace plov::fabric
