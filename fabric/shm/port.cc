#include "fabric/shm/port.h"

#include <sys/epoll.h>

#include <algorithm>
#include <cerrno>

#include "verify/words.h"

namespace plov::fabric::shm {

namespace {

// A busy port looks for dead peers this rarely: an epoll_wait costs as much as ten polls.
constexpr uint32_t kPollsPerWatch = 1024;
// What is copied of a value before others have their turn.
constexpr uint64_t kReadSliceBytes = uint64_t{64} << 10;
constexpr uint64_t kBellTag = 0;  // peers' ids start at 1

}  // namespace

std::expected<std::unique_ptr<ShmPort>, Error> ShmPort::Create() {
  std::unique_ptr<ShmPort> port(new ShmPort);
  port->epoll_ = Fd(::epoll_create1(EPOLL_CLOEXEC));
  if (!port->epoll_) return FailErrno("cannot create an epoll", errno);
  auto bell = CreateEventFd();
  if (!bell) return std::unexpected(bell.error());
  port->bell_ = std::move(*bell);
  epoll_event event{.events = EPOLLIN, .data = {.u64 = kBellTag}};
  if (::epoll_ctl(port->epoll_.get(), EPOLL_CTL_ADD, port->bell_.get(), &event) != 0) {
    return FailErrno("cannot watch the bell", errno);
  }
  return port;
}

void ShmPort::Adopt(NewPeer peer) {
  {
    const std::lock_guard lock(mutex_);
    new_peers_.push_back(std::move(peer));
    has_new_.store(true, std::memory_order_release);  // pairs with TakeNew
  }
  Wake();
}

ShmPort::Peer* ShmPort::Find(PeerId id) {
  // Nearly always the peer whose message was taken last.
  if (next_peer_ > 0 && next_peer_ <= peers_.size() && peers_[next_peer_ - 1]->id == id) {
    return peers_[next_peer_ - 1].get();
  }
  const auto it = std::ranges::find(peers_, id, [](const auto& peer) { return peer->id; });
  return it == peers_.end() ? nullptr : it->get();
}

std::optional<PortEvent> ShmPort::TakeNew() {
  if (!has_new_.load(std::memory_order_acquire)) return std::nullopt;  // pairs with Adopt
  NewPeer fresh;
  {
    const std::lock_guard lock(mutex_);
    fresh = std::move(new_peers_.front());
    new_peers_.erase(new_peers_.begin());
    has_new_.store(!new_peers_.empty(), std::memory_order_release);
  }
  auto peer = std::make_unique<Peer>();
  peer->id = ++last_id_;
  peer->socket = std::move(fresh.socket);
  peer->channel = std::move(fresh.channel);
  peer->requests = RingReader(peer->channel.request_control(), peer->channel.request_data());
  peer->replies = RingWriter(peer->channel.reply_control(), peer->channel.reply_data());
  epoll_event event{.events = EPOLLIN | EPOLLRDHUP, .data = {.u64 = peer->id}};
  ::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, peer->socket.get(), &event);
  peers_.push_back(std::move(peer));
  return PortEvent{
      .kind = PortEvent::Kind::kOpened, .peer = last_id_, .client_id = fresh.client_id};
}

std::optional<PortEvent> ShmPort::TakeClosed() {
  while (!closed_.empty()) {
    const PeerId id = closed_.back();
    closed_.pop_back();
    if (Find(id) == nullptr) continue;
    Close(id);
    return PortEvent{.kind = PortEvent::Kind::kClosed, .peer = id};
  }
  return std::nullopt;
}

// A slice of a copy, which goes straight from the client's staging memory into the record; the
// record is sealed over what arrived.
std::optional<PortEvent> ShmPort::ReadSome() {
  if (reads_.empty()) return std::nullopt;
  Reading reading = reads_.front();
  reads_.pop_front();
  const auto [id, read, done] = reading;
  const auto staging = Find(id)->channel.staging();
  const bool ok = read.offset % verify::kWordBytes == 0 && read.offset <= staging.size() &&
                  read.bytes <= staging.size() - read.offset;
  if (ok) {
    const uint64_t bytes = std::min(kReadSliceBytes, read.bytes - done);
    const uint64_t* from = verify::WordsAt(staging.data(), read.offset + done);
    verify::CopySharedToShared(read.shared, read.shared_offset + done, from, bytes);
    reading.done += bytes;
    if (reading.done < read.bytes) {
      reads_.push_back(reading);
      return PortEvent{.kind = PortEvent::Kind::kProgress};
    }
  }
  return PortEvent{.kind = PortEvent::Kind::kReadDone, .peer = id, .tag = read.tag, .ok = ok};
}

