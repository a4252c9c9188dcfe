// Cm: connection management by rdmacm: channels of events, identifiers, and what their events mean.
#pragma once

#include <rdma/rdma_cma.h>

#include <cstdint>
#include <expected>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "fabric/fabric.h"
#include "verify/error.h"

namespace plov::fabric::verbs {

// unique_ptr's deleter by a C function.
template <auto Free>
struct FreeBy {
  template <typename T>
  void operator()(T* owned) const {
    Free(owned);
  }
};

using CmId = std::unique_ptr<rdma_cm_id, FreeBy<rdma_destroy_id>>;
// To be gone before its identifier: rdma_destroy_id waits until its events are acknowledged.
using CmEvent = std::unique_ptr<rdma_cm_event, FreeBy<rdma_ack_cm_event>>;

class EventChannel {
 public:
  // kUnavailable where the machine has no rdmacm.
  static std::expected<EventChannel, Error> Create();

  int fd() const { return channel_->fd; }
  rdma_event_channel* get() const { return channel_.get(); }
  // The next event that is there; null when none is. A system call.
  CmEvent Next() const;
  // Waits for the next event; kTimeout after the deadline.
  std::expected<CmEvent, Error> Await(Deadline deadline) const;

 private:
  std::unique_ptr<rdma_event_channel, FreeBy<rdma_destroy_event_channel>> channel_;
};

// librdmacm opens a device once and for all, and closes it only if it looks at the devices again
// after it was removed: this makes it look. Until then a device whose driver takes nothing away by
// force (rxe) is not gone. It does not look while the machine has no other device.
void ForgetRemovedDevices();

// Whether the device that librdmacm has opened serves this process. One that was opened before a
// fork(2) does not serve the child: the kernel refuses what another process than the one that
// opened it (by its credentials) writes to it, and what is made of it lives as long as the parent.
bool IsOurs(const ibv_context& device);

// What a private data field of a peer begins with; nullopt when it is shorter than T.
template <typename T>
std::optional<T> PrivateData(const rdma_cm_event& event);

// An identifier on a channel, of the port space whose private data wire.h counts on.
std::expected<CmId, Error> CreateId(const EventChannel& channel, void* context);

// An event that ends an established connection.
bool EndsConnection(const rdma_cm_event& event);

Error NoDeviceReaches(const std::string& uri, int error_number);

// Why a connection did not come about, for the event that came instead of the one awaited.
Error ConnectError(const rdma_cm_event& event, const std::string& uri, uint32_t shard);

}  // namespace plov::fabric::verbs
