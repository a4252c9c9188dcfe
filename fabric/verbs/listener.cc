// The server's end of the verbs fabric: the address, the registered regions, who is let in.

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "fabric/verbs/address.h"
#include "fabric/verbs/port.h"
#include "fabric/verbs/verbs.h"

namespace plov::fabric::verbs {

namespace {

// Connection requests that wait; all clients may come back at once after a restart.
constexpr int kBacklog = 1024;

struct Served {
  Mr region;  // goes after the port
  std::unique_ptr<VerbsPort> port;
};

class VerbsListener final : public Listener {
 public:
  VerbsListener(std::string uri, const ListenOptions& options)
      : uri_(std::move(uri)), options_(options) {}
  // No new clients while the ports go.
  ~VerbsListener() override { id_.reset(); }

  std::expected<void, Error> Open();

  const std::string& uri() const override { return uri_; }
  Port& port(uint32_t shard) override { return *shards_[shard].port; }
  int fd() const override { return channel_.fd(); }
  void HandleEvents() override;

 private:
  std::expected<void, Error> Bind();
  std::expected<void, Error> OpenShard(const Exposure& shard);
  void OnRequest(CmId id, const std::optional<Hello>& hello, const rdma_conn_param& asked);
  void Refuse(rdma_cm_id* id, Code code) const;
  Code Judge(const std::optional<Hello>& hello) const;
  Welcome WelcomeTo(uint32_t shard) const;

  std::string uri_;
  ListenOptions options_;
  ReadDepths depths_;
  // The channel is made before the device is opened, and the kernel closes a dead process's files
  // newest first: so its queue pairs are gone, and with them what clients could READ, before its
  // address is free for another server.
  EventChannel channel_;
  CmId id_;
  Pd pd_;
  std::vector<Served> shards_;
};

std::expected<void, Error> VerbsListener::Bind() {
  const auto name = ParseUri(uri_);
  if (!name) return std::unexpected(name.error());
  auto address = Resolve(*name);
  if (!address) return std::unexpected(address.error());
  if (address->any()) {
    return Fail(Code::kInvalidArgument,
                "'" + uri_ +
                    "' names no device: give the address of the RDMA device's netdev "
                    "(rdma link), and one --listen for each");
  }
  auto channel = EventChannel::Create();
  if (!channel) return std::unexpected(channel.error());
  channel_ = std::move(*channel);
  auto id = CreateId(channel_, nullptr);
  if (!id) return std::unexpected(id.error());
  id_ = std::move(*id);
  if (::rdma_bind_addr(id_.get(), address->get()) != 0) {
    if (errno == EADDRINUSE) {
      return Fail(Code::kInUse, "another server listens on " + uri_ +
                                    ": stop it, or choose another port with --listen");
    }
    if (errno == EADDRNOTAVAIL || errno == ENODEV) {
      return Fail(Code::kInvalidArgument, "no RDMA device of this machine has the address of " +
                                              uri_ + ": see rdma link and ip address");
    }
    return FailErrno("cannot listen on " + uri_, errno);
  }
  if (id_->verbs == nullptr) {
    return Fail(Code::kInvalidArgument, "no RDMA device has the address of " + uri_ +
                                            ": see rdma link (rdma link add for rxe)");
  }
  return {};
}

std::expected<void, Error> VerbsListener::OpenShard(const Exposure& shard) {
  auto mr = Register(pd_.get(), shard.region, kRemoteRead);
  if (!mr) return std::unexpected(mr.error());
  auto port = VerbsPort::Create(pd_.get(), {shard.region, (*mr)->lkey});
  if (!port) return std::unexpected(port.error());
  shards_.push_back({std::move(*mr), std::move(*port)});
  return {};
}

std::expected<void, Error> VerbsListener::Open() {
  if (auto bound = Bind(); !bound) return bound;
  auto depths = DepthsOf(id_->verbs);
  if (!depths) return std::unexpected(depths.error());
  depths_ = *depths;
  pd_.reset(::ibv_alloc_pd(id_->verbs));
  if (pd_ == nullptr) return FailErrno("cannot get an RDMA protection domain", errno);
  for (const Exposure& shard : options_.shards) {
    if (auto opened = OpenShard(shard); !opened) return opened;
  }
  if (::rdma_listen(id_.get(), kBacklog) != 0) {
    if (errno == EADDRINUSE) {
      return Fail(Code::kInUse, "another server listens on " + uri_ +
                                    ": stop it, or choose another port with --listen");
    }
    return FailErrno("cannot listen on " + uri_, errno);
  }
  return {};
}

Code VerbsListener::Judge(const std::optional<Hello>& hello) const {
  if (!hello || hello->magic != kWireMagic || hello->format_version != options_.format_version) {
    return Code::kProtocol;
  }
  return hello->shard < shards_.size() ? Code::kOk : Code::kInvalidArgument;
}

void VerbsListener::Refuse(rdma_cm_id* id, Code code) const {
  const Refusal refusal{kWireMagic, static_cast<uint32_t>(code), options_.format_version};
  ::rdma_reject(id, &refusal, sizeof(refusal));
}

Welcome VerbsListener::WelcomeTo(uint32_t shard) const {
  const ibv_mr* region = shards_[shard].region.get();
  return {.magic = kWireMagic,
          .format_version = options_.format_version,
          .region_rkey = region->rkey,
          .region_address = AddressOf(region->addr),
          .region_bytes = region->length,
          .staging_bytes = options_.staging_bytes};
}

void VerbsListener::OnRequest(CmId id, const std::optional<Hello>& hello,
                              const rdma_conn_param& asked) {
  const Code code = Judge(hello);
  if (code != Code::kOk) return Refuse(id.get(), code);
  const ReadDepths depths = {std::min(depths_.responder, asked.responder_resources),
                             std::min(depths_.initiator, asked.initiator_depth)};
  VerbsPort& port = *shards_[hello->shard].port;
  if (!port.Admit(&id, *hello, WelcomeTo(hello->shard), depths)) {
    Refuse(id.get(), Code::kNoSpace);
  }
}

void VerbsListener::HandleEvents() {
  while (CmEvent event = channel_.Next()) {
    if (event->event != RDMA_CM_EVENT_CONNECT_REQUEST) continue;
    CmId id(event->id);
    const auto hello = PrivateData<Hello>(*event);
    const rdma_conn_param asked = event->param.conn;
    event.reset();  // an identifier waits for its events to be acknowledged
    OnRequest(std::move(id), hello, asked);
  }
}

}  // namespace

std::expected<std::unique_ptr<Listener>, Error> Listen(std::string_view uri,
                                                       const ListenOptions& options) {
  auto listener = std::make_unique<VerbsListener>(std::string(uri), options);
  if (auto opened = listener->Open(); !opened) return std::unexpected(opened.error());
  return listener;
}

}  // namespace plov::fabric::verbs
