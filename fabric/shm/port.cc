#include "fabric/shm/port.h"

#include <sys/epoll.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "verify/words.h"

namespace plov::fabric::shm {

namespace {

// How long a wake or a death may stay unseen while the port polls. An epoll_wait costs about as much
// as a PUT: so seldom, a busy port pays it with less than a hundredth of its time.
constexpr std::chrono::microseconds kBusyLook{50};
constexpr std::chrono::microseconds kQuietLook{5};
// The clock is read once in so much work: of that a poll is one, and every so many bytes of a
// message, since what they ask for takes time.
constexpr size_t kWorkPerClock = 16;
constexpr size_t kBytesPerWork = 512;
// At most so many wakes are heard at a time, however many peers ring on purpose: a tenth of a busy
// port's time. Deaths are heard besides, in so many rounds of as many: a peer dies once.
constexpr size_t kWakesPerLook = 16;
constexpr size_t kRoundsPerLook = 8;
// To be woken by a peer costs about as much as so many looks into its ring; so who keeps looking as
// long as that pays at most twice what it had to. A sleep counts as some of these messages, that an
// idle port, too, forgets who is silent.
constexpr uint64_t kSilentMessages = 1024;
constexpr uint64_t kMessagesPerSleep = 64;
// Who sent none of the last of these is not waited for.
constexpr uint64_t kTalkMessages = 64;
// With more than these, who sent nothing when it was looked at gets cold at once: nobody who keeps
// thousands of peers hot makes others wait for more looks than that.
constexpr size_t kHotMax = 256;
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

ShmPort::~ShmPort() {
  for (const NewPeer& peer : new_peers_) TellClosed(peer.channel);
  for (const auto& [id, peer] : peers_) TellClosed(peer->channel);
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
  if (last_ != nullptr && last_->id == id) return last_;
  const auto it = peers_.find(id);
  return it == peers_.end() ? nullptr : it->second.get();
}

void ShmPort::Heat(Peer* peer) {
  peer->heard_at = age_;
  if (peer->hot_index != kCold) return;
  peer->requests.StayAwake();
  peer->hot_index = hot_.size();
  hot_.push_back(peer);
}

// False when it has just sent something.
bool ShmPort::Cool(Peer* peer) {
  if (!peer->requests.Sleep()) return false;
  RemoveFromHot(peer);
  return true;
}

// The last one takes its place.
void ShmPort::RemoveFromHot(Peer* peer) {
  if (peer->hot_index == kCold) return;
  hot_[peer->hot_index] = hot_.back();
  hot_.back()->hot_index = peer->hot_index;
  hot_.pop_back();
  peer->hot_index = kCold;
}

bool ShmPort::IsSilent(const Peer& peer) const {
  return age_ - peer.heard_at > kSilentMessages || hot_.size() > kHotMax;
}

std::optional<PortEvent> ShmPort::TakeNew() {
  if (!has_new_.load(std::memory_order_acquire)) return std::nullopt;  // pairs with Adopt
  NewPeer fresh;
  {
    const std::lock_guard lock(mutex_);
    fresh = std::move(new_peers_.front());
    new_peers_.pop_front();
    has_new_.store(!new_peers_.empty(), std::memory_order_release);
  }
  auto peer = std::make_unique<Peer>();
  peer->id = ++last_id_;
  peer->socket = std::move(fresh.socket);
  peer->channel = std::move(fresh.channel);
  peer->staging = StagingView(fresh.staging_bytes);
  peer->place = std::move(fresh.place);
  peer->requests = RingReader(peer->channel.request_control(), peer->channel.request_data());
  peer->replies = RingWriter(peer->channel.reply_control(), peer->channel.reply_data());
  epoll_event event{.events = EPOLLIN | EPOLLRDHUP, .data = {.u64 = peer->id}};
  ::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, peer->socket.get(), &event);
  connection_bytes_ += peer->channel.mapping.bytes().size();
  Heat(peer.get());
  const bool administers = peer->place.is_administrators();
  peers_.emplace(last_id_, std::move(peer));
  return PortEvent{.kind = PortEvent::Kind::kOpened,
                   .peer = last_id_,
                   .client_id = fresh.client_id,
                   .user = fresh.user,
                   .may_write = fresh.may_write,
                   .reads_only = fresh.reads_only,
                   .never_writes = fresh.never_writes,
                   .administers = administers};
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

// A slice of a copy, from the client's staging memory to memory of our own and from there, masked,
// into the record; the record is sealed over what arrived. Others have their turn after each.
std::optional<PortEvent> ShmPort::ReadSome() {
  if (reads_.empty()) return std::nullopt;
  Reading reading = reads_.front();
  reads_.pop_front();
  const auto [id, read, done] = reading;
  const StagingView& staging = Find(id)->staging;
  work_ += kWorkPerClock;
  const uint64_t bytes = read.SliceBytesAt(done);
  const auto slice = std::span(slice_).first(bytes);
  const bool ok =
      staging.Allows(read.offset, read.bytes) && staging.Copy(read.offset + done, slice);
  if (ok) {
    read.StoreSlice(done, slice);
    reading.done += bytes;
    if (reading.done < read.bytes) {
      reads_.push_back(reading);
      return PortEvent{.kind = PortEvent::Kind::kProgress};
    }
  }
  return PortEvent{.kind = PortEvent::Kind::kReadDone, .peer = id, .tag = read.tag, .ok = ok};
}

// One message of the next hot peer in turn that owes nothing.
std::optional<PortEvent> ShmPort::TakeMessage() {
  for (size_t looks = hot_.size(); looks > 0; --looks) {
    if (next_hot_ >= hot_.size()) next_hot_ = 0;
    Peer& peer = *hot_[next_hot_];
    if (!peer.owes_reply && peer.requests.empty() && IsSilent(peer) && Cool(&peer)) continue;
    ++next_hot_;
    if (peer.owes_reply || peer.requests.empty()) continue;
    size_t bytes = 0;
    const auto result = peer.requests.Read(message_, &bytes);
    if (result == RingReader::Result::kNone) continue;  // the peer took its message back
    if (result == RingReader::Result::kBroken) {
      closed_.push_back(peer.id);
      return TakeClosed();
    }
    peer.owes_reply = true;
    peer.heard_at = ++age_;
    last_ = &peer;
    work_ += bytes / kBytesPerWork;
    return PortEvent{.kind = PortEvent::Kind::kMessage,
                     .peer = peer.id,
                     .message = std::span<const std::byte>(message_).first(bytes)};
  }
  return std::nullopt;
}

// Closing takes longer than most messages: where thousands die at once, the living have every other
// turn.
std::optional<PortEvent> ShmPort::Take() {
  if (auto event = TakeNew()) return event;
  if (std::exchange(closed_last_, false)) {
    if (auto event = TakeWork()) return event;
  }
  if (auto event = TakeClosed()) {
    closed_last_ = true;
    return event;
  }
  return TakeWork();
}

// A message comes before the next slice of a value.
std::optional<PortEvent> ShmPort::TakeWork() {
  const auto read = ReadSome();
  if (read && read->kind != PortEvent::Kind::kProgress) return read;
  if (auto event = TakeMessage()) return event;
  return read;
}

std::optional<PortEvent> ShmPort::Poll() {
  if (LookIsDue()) WatchSockets();
  auto event = Take();
  quiet_ = !event.has_value();
  return event;
}

bool ShmPort::LookIsDue() {
  if (++work_ < kWorkPerClock) return false;
  work_ = 0;
  const Clock::time_point now = Clock::now();
  if (now - looked_at_ < (quiet_ ? kQuietLook : kBusyLook)) return false;
  looked_at_ = now;
  return true;
}

// A client sends no more requests than its ring of replies has room for, so a full ring is a broken
// peer.
void ShmPort::Send(PeerId id, std::span<const std::byte> message) {
  Peer* peer = Find(id);
  if (peer == nullptr) return;
  peer->owes_reply = false;
  if (peer->replies.Write(message) != RingWriter::Result::kWritten) {
    closed_.push_back(id);
    return;
  }
  if (peer->replies.TakeSleeper()) WakePeer(peer->socket.get());
}

void ShmPort::Read(PeerId id, const PeerRead& read) {
  Peer* peer = Find(id);
  if (peer == nullptr) return;
  // What was passed before the message is there, though nobody may have looked. Without it there is
  // nothing to READ: a client that lies, or no descriptor was left to take it. It may come back.
  if (!peer->staging.has_memory()) HearWakes(peer);
  if (!peer->staging.has_memory()) return closed_.push_back(id);
  reads_.push_back({id, read});
}

// Pairs with ShmConnection::alive. The fence keeps every later store behind it: a client that READs
// such a word sees that the connection was closed before.
void ShmPort::TellClosed(const Channel& channel) {
  channel.closed()->store(1, std::memory_order_release);
  std::atomic_thread_fence(std::memory_order_release);
}

// The closed word tells a client that READs, closing the socket one that sleeps until fd() is readable;
// descriptors leave the epoll by themselves.
void ShmPort::Close(PeerId id) {
  const auto it = peers_.find(id);
  if (it == peers_.end()) return;
  Peer* peer = it->second.get();
  TellClosed(peer->channel);
  RemoveFromHot(peer);
  if (last_ == peer) last_ = nullptr;
  connection_bytes_ -= peer->channel.mapping.bytes().size();
  peers_.erase(it);
  std::erase_if(reads_, [id](const auto& read) { return read.peer == id; });
}

// False when it has hung up.
bool ShmPort::HearWakes(Peer* peer) {
  Fd file;
  const bool there = TakeWakes(peer->socket.get(), &file);
  if (file) peer->staging.Take(std::move(file));
  return there;
}

// One that died leaves the epoll, whose other events are waited for, too; it is closed in turn.
void ShmPort::NoteDead(Peer* peer) {
  ::epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, peer->socket.get(), nullptr);
  closed_.push_back(peer->id);
}

// Heats those that woke us and notes the dead; returns whether the bell has rung. The bell stays
// readable until Disarm: a Wake that comes in the middle of polls must outlast them, or the sleep
// that follows misses it.
bool ShmPort::WatchSockets() {
  bool rung = false;
  size_t wakes = 0;
  std::array<epoll_event, kWakesPerLook> events;
  for (size_t round = 0; round < kRoundsPerLook && wakes < kWakesPerLook; ++round) {
    const int count = ::epoll_wait(epoll_.get(), events.data(), kWakesPerLook, 0);
    for (int i = 0; i < count; ++i) {
      const uint64_t id = events[static_cast<size_t>(i)].data.u64;
      if (id == kBellTag) rung = true;
      Peer* peer = Find(id);
      if (peer == nullptr) continue;
      if (!HearWakes(peer)) {
        NoteDead(peer);
        continue;
      }
      Heat(peer);
      ++wakes;
    }
    if (count < static_cast<int>(events.size())) break;
  }
  return rung;
}

// The cold ones are armed as it is.
bool ShmPort::Arm() {
  if (has_new_.load(std::memory_order_acquire) || !closed_.empty() || !reads_.empty()) return false;
  for (Peer* peer : hot_) {
    // What a peer sends before its reply has to wait, and is no reason to stay awake.
    if (!peer->owes_reply && !peer->requests.Sleep()) return false;
  }
  return true;
}

// Of those that talk to us now: where a reader was when it last wrote says nothing.
bool ShmPort::OnPeersCore() {
  const uint32_t core = ThisCore();
  bool is_here = false;
  for (Peer* peer : hot_) {
    peer->requests.ShowCore(core);
    const bool talks = age_ - peer->heard_at < kTalkMessages;
    is_here = is_here || (talks && peer->replies.ConsumerIsOn(core));
  }
  return is_here;
}

void ShmPort::Disarm() {
  StayAwake();
  if (WatchSockets()) ClearEvent(bell_.get());
}

void ShmPort::StayAwake() {
  age_ += kMessagesPerSleep;
  for (Peer* peer : hot_) peer->requests.StayAwake();
}

}  // namespace plov::fabric::shm
