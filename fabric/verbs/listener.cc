// The server's end of the verbs fabric: the address, the registered regions, who is let in.

#include <algorithm>
#include <cassert>
#include <cerrno>
#include <cstring>
#include <map>
#include <utility>

#include "fabric/notices.h"
#include "fabric/verbs/address.h"
#include "fabric/verbs/port.h"
#include "fabric/verbs/verbs.h"

namespace plov::fabric::verbs {

namespace {

// Connection requests that wait; all clients may come back at once after a restart.
constexpr int kBacklog = 1024;

// How long the address of a host's name may be looked for.
constexpr std::chrono::seconds kResolveTime{30};

// How often a listener whose device was removed looks whether it is back.
constexpr std::chrono::seconds kReturnPeriod{1};

// What the listener has on its device. Destroyed in reverse: the address last, so that what clients
// could READ is gone before another server can have it.
struct ListenerDevice {
  CmId id;
  Pd pd;
  ReadDepths depths;
  std::map<uint32_t, Mr> regions;  // by shard; each goes after its port has let go
};

std::unexpected<Error> InUse(const std::string& uri) {
  return Fail(Code::kInUse, "another server listens on " + uri +
                                ": stop it, or choose another port with --listen");
}

class VerbsListener final : public Listener {
 public:
  VerbsListener(std::string uri, const ListenOptions& options)
      : uri_(std::move(uri)), options_(options) {}
  // No new clients while the ports go; then what they had registered.
  ~VerbsListener() override {
    if (device_) device_->id.reset();
    shards_.clear();
  }

  std::expected<void, Error> Open();

  const std::string& uri() const override { return uri_; }
  std::expected<Port*, Error> Expose(uint32_t shard, const Exposure& exposure) override;
  void Withdraw(uint32_t shard) override;
  Port& port(uint32_t shard) override { return *shards_.at(shard).port; }
  int fd() const override { return epoll_.get(); }
  void HandleEvents() override;
  std::string TakeNotice() override { return notices_.Take(); }

 private:
  struct Shard {
    Exposure exposure;
    std::unique_ptr<VerbsPort> port;
  };

  std::expected<void, Error> MakeParts();
  std::expected<CmId, Error> Bind() const;
  std::expected<void, Error> OpenDevice();
  std::expected<void, Error> Attach(uint32_t shard);
  void OnRequest(CmId id, const std::optional<Hello>& hello, const rdma_conn_param& asked);
  void OnRemoval();
  void DetachAll();
  void FinishDetach();
  void Return();
  void Refuse(rdma_cm_id* id, Code code) const;
  Code Check(const std::optional<Hello>& hello) const;
  Welcome WelcomeTo(const Hello& hello) const;

