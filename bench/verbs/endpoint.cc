#include "bench/verbs/endpoint.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <random>

#include "fabric/verbs/qp.h"

namespace plov::bench {

namespace {

using fabric::verbs::AddressOf;

constexpr uint32_t kUdKey = 0x706c6f76;  // any, but not a privileged one (bit 31)
constexpr uint32_t kPacketNumberMask = 0xffffff;
constexpr uint8_t kHopLimit = 64;
constexpr uint64_t kLineBytes = 64;

// What the peer may do with this side's memory.
int PeerAccess(const Combination& combination, Side side) {
  if (side == Side::kClient) {
    return combination.reply == By::kWrite ? IBV_ACCESS_REMOTE_WRITE : 0;
  }
  const bool is_written = combination.is_polled() || combination.request == By::kWriteImm;
  return (is_written ? IBV_ACCESS_REMOTE_WRITE : 0) |
         (combination.has_reads() ? IBV_ACCESS_REMOTE_READ : 0);
}

std::string_view NameOf(ibv_qp_type type) {
  return type == IBV_QPT_UC ? "UC" : type == IBV_QPT_UD ? "UD" : "RC";
}

std::expected<void, Error> Modify(ibv_qp* qp, ibv_qp_attr* attributes, int mask) {
  if (const int failed = ::ibv_modify_qp(qp, attributes, mask); failed != 0) {
    return FailErrno("cannot set a queue pair up", failed);
  }
  return {};
}

}  // namespace

Endpoint::Endpoint(const Device& device, const Run& run, Side side)
    : device_(&device),
      combination_(run.combination),
      side_(side),
      bytes_(run.bytes),
      window_(run.window),
      stride_((kHeadBytes + run.bytes + kLineBytes - 1) / kLineBytes * kLineBytes),
      depth_(2 * run.window + 32),
      packet_number_(std::random_device()() & kPacketNumberMask) {}

std::expected<Endpoint, Error> Endpoint::Create(const Device& device, const Run& run, Side side) {
  if (run.combination->has_ud() && run.bytes > device.mtu_bytes()) {
    return Fail(Code::kInvalidArgument, "a SEND over UD is one packet: at most " +
                                            std::to_string(device.mtu_bytes()) + " bytes on " +
                                            device.name);
  }
  Endpoint endpoint(device, run, side);
  if (auto made = endpoint.Make(); !made) return std::unexpected(made.error());
  return endpoint;
}

std::expected<void, Error> Endpoint::Make() {
  pd_.reset(::ibv_alloc_pd(device_->context.get()));
  if (pd_ == nullptr) return FailErrno("cannot allocate a protection domain", errno);
  for (fabric::verbs::Cq* cq : {&send_cq_, &ud_send_cq_, &receive_cq_}) {
    auto made = fabric::verbs::CreateCq(device_->context.get(), nullptr, depth_);
    if (!made) return std::unexpected(made.error());
    *cq = std::move(*made);
  }
  const int access = IBV_ACCESS_LOCAL_WRITE | PeerAccess(*combination_, side_);
  auto pages = fabric::verbs::RegisteredPages::Create(pd_.get(), 2 * window_ * stride_,
                                                      static_cast<fabric::verbs::Access>(access));
  if (!pages) return std::unexpected(pages.error());
  pages_ = std::move(*pages);
  auto qp = MakeQp(combination_->is_uc() ? IBV_QPT_UC : IBV_QPT_RC);
  if (!qp) return std::unexpected(qp.error());
  qp_ = std::move(*qp);
  sends_.emplace(qp_.get(), depth_);
  if (!combination_->has_ud()) return {};
  auto ud = MakeQp(IBV_QPT_UD);
  if (!ud) return std::unexpected(ud.error());
  ud_ = std::move(*ud);
  ud_sends_.emplace(ud_.get(), depth_);
  return {};
}

std::expected<QueuePair, Error> Endpoint::MakeQp(ibv_qp_type type) {
  ibv_qp_init_attr wanted{};
  wanted.send_cq = type == IBV_QPT_UD ? ud_send_cq_.get() : send_cq_.get();
  wanted.recv_cq = receive_cq_.get();
  wanted.cap = {.max_send_wr = depth_,
                .max_recv_wr = depth_,
                .max_send_sge = 1,
                .max_recv_sge = 1,
                .max_inline_data = std::min(bytes_, fabric::verbs::kInlineBytes)};
  wanted.qp_type = type;
  QueuePair qp(::ibv_create_qp(pd_.get(), &wanted));
  if (qp == nullptr) {
    return Fail(Code::kInvalidArgument, device_->name + " cannot make a queue pair of type " +
                                            std::string(NameOf(type)) + ": " +
                                            std::strerror(errno));
  }
  inline_bytes_ = std::min(wanted.cap.max_inline_data, fabric::verbs::kInlineBytes);
  ibv_qp_attr attributes{};
  attributes.qp_state = IBV_QPS_INIT;
  attributes.port_num = device_->port;
  attributes.qkey = kUdKey;
  attributes.qp_access_flags = static_cast<unsigned>(PeerAccess(*combination_, side_));
  auto set = Modify(qp.get(), &attributes,
                    IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT |
                        (type == IBV_QPT_UD ? IBV_QP_QKEY : IBV_QP_ACCESS_FLAGS));
  if (!set) return std::unexpected(set.error());
  return qp;
}

Introduction Endpoint::introduction() const {
  Introduction own;
  own.address = AddressOf(pages_.bytes().data());
  own.rkey = pages_.mr->rkey;
  own.qp_number = qp_->qp_num;
  own.ud_qp_number = ud_ == nullptr ? 0 : ud_->qp_num;
  own.packet_number = packet_number_;
  own.lid = device_->lid;
  own.mtu = device_->mtu;
  std::memcpy(own.gid, device_->gid.raw, sizeof(own.gid));
  return own;
}

ibv_ah_attr Endpoint::PathToPeer() const {
  ibv_ah_attr path{};
  path.dlid = static_cast<uint16_t>(peer_.lid);
  path.port_num = device_->port;
  path.is_global = device_->is_ethernet;
  std::memcpy(path.grh.dgid.raw, peer_.gid, sizeof(peer_.gid));
  path.grh.sgid_index = device_->gid_index;
  path.grh.hop_limit = kHopLimit;
  return path;
}

std::expected<void, Error> Endpoint::Connect(const Introduction& peer) {
  peer_ = peer;
  const auto depths = fabric::verbs::DepthsOf(device_->context.get());
  if (!depths) return std::unexpected(depths.error());
  ibv_qp_attr receive{};
  receive.qp_state = IBV_QPS_RTR;
  receive.path_mtu = std::min(device_->mtu, static_cast<ibv_mtu>(peer_.mtu));
  receive.dest_qp_num = peer_.qp_number;
  receive.rq_psn = peer_.packet_number;
  receive.ah_attr = PathToPeer();
  receive.max_dest_rd_atomic = depths->responder;
  receive.min_rnr_timer = fabric::verbs::kRnrTimer;
  ibv_qp_attr send{};
  send.qp_state = IBV_QPS_RTS;
  send.sq_psn = packet_number_;
  send.max_rd_atomic = depths->initiator;
  send.timeout = fabric::verbs::kAckTimeout;
  send.retry_cnt = fabric::verbs::kRetries;
  send.rnr_retry = fabric::verbs::kRnrRetries;
  constexpr int kReceive =
      IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN;
  constexpr int kRcReceive = IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
  constexpr int kSend = IBV_QP_STATE | IBV_QP_SQ_PSN;
  constexpr int kRcSend =
      IBV_QP_MAX_QP_RD_ATOMIC | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY;
  const bool is_rc = !combination_->is_uc();
  auto ready = Modify(qp_.get(), &receive, kReceive | (is_rc ? kRcReceive : 0));
  if (ready) ready = Modify(qp_.get(), &send, kSend | (is_rc ? kRcSend : 0));
  if (!ready || ud_ == nullptr) return ready;
  ready = Modify(ud_.get(), &receive, IBV_QP_STATE);
  if (ready) ready = Modify(ud_.get(), &send, kSend);
  if (!ready) return ready;
  ibv_ah_attr path = PathToPeer();
  ud_path_.reset(::ibv_create_ah(pd_.get(), &path));
  if (ud_path_ == nullptr) return FailErrno("cannot make a path for UD", errno);
  return {};
}

ibv_sge Endpoint::Memory(uint64_t at) const {
  return {.addr = AddressOf(words(at)), .length = bytes_, .lkey = pages_.lkey()};
}

ibv_send_wr Endpoint::Request(ibv_wr_opcode opcode) const {
  ibv_send_wr request{};
  request.opcode = opcode;
  if (opcode != IBV_WR_RDMA_READ && bytes_ <= inline_bytes_) {
    request.send_flags = IBV_SEND_INLINE;
  }
  return request;
}

// A UD receive's memory begins with the global routing header.
std::expected<void, Error> Endpoint::PostReceive(uint64_t slot, Into into) {
  ibv_sge memory = Memory(InboxAt(slot));
  if (ud_ != nullptr) {
    memory.addr -= kHeadBytes;
    memory.length += kHeadBytes;
  }
  ibv_recv_wr request{
      .wr_id = slot, .next = nullptr, .sg_list = &memory, .num_sge = into == Into::kSlot ? 1 : 0};
  ibv_recv_wr* bad = nullptr;
  ibv_qp* qp = ud_ != nullptr ? ud_.get() : qp_.get();
  if (const int failed = ::ibv_post_recv(qp, &request, &bad); failed != 0) {
    return FailErrno("the device takes no receive buffer", failed);
  }
  return {};
}

std::expected<std::optional<uint64_t>, Error> Endpoint::PollReceive() {
  ibv_wc completion;
  const int count = ::ibv_poll_cq(receive_cq_.get(), 1, &completion);
  if (count == 0) return std::nullopt;
  if (count < 0 || completion.status != IBV_WC_SUCCESS) {
    return Fail(Code::kUnavailable,
                std::string("a receive failed: ") +
                    (count < 0 ? "no poll" : ::ibv_wc_status_str(completion.status)));
  }
  return completion.wr_id;
}

std::expected<void, Error> Endpoint::Send(By by, uint64_t slot) {
  if (by == By::kNothing || by == By::kRead) return {};
  if (by == By::kSend || by == By::kSendUd) {
    ibv_send_wr request = Request(IBV_WR_SEND);
    if (by == By::kSend) return sends_->Add(request, Memory(OutboxAt(slot)));
    request.wr.ud = {.ah = ud_path_.get(), .remote_qpn = peer_.ud_qp_number, .remote_qkey = kUdKey};
    return ud_sends_->Add(request, Memory(OutboxAt(slot)));
  }
  ibv_send_wr request =
      Request(by == By::kWriteImm ? IBV_WR_RDMA_WRITE_WITH_IMM : IBV_WR_RDMA_WRITE);
  request.wr.rdma = {.remote_addr = peer_.address + InboxAt(slot), .rkey = peer_.rkey};
  return sends_->Add(request, Memory(OutboxAt(slot)));
}

std::expected<void, Error> Endpoint::Read(uint64_t slot, uint64_t tag) {
  ibv_send_wr request = Request(IBV_WR_RDMA_READ);
  request.wr.rdma = {.remote_addr = peer_.address + OutboxAt(slot), .rkey = peer_.rkey};
  return sends_->Add(request, Memory(InboxAt(slot)), tag);
}

std::expected<void, Error> Endpoint::Flush() {
  if (auto flushed = sends_->Flush(); !flushed) return flushed;
  return ud_sends_ ? ud_sends_->Flush() : std::expected<void, Error>();
}

std::expected<void, Error> Endpoint::PollSends(std::vector<uint64_t>* tags) {
  if (auto polled = sends_->Poll(tags); !polled) return polled;
  return ud_sends_ ? ud_sends_->Poll(tags) : std::expected<void, Error>();
}

}  // namespace plov::bench
