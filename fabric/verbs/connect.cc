// The client's set-up: address, route, REQ, REP, RTU, each waited for until the deadline.

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "fabric/verbs/address.h"
#include "fabric/verbs/connection.h"
#include "fabric/verbs/verbs.h"

namespace plov::fabric::verbs {

namespace {

// Of one connection's queue: every work request and every reply.
constexpr size_t kCompletionEntries = kWorkRequestsMax + kReplyBuffers;
// REQs that rdmacm sends before it gives up by itself; the deadline comes first.
constexpr uint8_t kRequestRetries = 7;
// What one attempt to find the neighbour may take.
constexpr int64_t kResolveMs = 250;

class Dialer {
 public:
  Dialer(std::string uri, const ConnectOptions& options)
      : uri_(std::move(uri)), options_(options) {}

  std::expected<std::unique_ptr<Connection>, Error> Dial() {
    if (auto reached = Reach(); !reached) {
      // Where no device is, one may have been that waits for this process to let it go.
      parts_.id.reset();
      ForgetRemovedDevices();
      return std::unexpected(reached.error());
    }
    if (auto made = MakeParts(); !made) return std::unexpected(made.error());
    auto welcome = Request();
    if (!welcome) return std::unexpected(welcome.error());
    return Establish(*welcome);
  }

 private:
  std::expected<void, Error> Reach();
  std::expected<void, Error> ResolveAddress(sockaddr* address);
  std::expected<void, Error> MakeParts();
  std::expected<Welcome, Error> Request();
  std::expected<std::unique_ptr<Connection>, Error> Establish(const Welcome& welcome);

  std::expected<CmEvent, Error> Await(rdma_cm_event_type type) {
    auto event = parts_.channel.Await(options_.deadline);
    if (!event) return Unanswered(event.error().code);
    if ((*event)->event != type) return Failed(**event);
    return event;
  }

  int LeftMs(int64_t most = 60'000) const {
    const auto left =
        std::chrono::ceil<std::chrono::milliseconds>(options_.deadline - Clock::now());
    return static_cast<int>(std::clamp<int64_t>(left.count(), 1, most));
  }

  std::unexpected<Error> Failed(const rdma_cm_event& event) const {
    return std::unexpected(ConnectError(event, uri_, options_.shard));
  }
  std::unexpected<Error> Unanswered(Code code) const {
    return Fail(code, "the server on " + uri_ + " does not answer in time");
  }
  std::unexpected<Error> Unreachable(int error_number) const {
    return std::unexpected(NoDeviceReaches(uri_, error_number));
  }

