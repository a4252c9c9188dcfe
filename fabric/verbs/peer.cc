#include "fabric/verbs/peer.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "verify/words.h"

namespace plov::fabric::verbs {

namespace {

constexpr uint32_t kNumberMask = (uint32_t{1} << 23) - 1;
// Work requests of one peer beyond which no READ is posted. Leaves room for replies.
constexpr size_t kReadsPosted = 16;

}  // namespace

std::expected<std::unique_ptr<Peer>, Error> Peer::Create(PeerId number, rdma_cm_id* id,
                                                         PortDevice* device, QpSizes sizes) {
  std::unique_ptr<Peer> peer(new Peer(number, sizes));
  if (!peer->reads_only()) {
    auto requests = RegisteredPages::Create(device->pd, peer->PinnedBytes(), kLocalOnly);
    if (!requests) return std::unexpected(requests.error());
    peer->requests_ = std::move(*requests);
  }
  auto qp = Qp::Create(id, device->pd, device->cq.get(), sizes);
  if (!qp) return std::unexpected(qp.error());
  peer->qp_ = std::move(*qp);
  for (uint32_t buffer = 0; buffer < sizes.receives; ++buffer) {
    if (!peer->PostAgain(buffer)) {
      return Fail(Code::kSystem, "the RDMA device takes no receive buffers");
    }
  }
  return peer;
}

// The queue pair first: from then on nothing of ours is READ.
Peer::~Peer() {
  qp_.Destroy();
  if (id_ != nullptr) ::rdma_disconnect(id_.get());
}

bool Peer::PostAgain(uint32_t buffer) {
  const std::span memory(requests_.at(size_t{buffer} * kMessageBytesMax), kMessageBytesMax);
  return qp_.PostReceive(CompletionTag{number_, true, buffer}.Pack(), memory, requests_.lkey());
}

std::span<const std::byte> Peer::BytesOf(const Message& message) const {
  return {requests_.at(size_t{message.buffer} * kMessageBytesMax), message.bytes};
}

// Even a message of the largest size is copied in a microsecond or two, in which it would otherwise
// keep a third buffer pinned.
std::optional<std::span<const std::byte>> Peer::TakeMessage(std::span<std::byte> to) {
  const Message message = messages_.front();
  messages_.pop_front();
  owes_reply = true;
  const auto bytes = BytesOf(message);
  std::ranges::copy(bytes, to.begin());
  if (!PostAgain(message.buffer)) return std::nullopt;
  return to.first(bytes.size());
}

// A READ of no bytes: the peer's card, or its kernel, answers it, and no key is looked at. When
// nothing answers, the queue pair fails. Replies that are on their way would not do: they may have
// been acknowledged long ago without a completion.
bool Peer::AskWhetherAlive() {
  if (!std::exchange(silent_, true) || asked_ || posted_.size() >= sizes_.sends) return true;
  asked_ = true;
  ibv_send_wr request = ZeroRead(TagOfNext());
  unsignaled_ = 0;
  posted_.push_back({Posted::Kind::kProbe, 0});
  return qp_.Post(&request);
}

bool Peer::OnReceive(const ibv_wc& completion) {
  silent_ = false;
  if ((completion.wc_flags & IBV_WC_WITH_IMM) != 0) return Announce(completion);
  if (!std::exchange(has_sent_message_, true)) claim_.OnSpoken();
  messages_.push_back({CompletionTag::Of(completion.wr_id).number, completion.byte_len});
  return true;
}

// Its word for where its memory is; the card refuses what is not the peer's own, and the peer's
// READs harm nobody but itself.
bool Peer::Announce(const ibv_wc& completion) {
  const uint32_t buffer = CompletionTag::Of(completion.wr_id).number;
  const auto bytes = BytesOf({buffer, completion.byte_len});
  Announcement announcement;
  if (staging_ || bytes.size() != sizeof(announcement)) return false;
  std::memcpy(&announcement, bytes.data(), sizeof(announcement));
  if (announcement.magic != kWireMagic || announcement.bytes > staging_bytes_max_ ||
      announcement.address + announcement.bytes < announcement.address) {
    return false;
  }
  staging_ = announcement;
  return PostAgain(buffer);
}

uint64_t Peer::TagOfNext() const {
  const uint64_t number = retired_ + posted_.size();
  return CompletionTag{number_, false, static_cast<uint32_t>(number & kNumberMask)}.Pack();
}

bool Peer::Reply(std::span<const std::byte> message, ReplyPool* pool) {
  if (posted_.size() >= sizes_.sends || message.size() > kMessageBytesMax) return false;
  ibv_sge gather{.addr = AddressOf(message.data()),
                 .length = static_cast<uint32_t>(message.size()),
                 .lkey = 0};
  ibv_send_wr request{};
  request.wr_id = TagOfNext();
  request.sg_list = &gather;
  request.num_sge = message.empty() ? 0 : 1;
  request.opcode = IBV_WR_SEND;
  Posted posted{Posted::Kind::kInlineReply, 0};
  if (message.size() <= kInlineBytes) {
    request.send_flags = IBV_SEND_INLINE;
    if (++unsignaled_ >= kSignalEvery) request.send_flags |= IBV_SEND_SIGNALED;
  } else {
    const auto buffer = pool->Take();
    if (!buffer) return false;
    std::memcpy(buffer->memory, message.data(), message.size());
    gather.addr = AddressOf(buffer->memory);
    gather.lkey = buffer->lkey;
    request.send_flags = IBV_SEND_SIGNALED;
    posted = {Posted::Kind::kReply, buffer->index};
  }
  if ((request.send_flags & IBV_SEND_SIGNALED) != 0) unsignaled_ = 0;
  posted_.push_back(posted);
  return qp_.Post(&request);
}

bool Peer::InStaging(const PeerRead& read) const {
  return read.offset % verify::kWordBytes == 0 && read.offset <= staging_->bytes &&
         read.bytes <= staging_->bytes - read.offset;
}

// READs wait for the announcement, which is the first thing that an honest client sends, and for
// room among what is posted.
Peer::Slice Peer::PostSlice(Slices* slices, std::deque<std::pair<PeerId, ReadDone>>* done) {
  if (!staging_ && !has_sent_message_) return Slice::kWaits;
  Waiting& next = waiting_.front();
  const PeerRead read = next.read;
  if (!staging_ || !InStaging(read) || read.bytes == 0) {
    done->push_back({number_, {read.tag, staging_ && InStaging(read)}});
    waiting_.pop_front();
    return Slice::kPosted;
  }
  if (posted_.size() >= kReadsPosted) return Slice::kWaits;
  const uint32_t slice = slices->Take(read, next.posted);
  const auto memory = slices->MemoryOf(slice);
  ibv_sge scatter = {AddressOf(memory.data()), static_cast<uint32_t>(memory.size()),
                     slices->lkey()};
  ibv_send_wr request{};
  request.wr_id = TagOfNext();
  request.sg_list = &scatter;
  request.num_sge = 1;
  request.opcode = IBV_WR_RDMA_READ;
  request.send_flags = IBV_SEND_SIGNALED;
  request.wr.rdma.remote_addr = staging_->address + read.offset + next.posted;
  request.wr.rdma.rkey = staging_->rkey;
  next.posted += memory.size();
  if (next.posted == read.bytes) waiting_.pop_front();
  posted_.push_back({Posted::Kind::kRead, slice});
  unsignaled_ = 0;
  return qp_.Post(&request) ? Slice::kPosted : Slice::kBroken;
}

bool Peer::OnSent(uint32_t number, PortDevice* device,
                  std::deque<std::pair<PeerId, ReadDone>>* done) {
  silent_ = false;
  while (!posted_.empty()) {
    const Posted posted = posted_.front();
    posted_.pop_front();
    if (posted.kind == Posted::Kind::kReply) device->replies.Give(posted.detail);
    if (posted.kind == Posted::Kind::kProbe) asked_ = false;
    if (posted.kind == Posted::Kind::kRead) {
      if (const auto read = device->slices.Store(posted.detail)) {
        done->push_back({number_, {read->tag, true}});
      }
      device->slices.Give(posted.detail);
    }
    if ((retired_++ & kNumberMask) == number) return true;
  }
  return false;  // of a work request that there is not
}

// The queue pair is gone, so nothing uses the buffers any more.
void Peer::Abandon(PortDevice* device) {
  qp_.Destroy();
  for (const Posted& posted : posted_) {
    if (posted.kind == Posted::Kind::kReply) device->replies.Give(posted.detail);
    if (posted.kind == Posted::Kind::kRead) device->slices.Give(posted.detail);
  }
  posted_.clear();
}

}  // namespace plov::fabric::verbs
