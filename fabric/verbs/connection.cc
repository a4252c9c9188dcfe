#include "fabric/verbs/connection.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace plov::fabric::verbs {

namespace {

// wr_id: a receive carries its buffer, a send its number.
constexpr uint64_t kReceiveTag = uint64_t{1} << 63;
// Work requests that go with one doorbell.
constexpr size_t kBatchMax = 16;
// Polls that find nothing between two looks at rdmacm's events, which are a system call.
constexpr uint32_t kEmptyPollsPerLook = 256;
// Staging memory up to this is pinned at the set-up; more only once it is used.
constexpr size_t kEagerStagingBytes = size_t{256} << 10;

}  // namespace

VerbsConnection::VerbsConnection(ClientParts parts)
    : parts_(std::move(parts)),
      limits_{.region_bytes = parts_.region.bytes,
              .staging_bytes = parts_.staging_bytes,
              .message_bytes_max = parts_.reads_only ? 0 : kMessageBytesMax,
              .read_depth = parts_.depths.initiator},
      reads_(parts_.region, parts_.depths.initiator, std::move(parts_.bounce)) {}

void ClientParts::ReleaseDevice() {
  qp.Destroy();
  sends.mr.reset();
  replies.mr.reset();
  cq.reset();
  completions.reset();
  pd.reset();
  device.reset();
  if (id != nullptr) ::rdma_disconnect(id.get());
  id.reset();
}

VerbsConnection::~VerbsConnection() { Die(); }

std::expected<void, Error> VerbsConnection::Open() {
  for (uint32_t buffer = 0; buffer < parts_.sizes().receives; ++buffer) {
    if (!PostReply(buffer)) return Fail(Code::kSystem, "the RDMA device takes no receive buffers");
  }
  if (parts_.staging_bytes > 0 && parts_.staging_bytes <= kEagerStagingBytes) {
    auto staging = RegisteredPages::Create(parts_.pd.get(), parts_.staging_bytes, kRemoteRead);
    if (!staging) return Fail(Code::kSystem, staging.error().message);
    staging_ = std::move(*staging);
  }
  return {};
}

void VerbsConnection::Begin() {
  if (staging_.mr != nullptr) staging_announced_ = AnnounceStaging();
}

// Whether the work request that is about to be posted asks for a completion.
bool VerbsConnection::Signals(bool must) {
  if (!must && ++unsignaled_ < kSignalEvery) return false;
  unsignaled_ = 0;
  return true;
}

void VerbsConnection::PostReads() {
  while (!dead_) {
    std::array<ibv_send_wr, kBatchMax> requests;
    std::array<ibv_sge, kBatchMax> destinations;
    size_t count = 0;
    while (count < kBatchMax && HasRoom() &&
           reads_.NextPiece(&requests[count], &destinations[count])) {
      kinds_[posted_ % kWorkRequestsMax] = Posted::kRead;
      requests[count].wr_id = posted_++;
      if (Signals(false)) requests[count].send_flags = IBV_SEND_SIGNALED;
      if (count > 0) requests[count - 1].next = &requests[count];
      ++count;
    }
    if (count == 0) return;
    requests[count - 1].send_flags = IBV_SEND_SIGNALED;
    unsignaled_ = 0;
    if (!parts_.qp.Post(requests.data())) return Die();
  }
}

size_t VerbsConnection::Read(std::span<const ReadOp> batch) {
  const size_t count = reads_.Take(batch);
  PostReads();
  return count;
}

size_t VerbsConnection::Poll(std::span<Completion> completions) {
  if (reads_.idle()) return 0;
  PollCompletions();
  PostReads();
  const size_t count = reads_.Collect(completions);
  if (count == 0 && ++empty_polls_ % kEmptyPollsPerLook == 0) LookAtEvents();
  return count;
}

bool VerbsConnection::PostSend(std::span<const std::byte> bytes, bool announces) {
  const bool is_inline = bytes.size() <= kInlineBytes;
  if (dead_ || !HasRoom()) return false;
  ibv_sge gather{
      .addr = AddressOf(bytes.data()), .length = static_cast<uint32_t>(bytes.size()), .lkey = 0};
  if (!is_inline) {
    if (sends_posted_ - sends_done_ == kSendBuffers) return false;
    std::byte* buffer = parts_.sends.at(sends_posted_ % kSendBuffers * kMessageBytesMax);
    std::memcpy(buffer, bytes.data(), bytes.size());
    gather.addr = AddressOf(buffer);
    gather.lkey = parts_.sends.lkey();
    ++sends_posted_;
  }
  ibv_send_wr request{};
  request.wr_id = posted_;
  request.sg_list = &gather;
  request.num_sge = bytes.empty() ? 0 : 1;
  request.opcode = announces ? IBV_WR_SEND_WITH_IMM : IBV_WR_SEND;
  if (is_inline) request.send_flags |= IBV_SEND_INLINE;
  if (Signals(!is_inline)) request.send_flags |= IBV_SEND_SIGNALED;
  kinds_[posted_++ % kWorkRequestsMax] = is_inline ? Posted::kInlineSend : Posted::kSend;
  if (parts_.qp.Post(&request)) return true;
  Die();
  return false;
}

// With nothing unanswered, so that whatever reply comes next is one to a later message.
bool VerbsConnection::AnnounceStaging() {
  if (unanswered_ > 0) return false;
  const Announcement announcement{kWireMagic, AddressOf(staging_.bytes().data()),
                                  staging_.bytes().size(), staging_.mr->rkey, 0};
  announcement_on_its_way_ = PostSend(std::as_bytes(std::span(&announcement, 1)), true);
  return announcement_on_its_way_;
}

