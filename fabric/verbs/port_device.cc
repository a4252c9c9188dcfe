#include "fabric/verbs/port_device.h"

#include "fabric/verbs/peer.h"

namespace plov::fabric::verbs {

namespace {

// Peers that the completion queue has room for at the start; it doubles.
constexpr size_t kFirstPeers = 16;

}  // namespace

std::expected<std::unique_ptr<PortDevice>, Error> PortDevice::Create(ibv_pd* pd,
                                                                     LocalRegion region) {
  std::unique_ptr<PortDevice> device(new PortDevice(pd, region));
  auto channel = CreateCompletionChannel(pd->context);
  if (!channel) return std::unexpected(channel.error());
  device->channel = std::move(*channel);
  device->entries_ = kFirstPeers * kPeerCompletions;
  auto cq = CreateCq(pd->context, device->channel.get(), device->entries_);
  if (!cq) return std::unexpected(cq.error());
  device->cq = std::move(*cq);
  return device;
}

std::expected<void, Error> PortDevice::MakeRoom(size_t peers) {
  const size_t needed = 2 * peers * kPeerCompletions;
  if (needed <= entries_) return {};
  const size_t wanted = 2 * needed;
  if (::ibv_resize_cq(cq.get(), static_cast<int>(wanted)) != 0) {
    return Fail(Code::kNoSpace, "the RDMA device has no room for more connections");
  }
  entries_ = wanted;
  return {};
}

}  // namespace plov::fabric::verbs
