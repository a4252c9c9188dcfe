#include "fabric/verbs/port.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

namespace plov::fabric::verbs {

namespace {

// A busy port looks for dead peers this rarely: it is a system call.
constexpr uint32_t kPollsPerLook = 1024;

}  // namespace

std::expected<std::unique_ptr<VerbsPort>, Error> VerbsPort::Create(int detached_bell) {
  std::unique_ptr<VerbsPort> port(new VerbsPort(detached_bell));
  if (auto opened = port->Open(); !opened) return std::unexpected(opened.error());
  return port;
}

std::expected<void, Error> VerbsPort::Open() {
  auto events = EventChannel::Create();
  if (!events) return std::unexpected(events.error());
  events_ = std::move(*events);
  auto bell = CreateEventFd();
  if (!bell) return std::unexpected(bell.error());
  bell_ = std::move(*bell);
  auto timer = CreateTimerFd();
  if (!timer) return std::unexpected(timer.error());
  timer_ = std::move(*timer);
  auto epoll = CreateEpoll({bell_.get(), timer_.get(), events_.fd()});
  if (!epoll) return std::unexpected(epoll.error());
  epoll_ = std::move(*epoll);
  return {};
}

// Queue pairs before the queue that they complete to.
VerbsPort::~VerbsPort() {
  const std::lock_guard lock(mutex_);
  new_peers_.clear();
  peers_.clear();
  if (device_ != nullptr) DrainEvents(device_->channel.get());
}

std::expected<void, Error> VerbsPort::Attach(std::unique_ptr<PortDevice> device) {
  const std::lock_guard lock(mutex_);
  // Closing the channel, at last, takes it out of the epoll.
  if (auto watched = Watch(epoll_.get(), device->channel->fd); !watched) return watched;
  new_device_ = std::move(device);
  admits_to_ = new_device_.get();
  is_attached_ = true;
  has_new_.store(true, std::memory_order_release);  // pairs with TakeNew
  Wake();
  return {};
}

void VerbsPort::Detach() {
  const std::lock_guard lock(mutex_);
  if (!is_attached_) return;
  admits_to_ = nullptr;
  detach_wanted_ = true;
  has_new_.store(true, std::memory_order_release);  // pairs with TakeNew
  Wake();
}

bool VerbsPort::is_attached() {
  const std::lock_guard lock(mutex_);
  return is_attached_;
}

std::expected<void, Error> VerbsPort::Admit(CmId* id, Newcomer newcomer) {
  const std::lock_guard lock(mutex_);
  if (admits_to_ == nullptr) return Fail(Code::kUnavailable, "the RDMA device is gone");
  const QpSizes sizes = newcomer.reads_only ? kReaderSizes : kPeerSizes;
  if (auto room = admits_to_->MakeRoom(completions_ + sizes.completions()); !room) return room;
  const PeerId number = ++last_id_;
  rdma_cm_id* of = id->get();
  of->context = reinterpret_cast<void*>(number);
  if (::rdma_migrate_id(of, events_.get()) != 0) {
    return FailErrno("cannot take an RDMA connection over", errno);
  }
  auto peer = Peer::Create(number, of, admits_to_, sizes);
  if (!peer) return std::unexpected(peer.error());
  if (auto connected = (*peer)->qp().Connect(of, newcomer.depths); !connected) {
    return connected;
  }
  const Welcome& welcome = newcomer.welcome;
  (*peer)->Introduce(std::move(*id), newcomer.client_id, newcomer.claim, welcome.staging_bytes);
  (*peer)->place = std::move(newcomer.place);
  (*peer)->may_write = newcomer.may_write;
  (*peer)->never_writes = newcomer.never_writes;
  rdma_conn_param param{};
  param.private_data = &welcome;
  param.private_data_len = sizeof(welcome);
  param.responder_resources = newcomer.depths.responder;
  param.initiator_depth = newcomer.depths.initiator;
  param.rnr_retry_count = kRnrRetries;
  param.qp_num = (*peer)->qp().number();
  new_peers_.push_back(std::move(*peer));
  completions_ += sizes.completions();
  has_new_.store(true, std::memory_order_release);  // pairs with TakeNew
  if (::rdma_accept(of, &param) != 0) failed_.push_back(number);
  Wake();
  return {};
}

void VerbsPort::TakeNew() {
  if (!has_new_.load(std::memory_order_acquire)) return;  // pairs with Admit
  const std::lock_guard lock(mutex_);
  if (new_device_ != nullptr) device_ = std::move(new_device_);
  if (peers_.empty() && !new_peers_.empty()) SetTimer(timer_.get(), kAskSilentPeriod);
  for (auto& peer : new_peers_) {
    const PeerId id = peer->number();
    opened_.push_back(id);
    peer_bytes_ += peer->bytes();
    peers_.emplace(id, std::move(peer));
  }
  new_peers_.clear();
  for (const PeerId id : failed_) MarkGone(id);
  failed_.clear();
  if (std::exchange(detach_wanted_, false)) {
    detaching_ = true;
    for (const auto& [id, peer] : peers_) MarkGone(id);
  }
  has_new_.store(false, std::memory_order_release);
}

Peer* VerbsPort::Find(PeerId id) {
  if (last_found_ != nullptr && last_found_->number() == id) return last_found_;
  const auto it = peers_.find(id);
  if (it == peers_.end()) return nullptr;
  return last_found_ = it->second.get();
}

// Also one that was admitted a moment ago.
Peer* VerbsPort::FindNow(PeerId id) {
  if (Peer* peer = Find(id)) return peer;
  TakeNew();
  return Find(id);
}

void VerbsPort::OnCompletion(const ibv_wc& completion) {
  const CompletionTag tag = CompletionTag::Of(completion.wr_id);
  Peer* peer = FindNow(tag.peer);
  if (peer == nullptr) return;  // closed since
  bool sound = completion.status == IBV_WC_SUCCESS;
  if (sound && tag.is_receive) {
    const bool had_message = peer->has_message();
    sound = peer->OnReceive(completion);
    if (!had_message && peer->has_message() && !peer->owes_reply) ready_.push_back(tag.peer);
  } else if (sound) {
    sound = peer->OnSent(tag.number, device_.get(), &reads_done_);
  }
  if (!sound) MarkGone(tag.peer);
  PostReads();
}

// As long as anyone can have a slice of the memory.
void VerbsPort::PostReads() {
  for (size_t waits = 0; waits < reading_.size() && device_->slices.any_free();) {
    const PeerId id = reading_.front();
    reading_.pop_front();
    Peer* peer = Find(id);
    if (peer == nullptr) continue;
    const Peer::Slice slice = peer->PostSlice(&device_->slices, &reads_done_);
    if (slice == Peer::Slice::kBroken) MarkGone(id);
    if (slice != Peer::Slice::kBroken && peer->has_reads()) reading_.push_back(id);
    waits = slice == Peer::Slice::kWaits ? waits + 1 : 0;
  }
}

void VerbsPort::PollCompletions() {
  if (device_ == nullptr) return;
  std::array<ibv_wc, kCompletionsPerPoll> completions;
  int count = 0;
  do {
    count = ::ibv_poll_cq(device_->cq.get(), kCompletionsPerPoll, completions.data());
    for (int i = 0; i < count; ++i) OnCompletion(completions[static_cast<size_t>(i)]);
  } while (count == kCompletionsPerPoll);
}

void VerbsPort::LookAtEvents() {
  while (const CmEvent event = events_.Next()) {
    const auto id = reinterpret_cast<PeerId>(event->id->context);
    if (EndsConnection(*event) && FindNow(id) != nullptr) MarkGone(id);
  }
}

void VerbsPort::AskTheSilent() {
  if (!fabric::ClearEvent(timer_.get())) return;
  for (const auto& [id, peer] : peers_) {
    if (!peer->AskWhetherAlive()) MarkGone(id);
  }
}

std::optional<PortEvent> VerbsPort::TakeOpened() {
  while (!opened_.empty()) {
    const PeerId id = opened_.front();
    opened_.pop_front();
    if (const Peer* peer = Find(id)) {
      return PortEvent{.kind = PortEvent::Kind::kOpened,
                       .peer = id,
                       .client_id = peer->client_id(),
                       .may_write = peer->may_write,
                       .reads_only = peer->reads_only(),
                       .never_writes = peer->never_writes,
                       .administers = peer->place.is_administrators()};
    }
  }
  return std::nullopt;
}

std::optional<PortEvent> VerbsPort::TakeDoomed() {
  while (!gone_.empty()) {
    const PeerId id = gone_.front();
    gone_.pop_front();
    if (Find(id) == nullptr) continue;
    Close(id);
    return PortEvent{.kind = PortEvent::Kind::kClosed, .peer = id};
  }
  return std::nullopt;
}

std::optional<PortEvent> VerbsPort::TakeRead() {
  while (!reads_done_.empty()) {
    const auto [id, done] = reads_done_.front();
    reads_done_.pop_front();
    if (Find(id) == nullptr) continue;
    return PortEvent{
        .kind = PortEvent::Kind::kReadDone, .peer = id, .tag = done.tag, .ok = done.ok};
  }
  return std::nullopt;
}

std::optional<PortEvent> VerbsPort::TakeMessage() {
  while (!ready_.empty()) {
    const PeerId id = ready_.front();
    ready_.pop_front();
    Peer* peer = Find(id);
    if (peer == nullptr || peer->owes_reply || !peer->has_message()) continue;
    if (const auto message = peer->TakeMessage(message_)) {
      return PortEvent{.kind = PortEvent::Kind::kMessage, .peer = id, .message = *message};
    }
    MarkGone(id);
  }
  return std::nullopt;
}

std::optional<PortEvent> VerbsPort::Poll() {
  TakeNew();
  if (++polls_ % kPollsPerLook == 0) {
    LookAtEvents();
    AskTheSilent();
  }
  PollCompletions();
  if (auto event = TakeOpened()) return event;
  if (auto event = TakeDoomed()) return event;
  if (detaching_ && peers_.empty()) FinishDetach();
  if (auto event = TakeRead()) return event;
  return TakeMessage();
}

// Nobody is left, and nobody was admitted since Detach.
void VerbsPort::FinishDetach() {
  DrainEvents(device_->channel.get());
  detaching_ = false;
  const std::lock_guard lock(mutex_);
  device_.reset();
  is_attached_ = false;
  Ring(detached_bell_);
}

void VerbsPort::Send(PeerId id, std::span<const std::byte> message) {
  Peer* peer = Find(id);
  if (peer == nullptr) return;
  peer->owes_reply = false;
  if (!peer->Reply(message, &device_->replies)) return MarkGone(id);
  if (peer->has_message()) ready_.push_back(id);
}

void VerbsPort::Read(PeerId id, const PeerRead& read) {
  Peer* peer = Find(id);
  if (peer == nullptr) return;
  if (!peer->has_reads()) reading_.push_back(id);
  peer->QueueRead(read);
  PostReads();
}

// What makes the guarantee true is Qp::Destroy, which ~Peer begins with.
void VerbsPort::Close(PeerId id) {
  TakeNew();
  const auto it = peers_.find(id);
  if (it == peers_.end()) return;
  it->second->Abandon(device_.get());
  std::erase(opened_, id);
  std::erase_if(reads_done_, [id](const auto& done) { return done.first == id; });
  last_found_ = nullptr;
  const uint32_t completions = it->second->completions();
  peer_bytes_ -= it->second->bytes();
  {
    const std::lock_guard lock(mutex_);
    peers_.erase(it);
  }
  PollCompletions();  // its completions take no room from others
  PostReads();        // it had slices, perhaps
  const std::lock_guard lock(mutex_);
  completions_ -= completions;
  if (peers_.empty()) SetTimer(timer_.get(), {});
}

bool VerbsPort::HasWork() {
  return has_new_.load(std::memory_order_acquire) || !opened_.empty() || !gone_.empty() ||
         !reads_done_.empty() || !ready_.empty();
}

bool VerbsPort::Arm() {
  TakeNew();
  if (device_ != nullptr && ::ibv_req_notify_cq(device_->cq.get(), 0) != 0) return false;
  PollCompletions();
  return !HasWork();
}

// The bell stays readable until here: a Wake in the middle of polls must outlast them.
void VerbsPort::Disarm() {
  if (device_ != nullptr) DrainEvents(device_->channel.get());
  LookAtEvents();
  AskTheSilent();
  fabric::ClearEvent(bell_.get());
}

}  // namespace plov::fabric::verbs