  std::string uri_;
  ListenOptions options_;
  // The channel is made before the device is opened, and the kernel closes a dead process's files
  // newest first: so its queue pairs are gone, and with them what clients could READ, before its
  // address is free for another server. (Of two listeners on one device, which share its file, the
  // second has no such order: give each device one.)
  EventChannel channel_;
  Fd bell_;   // a port has let go of the device
  Fd timer_;  // runs while the device is gone
  Fd epoll_;
  std::optional<ListenerDevice> device_;
  bool leaving_ = false;  // the device is removed, and the ports have not all let go of it
  std::map<uint32_t, Shard> shards_;  // by number
  Notices notices_;
};

std::expected<CmId, Error> VerbsListener::Bind() const {
  const auto name = ParseUri(uri_);
  if (!name) return std::unexpected(name.error());
  auto address = Resolve(*name, Clock::now() + kResolveTime);
  if (!address) return std::unexpected(address.error());
  if (address->any()) {
    return Fail(Code::kInvalidArgument,
                "'" + uri_ +
                    "' names no device: give the address of the RDMA device's netdev "
                    "(rdma link), and one --listen for each");
  }
  auto id = CreateId(channel_, nullptr);
  if (!id) return std::unexpected(id.error());
  if (::rdma_bind_addr(id->get(), address->get()) != 0) {
    if (errno == EADDRINUSE) return InUse(uri_);
    if (errno == EADDRNOTAVAIL || errno == ENODEV) {
      return Fail(Code::kInvalidArgument, "no RDMA device of this machine has the address of " +
                                              uri_ + ": see rdma link and ip address");
    }
    return FailErrno("cannot listen on " + uri_, errno);
  }
  if ((*id)->verbs == nullptr) {
    return Fail(Code::kInvalidArgument, "no RDMA device has the address of " + uri_ +
                                            ": see rdma link (rdma link add for rxe)");
  }
  return id;
}

std::expected<void, Error> VerbsListener::Attach(uint32_t shard) {
  const Shard& exposed = shards_.at(shard);
  auto mr = Register(device_->pd.get(), exposed.exposure.region, kRemoteRead);
  if (!mr) return std::unexpected(mr.error());
  auto side = PortDevice::Create(device_->pd.get());
  if (!side) return std::unexpected(side.error());
  device_->regions.emplace(shard, std::move(*mr));
  return exposed.port->Attach(std::move(*side));
}

// Without a device, or while one is going, it waits for the next.
std::expected<Port*, Error> VerbsListener::Expose(uint32_t shard, const Exposure& exposure) {
  assert(shard <= kShardMax && !shards_.contains(shard));
  auto port = VerbsPort::Create(bell_.get());
  if (!port) return std::unexpected(port.error());
  const Shard& exposed = shards_[shard] = {exposure, std::move(*port)};
  if (!device_ || leaving_) return exposed.port.get();
  if (auto attached = Attach(shard); !attached) {
    Withdraw(shard);
    return std::unexpected(attached.error());
  }
  return exposed.port.get();
}

// The port first: its queue pairs are gone before the region is registered no more. It may have been
// the last that had something on a device that is being removed.
void VerbsListener::Withdraw(uint32_t shard) {
  shards_.erase(shard);
  if (device_) device_->regions.erase(shard);
  FinishDetach();
}

// A failure leaves what was made, for FinishDetach.
std::expected<void, Error> VerbsListener::OpenDevice() {
  auto id = Bind();
  if (!id) return std::unexpected(id.error());
  auto depths = DepthsOf((*id)->verbs);
  if (!depths) return std::unexpected(depths.error());
  Pd pd(::ibv_alloc_pd((*id)->verbs));
  if (pd == nullptr) return FailErrno("cannot get an RDMA protection domain", errno);
  device_ = {std::move(*id), std::move(pd), *depths, {}};
  for (const auto& [shard, exposed] : shards_) {
    if (auto attached = Attach(shard); !attached) return attached;
  }
  if (::rdma_listen(device_->id.get(), kBacklog) != 0) {
    if (errno == EADDRINUSE) return InUse(uri_);
    return FailErrno("cannot listen on " + uri_, errno);
  }
  return {};
}

std::expected<void, Error> VerbsListener::MakeParts() {
  auto channel = EventChannel::Create();
  if (!channel) return std::unexpected(channel.error());
  channel_ = std::move(*channel);
  auto bell = CreateEventFd();
  if (!bell) return std::unexpected(bell.error());
  bell_ = std::move(*bell);
  auto timer = CreateTimerFd();
  if (!timer) return std::unexpected(timer.error());
  timer_ = std::move(*timer);
  auto epoll = CreateEpoll({channel_.fd(), bell_.get(), timer_.get()});
  if (!epoll) return std::unexpected(epoll.error());
  epoll_ = std::move(*epoll);
  return {};
}

std::expected<void, Error> VerbsListener::Open() {
  if (auto made = MakeParts(); !made) return made;
  for (uint32_t shard = 0; shard < options_.shards.size(); ++shard) {
    if (auto exposed = Expose(shard, options_.shards[shard]); !exposed) {
      return std::unexpected(exposed.error());
    }
  }
  return OpenDevice();
}

Code VerbsListener::Check(const std::optional<Hello>& hello) const {
  if (!hello || hello->magic != kWireMagic || hello->format_version != options_.format_version ||
      (hello->flags & ~kHelloFlags) != 0) {
    return Code::kProtocol;
  }
  return shards_.contains(hello->shard) ? Code::kOk : Code::kNoShard;
}

void VerbsListener::Refuse(rdma_cm_id* id, Code code) const {
  const Refusal refusal{kWireMagic, static_cast<uint32_t>(code), options_.format_version};
  ::rdma_reject(id, &refusal, sizeof(refusal));
}

Welcome VerbsListener::WelcomeTo(const Hello& hello) const {
  const ibv_mr* region = device_->regions.at(hello.shard).get();
  return {.magic = kWireMagic,
          .format_version = options_.format_version,
          .region_rkey = region->rkey,
          .region_address = AddressOf(region->addr),
          .region_bytes = region->length,
          .staging_bytes = MayWrite(hello.flags) ? options_.staging_bytes : 0};
}

void VerbsListener::OnRequest(CmId id, const std::optional<Hello>& hello,
                              const rdma_conn_param& asked) {
  if (!device_ || leaving_) return Refuse(id.get(), Code::kUnavailable);
  Code code = Check(hello);
  // One that answers no READs would have its values fetched for ever.
  if (asked.responder_resources == 0 || asked.initiator_depth == 0) code = Code::kProtocol;
  // Nobody knows the user.
  const Right right = options_.admission->access().Of({});
  if (code == Code::kOk && right == Right::kNone) code = Code::kPermission;
  if (code != Code::kOk) return Refuse(id.get(), code);
  const ReadDepths depths = {std::min(device_->depths.responder, asked.responder_resources),
                             std::min(device_->depths.initiator, asked.initiator_depth)};
  auto place = options_.admission->Admit(hello->shard, std::nullopt,
                                         options_.admission->RoleOf({}, hello->flags));
  if (!place) {
    notices_.Add(options_.admission->CountRefusal(place.error(), std::nullopt));
    return Refuse(id.get(),
                  place.error() == RefusalReason::kDraining ? Code::kInUse : Code::kNoSpace);
  }
  const bool reads_only = ReadsOnly(hello->flags);
  const Shard& shard = shards_.at(hello->shard);
  Claims* claims = MayWrite(hello->flags) ? shard.exposure.claims : nullptr;
  const auto claimed =
      claims == nullptr ? Claims::Outcome::kOwner : claims->Take(hello->client_id, hello->claim);
  if (claimed == Claims::Outcome::kOther) {
    notices_.Add(options_.admission->CountRefusal(RefusalReason::kIdOfAnother, std::nullopt));
    return Refuse(id.get(), Code::kUnknown);
  }
  const auto admitted =
      shard.port->Admit(&id, {.client_id = reads_only ? 0 : hello->client_id,
                              .claim = {claims, hello->client_id, hello->claim},
                              .welcome = WelcomeTo(*hello),
                              .depths = depths,
                              .place = std::move(*place),
                              .may_write = MayWrite(hello->flags) && right == Right::kWrite,
                              .reads_only = reads_only,
                              .never_writes = NeverWrites(hello->flags)});
  if (admitted) return;
  if (claimed == Claims::Outcome::kNew) claims->Forget(hello->client_id);
  notices_.Add(options_.admission->CountRefusal(RefusalReason::kOther, std::nullopt,
                                                admitted.error().message));
  Refuse(id.get(), Code::kNoSpace);
}

// The kernel takes the device away once nobody has anything on it (or, of some drivers, by force).
void VerbsListener::OnRemoval() {
  if (!device_ || leaving_) return;
  notices_.Add("the RDMA device " + std::string(::ibv_get_device_name(device_->id->verbs->device)) +
               " of " + uri_ +
               " is being removed: its clients are let go, and are served again as soon as a "
               "device has this address");
  leaving_ = true;
  DetachAll();
}

void VerbsListener::DetachAll() {
  for (const auto& [number, shard] : shards_) shard.port->Detach();
  FinishDetach();
}

// Once all ports have.
void VerbsListener::FinishDetach() {
  const auto attached = [](const auto& shard) { return shard.second.port->is_attached(); };
  if (!leaving_ || std::ranges::any_of(shards_, attached)) return;
  device_.reset();
  leaving_ = false;
  ForgetRemovedDevices();
  SetTimer(timer_.get(), kReturnPeriod);
}

void VerbsListener::Return() {
  if (auto opened = OpenDevice(); !opened) {
    leaving_ = device_.has_value();
    return DetachAll();
  }
  SetTimer(timer_.get(), {});
  notices_.Add("the RDMA device of " + uri_ + " is back: serving");
}

void VerbsListener::HandleEvents() {
  while (CmEvent event = channel_.Next()) {
    if (event->event == RDMA_CM_EVENT_DEVICE_REMOVAL) {
      event.reset();
      OnRemoval();
    } else if (event->event == RDMA_CM_EVENT_CONNECT_REQUEST) {
      CmId id(event->id);
      const auto hello = PrivateData<Hello>(*event);
      const rdma_conn_param asked = event->param.conn;
      event.reset();  // an identifier waits for its events to be acknowledged
      OnRequest(std::move(id), hello, asked);
    }
  }
  if (ClearEvent(bell_.get())) FinishDetach();
  if (ClearEvent(timer_.get()) && !device_) Return();
}

}  // namespace

std::expected<std::unique_ptr<Listener>, Error> Listen(std::string_view uri,
                                                       const ListenOptions& options) {
  auto listener = std::make_unique<VerbsListener>(std::string(uri), options);
  if (auto opened = listener->Open(); !opened) return std::unexpected(opened.error());
  return listener;
}

}  // namespace plov::fabric::verbs