bool VerbsConnection::Send(std::span<const std::byte> message) {
  if (parts_.reads_only || message.size() > kMessageBytesMax) return false;
  if (!HasRoom() || sends_posted_ - sends_done_ == kSendBuffers) PollCompletions();
  if (!staging_announced_ && staging_.mr != nullptr) {
    staging_announced_ = AnnounceStaging();
    if (!staging_announced_) return false;
  }
  if (unanswered_ + (announcement_on_its_way_ ? 1 : 0) >= kCredits) return false;
  if (!PostSend(message, false)) return false;
  ++unanswered_;
  return true;
}

bool VerbsConnection::PostReply(uint32_t buffer) {
  const std::span memory(parts_.replies.at(size_t{buffer} * kMessageBytesMax), kMessageBytesMax);
  return parts_.qp.PostReceive(kReceiveTag | buffer, memory, parts_.replies.lkey());
}

std::optional<std::span<const std::byte>> VerbsConnection::Receive() {
  if (held_ && !dead_ && !PostReply(*held_)) Die();
  held_.reset();
  if (std::exchange(armed_, false) && !dead_) {
    DrainEvents(parts_.completions.get());
    LookAtEvents();
    if (fabric::ClearEvent(parts_.timer.get())) AskWhetherAlive();
  }
  if (received_.empty() && !dead_) PollCompletions();
  if (received_.empty()) {
    if (++empty_polls_ % kEmptyPollsPerLook == 0) LookAtEvents();
    return std::nullopt;
  }
  const Reply reply = received_.front();
  received_.pop_front();
  held_ = reply.buffer;
  if (unanswered_ == 0) {  // nobody asked
    Die();
    return std::nullopt;
  }
  --unanswered_;
  announcement_on_its_way_ = false;
  return std::span<const std::byte>(parts_.replies.at(size_t{reply.buffer} * kMessageBytesMax),
                                    reply.bytes);
}

// Large staging memory is pinned by whoever uses it first, and announced before the next message.
std::expected<std::span<std::byte>, Error> VerbsConnection::staging() {
  if (parts_.reads_only) return Fail(Code::kPermission, kOnlyReads);
  if (parts_.staging_bytes == 0) return Fail(Code::kPermission, kMayNotWrite);
  if (!dead_ && staging_.mr == nullptr && parts_.staging_bytes > 0) {
    auto staging = RegisteredPages::Create(parts_.pd.get(), parts_.staging_bytes, kRemoteRead);
    if (!staging) return Fail(Code::kSystem, staging.error().message);
    staging_ = std::move(*staging);
  }
  return staging_.bytes();
}

void VerbsConnection::Retire(uint64_t number) {
  for (; retired_ <= number; ++retired_) {
    const Posted kind = kinds_[retired_ % kWorkRequestsMax];
    if (kind == Posted::kRead) reads_.Complete();
    if (kind == Posted::kSend) ++sends_done_;
    if (kind == Posted::kProbe) asked_ = false;
  }
}

void VerbsConnection::OnCompletion(const ibv_wc& completion) {
  if (completion.status != IBV_WC_SUCCESS) return Die();
  if ((completion.wr_id & kReceiveTag) == 0) return Retire(completion.wr_id);
  received_.push_back(
      {static_cast<uint32_t>(completion.wr_id & ~kReceiveTag), completion.byte_len});
}

void VerbsConnection::PollCompletions() {
  std::array<ibv_wc, kCompletionsPerPoll> completions;
  while (!dead_) {
    const int count = ::ibv_poll_cq(parts_.cq.get(), kCompletionsPerPoll, completions.data());
    if (count < 0) return Die();
    for (const ibv_wc& completion : std::span(completions).first(static_cast<size_t>(count))) {
      if (!dead_) OnCompletion(completion);
    }
    if (count < kCompletionsPerPoll) return;
  }
}

void VerbsConnection::LookAtEvents() {
  while (CmEvent event = parts_.channel.Next()) {
    const bool ends = EndsConnection(*event);
    event.reset();  // an identifier waits for its events to be acknowledged
    if (!ends || dead_) continue;
    PollCompletions();
    Die();
  }
}

// While a reply is waited for: the request may have arrived, and the server's machine died since.
// READs need no such question, a queue pair fails when they are not answered.
void VerbsConnection::AskWhetherAlive() {
  if (unanswered_ == 0 || dead_) {
    SetTimer(parts_.timer.get(), {});
    timer_runs_ = false;
    return;
  }
  if (asked_ || !HasRoom()) return;
  ibv_send_wr request = ZeroRead(posted_);
  unsignaled_ = 0;
  asked_ = true;
  kinds_[posted_++ % kWorkRequestsMax] = Posted::kProbe;
  if (!parts_.qp.Post(&request)) Die();
}

// The device is done with all our memory once the queue pair is gone. All of it is let go: the
// device may be about to be removed, and whoever owns this connection may keep it for long.
void VerbsConnection::Die() {
  dead_ = true;
  parts_.qp.Destroy();
  reads_.Fail();
  staging_.mr.reset();
  parts_.ReleaseDevice();
}

bool VerbsConnection::Arm() {
  if (dead_) return false;
  if (::ibv_req_notify_cq(parts_.cq.get(), 0) != 0) return false;
  PollCompletions();
  PostReads();  // pieces that had no room: nothing else would end the sleep
  LookAtEvents();
  if (dead_ || !received_.empty() || reads_.has_finished()) return false;
  armed_ = true;
  if (unanswered_ > 0 && !std::exchange(timer_runs_, true)) {
    SetTimer(parts_.timer.get(), kAskPeriod);
  }
  return true;
}

}  // namespace plov::fabric::verbs