  std::string uri_;
  ConnectOptions options_;
  ClientParts parts_;
};

std::expected<void, Error> Dialer::Reach() {
  const auto name = ParseUri(uri_);
  if (!name) return std::unexpected(name.error());
  auto address = Resolve(*name, options_.deadline);
  if (!address) return std::unexpected(address.error());
  auto channel = EventChannel::Create();
  if (!channel) return std::unexpected(channel.error());
  parts_.channel = std::move(*channel);
  auto id = CreateId(parts_.channel, nullptr);
  if (!id) return std::unexpected(id.error());
  parts_.id = std::move(*id);
  if (auto resolved = ResolveAddress(address->get()); !resolved) return resolved;
  if (::rdma_resolve_route(parts_.id.get(), LeftMs()) != 0) return Unreachable(errno);
  if (auto event = Await(RDMA_CM_EVENT_ROUTE_RESOLVED); !event) {
    return std::unexpected(event.error());
  }
  return {};
}

// Again and again until the deadline: Linux's rdma_cm sleeps for the whole time that it is given when
// the neighbour answers between its look for one and its wait for one (6.1: addr.c, queue_req).
std::expected<void, Error> Dialer::ResolveAddress(sockaddr* address) {
  while (true) {
    if (::rdma_resolve_addr(parts_.id.get(), nullptr, address, LeftMs(kResolveMs)) != 0) {
      return Unreachable(errno);
    }
    auto event = parts_.channel.Await(options_.deadline);
    if (!event) return Unanswered(event.error().code);
    if ((*event)->event == RDMA_CM_EVENT_ADDR_RESOLVED) return {};
    const bool timed_out = (*event)->event == RDMA_CM_EVENT_ADDR_ERROR &&
                           (*event)->status == -ETIMEDOUT && Clock::now() < options_.deadline;
    if (!timed_out) return Failed(**event);
  }
}

std::expected<void, Error> Dialer::MakeParts() {
  ibv_context* device = parts_.id->verbs;
  if (!IsOurs(*device)) {
    parts_.device.reset(::ibv_open_device(device->device));
    if (parts_.device == nullptr) return FailErrno("cannot open the RDMA device", errno);
    device = parts_.device.get();
  }
  auto depths = DepthsOf(device);
  if (!depths) return std::unexpected(depths.error());
  parts_.depths = *depths;
  parts_.pd.reset(::ibv_alloc_pd(device));
  if (parts_.pd == nullptr) return FailErrno("cannot get an RDMA protection domain", errno);
  auto completions = CreateCompletionChannel(device);
  if (!completions) return std::unexpected(completions.error());
  parts_.completions = std::move(*completions);
  auto cq = CreateCq(device, parts_.completions.get(), kCompletionEntries);
  if (!cq) return std::unexpected(cq.error());
  parts_.cq = std::move(*cq);
  parts_.reads_only = options_.reads_only;
  const QpSizes sizes = parts_.sizes();
  const std::pair<RegisteredPages*, size_t> memories[] = {
      {&parts_.replies, size_t{sizes.receives} * kMessageBytesMax},
      {&parts_.sends, options_.reads_only ? 0 : size_t{kSendBuffers} * kMessageBytesMax},
      {&parts_.bounce, kBounceBytes}};
  for (const auto& [pages, bytes] : memories) {
    if (bytes == 0) continue;
    auto created = RegisteredPages::Create(parts_.pd.get(), bytes, kLocalOnly);
    if (!created) return std::unexpected(created.error());
    *pages = std::move(*created);
  }
  auto qp = Qp::Create(parts_.id.get(), parts_.pd.get(), parts_.cq.get(), sizes);
  if (!qp) return std::unexpected(qp.error());
  parts_.qp = std::move(*qp);
  auto timer = CreateTimerFd();
  if (!timer) return std::unexpected(timer.error());
  parts_.timer = std::move(*timer);
  auto epoll = CreateEpoll({parts_.channel.fd(), parts_.timer.get(), parts_.completions->fd});
  if (!epoll) return std::unexpected(epoll.error());
  parts_.epoll = std::move(*epoll);
  return {};
}

std::expected<Welcome, Error> Dialer::Request() {
  const Hello hello{.magic = kWireMagic,
                    .format_version = options_.format_version,
                    .shard = static_cast<uint16_t>(options_.shard),
                    .flags = FlagsOf(options_),
                    .client_id = options_.client_id,
                    .claim = options_.claim};
  rdma_conn_param param{};
  param.private_data = &hello;
  param.private_data_len = sizeof(hello);
  param.responder_resources = parts_.depths.responder;
  param.initiator_depth = parts_.depths.initiator;
  param.retry_count = kRequestRetries;
  param.rnr_retry_count = kRnrRetries;
  param.qp_num = parts_.qp.number();
  if (::rdma_connect(parts_.id.get(), &param) != 0) return Unreachable(errno);
  auto event = Await(RDMA_CM_EVENT_CONNECT_RESPONSE);
  if (!event) return std::unexpected(event.error());
  const auto welcome = PrivateData<Welcome>(**event);
  if (!welcome || welcome->magic != kWireMagic) {
    return Fail(Code::kProtocol, "the listener on " + uri_ + " is not a plovd of this release");
  }
  const bool in_memory = welcome->region_bytes > 0 &&
                         welcome->region_address <= UINT64_MAX - (welcome->region_bytes - 1);
  if (welcome->format_version != options_.format_version || !in_memory ||
      welcome->staging_bytes > kStagingBytesMax) {
    return Fail(Code::kProtocol, "the server on " + uri_ + " does not keep to the protocol");
  }
  // The smaller of both sides, by the server's count; the event speaks of what this side may have.
  const rdma_conn_param& agreed = (*event)->param.conn;
  parts_.depths.initiator = std::clamp(agreed.initiator_depth, uint8_t{1}, parts_.depths.initiator);
  parts_.depths.responder =
      std::clamp(agreed.responder_resources, uint8_t{1}, parts_.depths.responder);
  return *welcome;
}

std::expected<std::unique_ptr<Connection>, Error> Dialer::Establish(const Welcome& welcome) {
  parts_.region = {welcome.region_address, welcome.region_bytes, welcome.region_rkey};
  parts_.staging_bytes = parts_.reads_only ? 0 : welcome.staging_bytes;
  rdma_cm_id* id = parts_.id.get();
  if (auto connected = parts_.qp.Connect(id, parts_.depths); !connected) {
    return std::unexpected(connected.error());
  }
  auto connection = std::make_unique<VerbsConnection>(std::move(parts_));
  if (auto opened = connection->Open(); !opened) return std::unexpected(opened.error());
  if (::rdma_establish(id) != 0) return Unreachable(errno);
  connection->Begin();
  return connection;
}

}  // namespace

std::expected<std::unique_ptr<Connection>, Error> Connect(std::string_view uri,
                                                          const ConnectOptions& options) {
  return Dialer(std::string(uri), options).Dial();
}

}  // namespace plov::fabric::verbs
