#include "tests/fabric/verbs_raw.h"

#include <cerrno>
#include <cstring>
#include <thread>

#include "fabric/verbs/address.h"
#include "fabric/verbs/verbs.h"
#include "tests/fabric/verbs_tools.h"

namespace plov::fabric::verbs {

namespace {

// wr_id
constexpr uint64_t kReceive = uint64_t{1} << 63;  // with the buffer's number
constexpr uint64_t kSend = 2;
constexpr int kAddressMs = 20'000;

void Demand(int failed, const char* what) {
  if (failed != 0) throw std::runtime_error(std::string(what) + ": " + std::strerror(errno));
}

rdma_conn_param Parameters(std::span<const std::byte> data, ReadDepths depths, uint32_t qp) {
  rdma_conn_param param{};
  param.private_data = data.data();
  param.private_data_len = static_cast<uint8_t>(data.size());
  param.responder_resources = depths.responder;
  param.initiator_depth = depths.initiator;
  param.retry_count = 7;
  param.rnr_retry_count = 6;
  param.qp_num = qp;
  return param;
}

}  // namespace

RawQp::RawQp(rdma_cm_id* id) : pd_(::ibv_alloc_pd(id->verbs)) {
  cq_ = Must(CreateCq(id->verbs, nullptr, kSizes.sends + kSizes.receives));
  memory_ = Must(RegisteredPages::Create(pd_.get(), kMemoryBytes, kRemoteRead));
  qp_ = Must(Qp::Create(id, pd_.get(), cq_.get(), kSizes));
}

void RawQp::Connect(rdma_cm_id* id, ReadDepths depths) {
  const auto connected = qp_.Connect(id, depths);
  if (!connected) throw std::runtime_error(connected.error().message);
}

ibv_wc RawQp::Await() {
  ibv_wc completion{};
  if (!Eventually([&] { return ::ibv_poll_cq(cq_.get(), 1, &completion) == 1; })) {
    throw std::runtime_error("no completion came");
  }
  return completion;
}

// Receives that are flushed beside it are none of the answer.
ibv_wc_status RawQp::Post(ibv_send_wr* request) {
  request->wr_id = kSend;
  request->send_flags |= IBV_SEND_SIGNALED;
  if (!qp_.Post(request)) throw std::runtime_error("cannot post");
  while (true) {
    const ibv_wc completion = Await();
    if (completion.wr_id == kSend) return completion.status;
  }
}

ibv_wc_status RawQp::Send(std::span<const std::byte> bytes, std::optional<uint32_t> immediate) {
  std::memcpy(memory().data(), bytes.data(), bytes.size());
  ibv_sge gather{AddressOf(memory().data()), static_cast<uint32_t>(bytes.size()), memory_.lkey()};
  ibv_send_wr request{};
  request.sg_list = &gather;
  request.num_sge = bytes.empty() ? 0 : 1;
  request.opcode = immediate ? IBV_WR_SEND_WITH_IMM : IBV_WR_SEND;
  request.imm_data = immediate.value_or(0);
  return Post(&request);
}

std::pair<ibv_wc_status, size_t> RawQp::SendMany(size_t count, std::span<const std::byte> bytes) {
  std::memcpy(memory().data(), bytes.data(), bytes.size());
  ibv_sge gather{AddressOf(memory().data()), static_cast<uint32_t>(bytes.size()), memory_.lkey()};
  for (size_t i = 0; i < count; ++i) {
    ibv_send_wr request{};
    request.wr_id = kSend;
    request.sg_list = &gather;
    request.num_sge = 1;
    request.opcode = IBV_WR_SEND;
    request.send_flags = IBV_SEND_SIGNALED;
    if (!qp_.Post(&request)) throw std::runtime_error("cannot post");
  }
  for (size_t arrived = 0; arrived < count; ++arrived) {
    const ibv_wc completion = Await();
    if (completion.status != IBV_WC_SUCCESS) return {completion.status, arrived};
  }
  return {IBV_WC_SUCCESS, count};
}

ibv_wc_status RawQp::Access(ibv_wr_opcode opcode, uint64_t address, uint32_t rkey, uint32_t bytes) {
  ibv_sge own{AddressOf(memory().data()), bytes, memory_.lkey()};
  ibv_send_wr request{};
  request.sg_list = &own;
  request.num_sge = bytes == 0 ? 0 : 1;
  request.opcode = opcode;
  if (opcode == IBV_WR_ATOMIC_CMP_AND_SWP || opcode == IBV_WR_ATOMIC_FETCH_AND_ADD) {
    request.wr.atomic = {.remote_addr = address, .compare_add = 1, .swap = 1, .rkey = rkey};
  } else {
    request.wr.rdma = {.remote_addr = address, .rkey = rkey};
  }
  return Post(&request);
}

std::span<std::byte> RawQp::ReceiveBuffer(uint64_t number) const {
  return memory()
      .last(kReceiveBytes)
      .subspan(number % kSizes.receives * kMessageBytesMax, kMessageBytesMax);
}

void RawQp::PostReceives(uint32_t count) {
  for (uint32_t i = 0; i < count; ++i, ++receives_posted_) {
    const uint64_t wr_id = kReceive | receives_posted_;
    if (!qp_.PostReceive(wr_id, ReceiveBuffer(receives_posted_), memory_.lkey())) {
      throw std::runtime_error("cannot post a receive");
    }
  }
}

std::span<const std::byte> RawQp::AwaitReceive() {
  while (true) {
    const ibv_wc completion = Await();
    if ((completion.wr_id & kReceive) == 0) continue;
    if (completion.status != IBV_WC_SUCCESS) throw std::runtime_error("no message came");
    return ReceiveBuffer(completion.wr_id & ~kReceive).first(completion.byte_len);
  }
}

CmNews AwaitNews(const EventChannel& channel, rdma_cm_id** id) {
  const CmEvent event = Must(channel.Await(WaitDeadline()));
  if (id != nullptr) *id = event->id;
  const auto* data = static_cast<const std::byte*>(event->param.conn.private_data);
  CmNews news{event->event, {}};
  if (data != nullptr) news.private_data.assign(data, data + event->param.conn.private_data_len);
  return news;
}

RawClient::RawClient(const std::string& uri) : channel_(Must(EventChannel::Create())) {
  auto address = Must(Resolve(Must(ParseUri(uri)), Clock::now() + std::chrono::seconds(10)));
  id_ = Must(CreateId(channel_, nullptr));
  Demand(::rdma_resolve_addr(id_.get(), nullptr, address.get(), kAddressMs), "address");
  AwaitNews(channel_);
  Demand(::rdma_resolve_route(id_.get(), kAddressMs), "route");
  AwaitNews(channel_);
  qp_ = RawQp(id_.get());
}

RawClient::~RawClient() {
  qp_.Destroy();
  ::rdma_disconnect(id_.get());
}

void RawClient::Request(std::span<const std::byte> hello, ReadDepths depths) {
  depths_ = depths;
  rdma_conn_param param = Parameters(hello, depths, qp_.number());
  Demand(::rdma_connect(id_.get(), &param), "connect");
}

void RawClient::Establish(const CmNews& answer) {
  if (answer.type != RDMA_CM_EVENT_CONNECT_RESPONSE ||
      answer.private_data.size() < sizeof(welcome_)) {
    throw std::runtime_error(std::string("no Welcome: ") + ::rdma_event_str(answer.type));
  }
  std::memcpy(&welcome_, answer.private_data.data(), sizeof(welcome_));
  qp_.Connect(id_.get(), depths_);
  Demand(::rdma_establish(id_.get()), "establish");
}

std::unique_ptr<RawClient> RawClient::ConnectedTo(TestServer* server, ReadDepths depths) {
  auto client = std::make_unique<RawClient>(server->uri());
  server->AcceptWhile([&] {
    client->Request(BytesOf(GoodHello()), depths);
    client->Establish(client->Answer());
  });
  return client;
}

RawServer::RawServer() : uri_(FreshRdmaUri()), channel_(Must(EventChannel::Create())) {
  auto address = Must(Resolve(Must(ParseUri(uri_)), Clock::now() + std::chrono::seconds(10)));
  listener_ = Must(CreateId(channel_, nullptr));
  Demand(::rdma_bind_addr(listener_.get(), address.get()), "bind");
  Demand(::rdma_listen(listener_.get(), 1), "listen");
}

std::expected<std::unique_ptr<Connection>, Error> RawServer::Answer(
    const std::function<void(Welcome*)>& change, size_t bytes) {
  std::expected<std::unique_ptr<Connection>, Error> connection;
  std::thread client([&] { connection = verbs::Connect(uri_, OptionsFor(0, 1)); });
  rdma_cm_id* id = nullptr;
  AwaitNews(channel_, &id);
  id_.reset(id);
  qp_ = RawQp(id);
  qp_.PostReceives(RawQp::kSizes.receives);
  qp_.Connect(id, RawClient::kDepths);
  Welcome welcome = GoodWelcome();
  change(&welcome);
  rdma_conn_param param =
      Parameters(BytesOf(welcome).first(bytes), RawClient::kDepths, qp_.number());
  Demand(::rdma_accept(id, &param), "accept");
  client.join();
  return connection;
}

}  // namespace plov::fabric::verbs
