#include "tests/sim/network.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <numeric>

#include "tests/sim/network_ends.h"
#include "verify/words.h"

namespace plov::sim {

namespace {

Network* running_network = nullptr;

// Behind the staging memory, where nobody may write.
constexpr size_t kGuardWords = 64;
constexpr uint64_t kGuard = 0x5aa55aa5f00dfeed;

}  // namespace

Network* CurrentNetwork() { return running_network; }

Network::Network(const VirtualHost* host, Random* random, const NetworkOptions& options)
    : host_(host), random_(random), options_(options), event_fd_(::eventfd(0, EFD_CLOEXEC)) {
  running_network = this;
}

Network::~Network() {
  running_network = nullptr;
  ::close(event_fd_);
}

std::span<Network::Listener> Network::ListenersOf(uint32_t server) {
  return server < servers_.size() ? std::span<Listener>(servers_[server]) : std::span<Listener>();
}

fabric::Port* Network::Listen(uint32_t server, uint32_t shard, const Endpoint& endpoint) {
  while (servers_.size() <= server) servers_.emplace_back();
  Listener& listener = servers_[server][shard];
  listener.endpoint = endpoint;
  listener.listens = true;
  listener.port = std::make_shared<SimPort>(this, &listener);
  return listener.port.get();
}

void Network::Stop(uint32_t server) {
  for (Listener& listener : ListenersOf(server)) {
    listener.listens = false;
    for (const auto& peer : listener.peers) {
      peer->closed = true;
      if (peer->connection != nullptr) EndFlights(peer->connection, false);
    }
    listener.peers.clear();
    listener.endpoint.region = {};
  }
}

std::expected<std::unique_ptr<fabric::Connection>, Error> Network::Connect(
    const fabric::ConnectOptions& options) {
  const auto listeners = ListenersOf(lead_);
  if (options.shard >= listeners.size() || !listeners[options.shard].listens) {
    return Fail(Code::kUnavailable, "no server there");
  }
  Listener& listener = listeners[options.shard];
  if (options.format_version != listener.endpoint.format_version) {
    return Fail(Code::kProtocol, "another format");
  }
  fabric::Claims* claims = listener.endpoint.claims;
  if (claims != nullptr &&
      claims->Take(options.client_id, options.claim) == fabric::Claims::Outcome::kOther) {
    return Fail(Code::kUnknown, "the id is another's");
  }
  auto peer = std::make_shared<Peer>();
  peer->id = ++next_peer_;
  peer->claim = {claims, options.client_id, options.claim};
  peer->client_id = options.client_id;
  peer->staging_bytes = listener.endpoint.staging_bytes;
  if (peer->staging_bytes > 0) {
    peer->staging.resize(peer->staging_bytes / verify::kWordBytes + kGuardWords, kGuard);
  }
  listener.peers.push_back(peer);
  if (connect_observer) connect_observer(lead_);
  return std::make_unique<SimConnection>(this, std::move(peer), listener.endpoint);
}

Network::Peer* Network::PeerOf(Listener* listener, fabric::PeerId id) {
  const auto it =
      std::ranges::find_if(listener->peers, [id](const auto& peer) { return peer->id == id; });
  return it == listener->peers.end() ? nullptr : it->get();
}

std::shared_ptr<Network::Peer> Network::OldestOf(const Peers& peers,
                                                 const std::shared_ptr<Peer>& peer) {
  const auto it = std::ranges::find_if(peers, [&peer](const auto& other) {
    return other->client_id == peer->client_id && !other->opened;
  });
  return it == peers.end() || peer->opened ? peer : *it;
}

// Cuts `words` words into that many pieces of random length.
void Network::CutAt(Flight* flight, uint32_t words, uint32_t pieces) {
  std::array<uint32_t, kPiecesMax + 1> cuts{};
  for (uint32_t i = 1; i < pieces; ++i) cuts[i] = random_->Below(words + 1);
  cuts[pieces] = words;
  std::sort(cuts.begin() + 1, cuts.begin() + pieces);
  flight->count = 0;
  for (uint32_t i = 0; i < pieces; ++i) {
    if (cuts[i + 1] == cuts[i]) continue;
    flight->pieces[flight->count++] = {static_cast<uint16_t>(cuts[i]),
                                       static_cast<uint16_t>(cuts[i + 1] - cuts[i])};
  }
}

void Network::Plan(Flight* flight) {
  if (options_.hold_one_in != 0 && random_->OneIn(options_.hold_one_in)) {
    flight->not_before_us = host_->now_us() + random_->Below(options_.hold_us_max);
  }
  const auto words =
      static_cast<uint32_t>(verify::RoundUpToWord(flight->op.bytes) / verify::kWordBytes);
  Cut cut = options_.cut;
  if (cut == Cut::kAny) cut = static_cast<Cut>(random_->Below(static_cast<size_t>(Cut::kAny)));
  const auto most = static_cast<uint32_t>(kPiecesMax - 4);  // some are left for retransmissions
  if (cut == Cut::kWords && words > most) cut = Cut::kPieces;
  switch (cut) {
    case Cut::kWhole:
      CutAt(flight, words, 1);
      break;
    case Cut::kHalves:
      flight->count = 2;
      flight->pieces[0] = {0, static_cast<uint16_t>(words / 2)};
      flight->pieces[1] = {static_cast<uint16_t>(words / 2),
                           static_cast<uint16_t>(words - words / 2)};
      break;
    case Cut::kPieces:
      CutAt(flight, words, random_->Between(2, std::min(words + 2, most)));
      break;
    case Cut::kWords:
    case Cut::kAny:
      flight->count = words;
      for (uint32_t i = 0; i < words; ++i) flight->pieces[i] = {static_cast<uint16_t>(i), 1};
      break;
  }
  for (uint32_t i = flight->count; i > 1; --i) {
    std::swap(flight->pieces[i - 1], flight->pieces[random_->Below(i)]);
  }
  if (options_.retransmit_one_in == 0 || !random_->OneIn(options_.retransmit_one_in)) return;
  for (uint32_t again = random_->Between(1, 4); again > 0 && words > 0; --again) {
    const uint32_t first = random_->Below(words);
    const uint32_t count = random_->Between(1, words - first);
    flight->pieces[flight->count++] = {static_cast<uint16_t>(first), static_cast<uint16_t>(count)};
  }
}

void Network::Copy(const Flight& flight, const Piece& piece) {
  const fabric::ReadOp& op = flight.op;
  const uint64_t* words = verify::WordsAt(flight.connection->remote_region().data(), op.offset);
  const size_t from = piece.first * verify::kWordBytes;
  const size_t to = std::min<size_t>(op.bytes, from + piece.count * verify::kWordBytes);
  verify::CopyFromShared(op.to + from, words + piece.first, to - from);
}

bool Network::Deliver(size_t index) {
  Flight& flight = flights_[index];
  if (host_->now_us() < flight.not_before_us) return false;
  if (!flight.gone && flight.next < flight.count) {
    Copy(flight, flight.pieces[flight.next++]);
    return false;
  }
  SimConnection* connection = flight.connection;
  connection->Complete(
      {flight.op.tag, flight.gone ? fabric::Status::kPeerGone : fabric::Status::kDone});
  flights_[index] = flights_.back();
  flights_.pop_back();
  return true;
}

void Network::EndFlights(const SimConnection* connection, bool forget) {
  for (Flight& flight : flights_) {
    // What was read to the end before may still succeed.
    if (flight.connection == connection && (forget || flight.next < flight.count)) {
      flight.gone = true;
    }
  }
  if (forget) {
    std::erase_if(flights_,
                  [connection](const Flight& flight) { return flight.connection == connection; });
  }
}

void Network::Drop(SimConnection* connection) {
  EndFlights(connection, true);
  Peer* peer = connection->peer();
  const size_t words = peer->staging_bytes / verify::kWordBytes;
  for (size_t i = words; i < peer->staging.size(); ++i) overruns_ += peer->staging[i] != kGuard;
  peer->connection = nullptr;
  peer->broken = true;
  // What was sent and not looked at may still arrive, or not.
  if (random_->OneIn(2)) peer->inbox.clear();
}

void Network::Break(Peer* peer) {
  if (peer->closed || peer->connection == nullptr) return;
  EndFlights(peer->connection, false);
  peer->connection->Cut();
  peer->broken = true;
  if (random_->OneIn(2)) peer->inbox.clear();
}

void Network::BreakAny() {
  Peers peers;
  for (const Listener& listener : ListenersOf(lead_)) {
    peers.insert(peers.end(), listener.peers.begin(), listener.peers.end());
  }
  if (!peers.empty()) Break(random_->Pick(peers).get());
}

void Network::Impersonate() {
  if (fabric::OneWay({}) == fabric::Secret{}) return;  // built without the fabric that asks
  for (const Listener& listener : ListenersOf(lead_)) {
    if (listener.endpoint.claims == nullptr) continue;
    for (const auto& peer : listener.peers) {
      if (!peer->answered || peer->connection == nullptr) continue;
      for (const fabric::Claim& heard : {fabric::Claim{}, peer->claim.claim}) {
        const auto verdict = listener.endpoint.claims->Take(peer->client_id, heard);
        impostors_ += verdict != fabric::Claims::Outcome::kOther;
      }
    }
  }
}

void Network::BreakStrays() {
  for (uint32_t i = 0; i < servers_.size(); ++i) {
    if (i == lead_) continue;
    for (const Listener& listener : ListenersOf(i)) {
      for (const auto& peer : listener.peers) Break(peer.get());
    }
  }
}

}  // namespace plov::sim
