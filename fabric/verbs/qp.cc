#include "fabric/verbs/qp.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>

#include "fabric/verbs/memory.h"

namespace plov::fabric::verbs {

namespace {

// READs in flight on one queue pair: cards do 16, and more only queues.
constexpr int kReadDepthMax = 64;

uint8_t Bounded(int depth) { return static_cast<uint8_t>(std::clamp(depth, 1, kReadDepthMax)); }

// The attributes that rdmacm knows for a state: addresses, numbers, path. It refuses when the other
// side has given the connection up meanwhile.
std::expected<std::pair<ibv_qp_attr, int>, Error> AttributesFor(rdma_cm_id* id,
                                                                ibv_qp_state state) {
  ibv_qp_attr attributes{};
  attributes.qp_state = state;
  int mask = 0;
  if (::rdma_init_qp_attr(id, &attributes, &mask) != 0) {
    return Fail(Code::kUnavailable, "the RDMA connection was given up (" +
                                        std::string(std::strerror(errno)) + "): try again");
  }
  return std::pair{attributes, mask};
}

}  // namespace

std::expected<ReadDepths, Error> DepthsOf(ibv_context* device) {
  ibv_device_attr attributes;
  if (const int failed = ::ibv_query_device(device, &attributes); failed != 0) {
    return FailErrno("cannot query the RDMA device", failed);
  }
  return ReadDepths{Bounded(attributes.max_qp_rd_atom), Bounded(attributes.max_qp_init_rd_atom)};
}

std::expected<Qp, Error> Qp::Create(rdma_cm_id* id, ibv_pd* pd, ibv_cq* cq, QpSizes sizes) {
  ibv_qp_init_attr wanted{};
  wanted.send_cq = cq;
  wanted.recv_cq = cq;
  wanted.cap = {.max_send_wr = sizes.sends,
                .max_recv_wr = sizes.receives,
                .max_send_sge = 2,
                .max_recv_sge = 1,
                .max_inline_data = kInlineBytes};
  wanted.qp_type = IBV_QPT_RC;
  wanted.sq_sig_all = 0;
  Qp qp;
  qp.qp_.reset(::ibv_create_qp(pd, &wanted));
  if (qp.qp_ == nullptr) {
    const int error_number = errno;
    if (error_number == ENOMEM || error_number == ENOSPC) {
      return Fail(Code::kNoSpace, "the RDMA device has no more queue pairs (or ulimit -l is low)");
    }
    return FailErrno("cannot create an RDMA queue pair", error_number);
  }
  auto initial = AttributesFor(id, IBV_QPS_INIT);
  if (!initial) return std::unexpected(initial.error());
  initial->first.qp_access_flags = IBV_ACCESS_REMOTE_READ;
  if (const int failed = ::ibv_modify_qp(qp.qp_.get(), &initial->first, initial->second)) {
    return FailErrno("cannot set an RDMA queue pair up", failed);
  }
  return qp;
}

std::expected<void, Error> Qp::Connect(rdma_cm_id* id, ReadDepths depths) {
  auto receive = AttributesFor(id, IBV_QPS_RTR);
  if (!receive) return std::unexpected(receive.error());
  receive->first.max_dest_rd_atomic = depths.responder;
  receive->first.min_rnr_timer = kRnrTimer;
  if (const int failed = ::ibv_modify_qp(qp_.get(), &receive->first, receive->second)) {
    return FailErrno("cannot make an RDMA queue pair ready to receive", failed);
  }
  auto send = AttributesFor(id, IBV_QPS_RTS);
  if (!send) return std::unexpected(send.error());
  send->first.max_rd_atomic = depths.initiator;
  send->first.timeout = kAckTimeout;
  send->first.retry_cnt = kRetries;
  send->first.rnr_retry = kRnrRetries;
  if (const int failed = ::ibv_modify_qp(qp_.get(), &send->first, send->second)) {
    return FailErrno("cannot make an RDMA queue pair ready to send", failed);
  }
  return {};
}

ibv_send_wr ZeroRead(uint64_t wr_id) {
  ibv_send_wr request{};
  request.wr_id = wr_id;
  request.opcode = IBV_WR_RDMA_READ;
  request.send_flags = IBV_SEND_SIGNALED;
  return request;
}

bool Qp::Post(ibv_send_wr* first) {
  ibv_send_wr* bad = nullptr;
  return ::ibv_post_send(qp_.get(), first, &bad) == 0;
}

bool Qp::PostReceive(uint64_t wr_id, std::span<std::byte> buffer, uint32_t lkey) {
  ibv_sge sge{.addr = AddressOf(buffer.data()),
              .length = static_cast<uint32_t>(buffer.size()),
              .lkey = lkey};
  ibv_recv_wr request{.wr_id = wr_id, .next = nullptr, .sg_list = &sge, .num_sge = 1};
  ibv_recv_wr* bad = nullptr;
  return ::ibv_post_recv(qp_.get(), &request, &bad) == 0;
}

}  // namespace plov::fabric::verbs
