#include "fabric/verbs/port_device.h"

#include <algorithm>

#include "fabric/verbs/peer.h"

namespace plov::fabric::verbs {

namespace {

// Peers that the completion queue has room for at the start; it doubles.
constexpr size_t kFirstPeers = 16;

}  // namespace

std::expected<std::unique_ptr<PortDevice>, Error> PortDevice::Create(ibv_pd* pd) {
  std::unique_ptr<PortDevice> device(new PortDevice(pd));
  auto channel = CreateCompletionChannel(pd->context);
  if (!channel) return std::unexpected(channel.error());
  device->channel = std::move(*channel);
  ibv_device_attr attributes;
  if (const int failed = ::ibv_query_device(pd->context, &attributes); failed != 0) {
    return FailErrno("cannot query the RDMA device", failed);
  }
  device->entries_max_ = static_cast<size_t>(attributes.max_cqe);
  device->entries_ = std::min(kFirstPeers * kPeerSizes.completions(), device->entries_max_);
  auto cq = CreateCq(pd->context, device->channel.get(), device->entries_);
  if (!cq) return std::unexpected(cq.error());
  device->cq = std::move(*cq);
  auto slices = Slices::Create(pd);
  if (!slices) return std::unexpected(slices.error());
  device->slices = std::move(*slices);
  return device;
}

std::expected<void, Error> PortDevice::MakeRoom(size_t completions) {
  if (completions <= entries_) return {};
  const size_t wanted = std::min(2 * completions, entries_max_);
  if (wanted < completions || ::ibv_resize_cq(cq.get(), static_cast<int>(wanted)) != 0) {
    return Fail(Code::kNoSpace, "the RDMA device has no room for more connections");
  }
  entries_ = wanted;
  return {};
}

}  // namespace plov::fabric::verbs
