#include "fabric/verbs/cm.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "fabric/os.h"
#include "fabric/verbs/wire.h"

namespace plov::fabric::verbs {

namespace {

// Reasons in a REJ (InfiniBand Architecture Specification, volume 1, table 112).
constexpr int kStaleConnection = 10;
constexpr int kInvalidServiceId = 8;
constexpr int kConsumerReject = 28;

Error Refused(const rdma_cm_event& event, const std::string& uri, uint32_t shard) {
  if (event.status == kInvalidServiceId || event.status == -ECONNREFUSED) {
    return {Code::kUnavailable,
            "no server on " + uri + ": start plovd --listen " + uri + ", or name another"};
  }
  const auto refusal = PrivateData<Refusal>(event);
  if (event.status == kConsumerReject && refusal && refusal->magic == kWireMagic) {
    const Code code = static_cast<Code>(refusal->code);
    if (code == Code::kProtocol) {
      return {code, "the server on " + uri + " speaks format version " +
                        std::to_string(refusal->format_version) + ": use the same release of both"};
    }
    if (code == Code::kNoSpace) {
      return {Code::kUnavailable,
              "the server on " + uri +
                  " takes no more clients now: it has --max-clients, or its device or memory gives "
                  "no more; its log says which"};
    }
    if (code == Code::kInUse) {
      return {Code::kUnavailable, RefusalText(static_cast<uint32_t>(RefusalReason::kDraining), 0)};
    }
    if (code == Code::kUnknown) {
      return {code, "the server on " + uri + " has this client's id as another client's"};
    }
    const std::string which = "shard " + std::to_string(shard);
    if (code == Code::kNoShard) {
      return {code, "the server on " + uri + " does not serve " + which + ": another one may"};
    }
    const bool is_known = code == Code::kPermission || code == Code::kUnavailable;
    return {is_known ? code : Code::kProtocol, "the server on " + uri + " refuses " + which};
  }
  if (event.status == kStaleConnection) {
    return {Code::kUnavailable, "a former connection to " + uri + " is not over yet: try again"};
  }
  // The kernel says no for a process that ends with requests it has not looked at, without a word.
  if (event.status == kConsumerReject && (!refusal || refusal->magic == 0)) {
    return {Code::kUnavailable,
            "the server on " + uri + " is ending, or is not a plovd: try again"};
  }
  if (event.status == kConsumerReject) {
    return {Code::kProtocol, "the listener on " + uri + " is not a plovd, or not of this release"};
  }
  return {Code::kUnavailable, "the connection to " + uri + " was rejected (reason " +
                                  std::to_string(event.status) + ")"};
}

}  // namespace

bool IsOurs(const ibv_context& device) {
  // No request is so short: the kernel refuses it in any case, but it looks at the writer first.
  const char byte = 0;
  return ::write(device.cmd_fd, &byte, sizeof(byte)) >= 0 || errno != EACCES;
}

std::expected<EventChannel, Error> EventChannel::Create() {
  EventChannel channel;
  channel.channel_.reset(::rdma_create_event_channel());
  if (channel.channel_ == nullptr) {
    // Asked, because librdmacm tells ENOENT where it is forbidden.
    if (::access("/dev/infiniband/rdma_cm", R_OK | W_OK) != 0 && errno == EACCES) {
      return Fail(Code::kPermission,
                  "no permission on /dev/infiniband/rdma_cm: let this user open it (chmod, udev)");
    }
    return Fail(Code::kUnavailable,
                "this machine has no RDMA connection manager: modprobe rdma_ucm, and see to an "
                "RDMA device (rdma link)");
  }
  const int flags = ::fcntl(channel.fd(), F_GETFL);
  if (flags < 0 || ::fcntl(channel.fd(), F_SETFL, flags | O_NONBLOCK) != 0) {
    return FailErrno("cannot set up the RDMA event channel", errno);
  }
  return channel;
}

CmEvent EventChannel::Next() const {
  rdma_cm_event* event = nullptr;
  if (::rdma_get_cm_event(channel_.get(), &event) != 0) return nullptr;
  return CmEvent(event);
}

std::expected<CmEvent, Error> EventChannel::Await(Deadline deadline) const {
  while (true) {
    if (CmEvent event = Next()) return event;
    if (Clock::now() >= deadline) return Fail(Code::kTimeout, "no answer");
    AwaitReadable(fd(), deadline);  // a channel that is broken is readable for ever
  }
}

void ForgetRemovedDevices() {
  int count = 0;
  if (ibv_context** devices = ::rdma_get_devices(&count)) ::rdma_free_devices(devices);
}

template <typename T>
std::optional<T> PrivateData(const rdma_cm_event& event) {
  const rdma_conn_param& param = event.param.conn;
  if (param.private_data == nullptr || param.private_data_len < sizeof(T)) return std::nullopt;
  T value;
  std::memcpy(&value, param.private_data, sizeof(value));
  return value;
}
template std::optional<Hello> PrivateData<Hello>(const rdma_cm_event&);
template std::optional<Welcome> PrivateData<Welcome>(const rdma_cm_event&);
template std::optional<Refusal> PrivateData<Refusal>(const rdma_cm_event&);

std::expected<CmId, Error> CreateId(const EventChannel& channel, void* context) {
  rdma_cm_id* id = nullptr;
  if (::rdma_create_id(channel.get(), &id, context, RDMA_PS_TCP) != 0) {
    return FailErrno("cannot create an RDMA connection", errno);
  }
  return CmId(id);
}

bool EndsConnection(const rdma_cm_event& event) {
  switch (event.event) {
    case RDMA_CM_EVENT_DISCONNECTED:
    case RDMA_CM_EVENT_DEVICE_REMOVAL:
    case RDMA_CM_EVENT_CONNECT_ERROR:
    case RDMA_CM_EVENT_UNREACHABLE:
    case RDMA_CM_EVENT_REJECTED:
    case RDMA_CM_EVENT_TIMEWAIT_EXIT:
      return true;
    default:
      return false;
  }
}

Error NoDeviceReaches(const std::string& uri, int error_number) {
  return {Code::kUnavailable, "no RDMA device of this machine reaches " + uri + " (" +
                                  std::strerror(error_number) +
                                  "): see rdma link and ip route, or use shm: on one host"};
}

Error ConnectError(const rdma_cm_event& event, const std::string& uri, uint32_t shard) {
  switch (event.event) {
    case RDMA_CM_EVENT_ADDR_ERROR:
    case RDMA_CM_EVENT_ROUTE_ERROR:
      return NoDeviceReaches(uri, std::abs(event.status));
    case RDMA_CM_EVENT_REJECTED:
      return Refused(event, uri, shard);
    case RDMA_CM_EVENT_DEVICE_REMOVAL:
      return {Code::kUnavailable, "the RDMA device was removed while connecting to " + uri};
    default:
      return {Code::kUnavailable, "nobody answers on " + uri + " (" +
                                      std::string(::rdma_event_str(event.event)) +
                                      "): see to the network, and to the server's machine"};
  }
}

}  // namespace plov::fabric::verbs