// One message of the next peer in turn that owes nothing.
std::optional<PortEvent> ShmPort::TakeMessage() {
  for (size_t i = 0; i < peers_.size(); ++i) {
    if (next_peer_ >= peers_.size()) next_peer_ = 0;
    Peer& peer = *peers_[next_peer_++];
    if (peer.owes_reply || peer.requests.empty()) continue;
    size_t bytes = 0;
    const auto verdict = peer.requests.Read(message_, &bytes);
    if (verdict == RingReader::Verdict::kNone) continue;  // the peer took its message back
    if (verdict == RingReader::Verdict::kBroken) {
      closed_.push_back(peer.id);
      return TakeClosed();
    }
    peer.owes_reply = true;
    return PortEvent{.kind = PortEvent::Kind::kMessage,
                     .peer = peer.id,
                     .message = std::span<const std::byte>(message_).first(bytes)};
  }
  return std::nullopt;
}

std::optional<PortEvent> ShmPort::Poll() {
  if (++polls_ % kPollsPerWatch == 0) WatchSockets();
  if (auto event = TakeNew()) return event;
  if (auto event = TakeClosed()) return event;
  const auto read = ReadSome();
  if (read && read->kind != PortEvent::Kind::kProgress) return read;
  if (auto event = TakeMessage()) return event;
  return read;
}

// A client sends no more requests than its ring of replies has room for, so a full ring is a broken
// peer.
void ShmPort::Send(PeerId id, std::span<const std::byte> message) {
  Peer* peer = Find(id);
  if (peer == nullptr) return;
  peer->owes_reply = false;
  if (peer->replies.Write(message) != RingWriter::Verdict::kWritten) {
    closed_.push_back(id);
    return;
  }
  if (peer->replies.TakeSleeper()) WakePeer(peer->socket.get());
}

void ShmPort::Read(PeerId id, const PeerRead& read) {
  if (Find(id) != nullptr) reads_.push_back({id, read});
}

// The closed word tells a client that READs, closing the socket one that sleeps; descriptors leave
// the epoll by themselves.
void ShmPort::Close(PeerId id) {
  const auto it = std::ranges::find(peers_, id, [](const auto& peer) { return peer->id; });
  if (it == peers_.end()) return;
  // Pairs with ShmConnection::alive. The fence keeps every later store behind it: a client that
  // READs such a word sees that the connection was closed before.
  (*it)->channel.closed()->store(1, std::memory_order_release);
  std::atomic_thread_fence(std::memory_order_release);
  peers_.erase(it);
  std::erase_if(reads_, [id](const auto& read) { return read.peer == id; });
}

// Notes the dead peers; returns whether the bell has rung. The bell stays readable until Disarm: a
// Wake that comes in the middle of polls must outlast them, or the sleep that follows misses it.
bool ShmPort::WatchSockets() {
  bool rung = false;
  std::array<epoll_event, 16> events;
  const int count = ::epoll_wait(epoll_.get(), events.data(), static_cast<int>(events.size()), 0);
  for (int i = 0; i < count; ++i) {
    const uint64_t id = events[static_cast<size_t>(i)].data.u64;
    if (id == kBellTag) {
      rung = true;
      continue;
    }
    const Peer* peer = Find(id);
    if (peer != nullptr && !TakeWakes(peer->socket.get())) closed_.push_back(id);
  }
  return rung;
}

bool ShmPort::Arm() {
  if (has_new_.load(std::memory_order_acquire) || !closed_.empty() || !reads_.empty()) return false;
  for (const auto& peer : peers_) {
    // What a peer sends before its reply has to wait, and is no reason to stay awake.
    if (!peer->owes_reply && !peer->requests.Sleep()) return false;
  }
  return true;
}

void ShmPort::Disarm() {
  for (const auto& peer : peers_) peer->requests.StayAwake();
  if (WatchSockets()) Drain(bell_.get());
}

}  // namespace plov::fabric::shm
