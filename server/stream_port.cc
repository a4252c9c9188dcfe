#include "server/stream_port.h"

#include <array>

namespace plov::server {

using cluster::PartReader;
using fabric::PortEvent;

std::vector<int> StreamPort::fds() const {
  std::vector<int> fds;
  for (const Endpoint& endpoint : endpoints_) fds.push_back(endpoint.port->fd());
  return fds;
}

bool StreamPort::Arm() {
  bool armed = true;
  for (const Endpoint& endpoint : endpoints_) armed = endpoint.port->Arm() && armed;
  return armed;
}

void StreamPort::Disarm(std::span<const int> readable) {
  for (const Endpoint& endpoint : endpoints_) fabric::Disarm(endpoint.port, readable);
}

bool StreamPort::Step() {
  bool did = false;
  for (Endpoint& endpoint : endpoints_) {
    const auto event = endpoint.port->Poll();
    if (!event) continue;
    did = true;
    Take(&endpoint, *event);
  }
  return did;
}

void StreamPort::Take(Endpoint* endpoint, const PortEvent& event) {
  switch (event.kind) {
    case PortEvent::Kind::kOpened:
      if (event.reads_only || !event.may_write) return endpoint->port->Close(event.peer);
      endpoint->peers.try_emplace(event.peer, message_bytes_max_);
      return;
    case PortEvent::Kind::kMessage:
      return OnPart(endpoint, event);
    case PortEvent::Kind::kClosed:
      endpoint->peers.erase(event.peer);
      return;
    case PortEvent::Kind::kReadDone:
    case PortEvent::Kind::kProgress:
      return;
  }
}

// The reply goes first, so that the next part is on its way while this message is dealt with.
void StreamPort::OnPart(Endpoint* endpoint, const PortEvent& event) {
  const auto peer = endpoint->peers.find(event.peer);
  if (peer == endpoint->peers.end()) return;
  const PartReader::Result result = peer->second.Take(event.message);
  if (result == PartReader::Result::kMore || result == PartReader::Result::kWhole) {
    endpoint->port->Send(event.peer, std::array<std::byte, verify::kWordBytes>{});
  }
  if (result == PartReader::Result::kMore) {
    has_moved_ = true;
    return;
  }
  if (result == PartReader::Result::kWhole) {
    if (const auto message = cluster::Decode(id_, peer->second.message()))
      return receive_(*message);
  }
  ++garbage_;
  endpoint->port->Close(event.peer);
  endpoint->peers.erase(peer);
}

}  // namespace plov::server
