#include "fabric/verbs/memory.h"

#include <fcntl.h>

#include <cerrno>
#include <cstring>
#include <string>

namespace plov::fabric::verbs {

std::expected<Mr, Error> Register(ibv_pd* pd, std::span<std::byte> memory, Access access) {
  const auto flags = static_cast<unsigned>(access);
  Mr mr(::ibv_reg_mr(pd, memory.data(), memory.size(), flags));
  if (mr != nullptr) return mr;
  const std::string size = std::to_string((memory.size() + 1023) / 1024) + " KiB";
  if (errno == ENOMEM || errno == EAGAIN || errno == EPERM) {
    return Fail(Code::kNoSpace, "cannot pin " + size +
                                    " of memory for the RDMA device: raise ulimit -l "
                                    "(LimitMEMLOCK=infinity in a systemd unit), or use less");
  }
  return FailErrno("cannot register " + size + " of memory with the RDMA device", errno);
}

std::expected<RegisteredPages, Error> RegisteredPages::Create(ibv_pd* pd, size_t bytes,
                                                              Access access) {
  RegisteredPages pages;
  auto mapping = Mapping::MapAnonymous(bytes);
  if (!mapping) return std::unexpected(mapping.error());
  pages.mapping = std::move(*mapping);
  auto mr = Register(pd, pages.mapping.bytes(), access);
  if (!mr) return std::unexpected(mr.error());
  pages.mr = std::move(*mr);
  return pages;
}

std::expected<CompletionChannel, Error> CreateCompletionChannel(ibv_context* device) {
  CompletionChannel channel(::ibv_create_comp_channel(device));
  if (channel == nullptr) return FailErrno("cannot create an RDMA completion channel", errno);
  const int flags = ::fcntl(channel->fd, F_GETFL);
  if (flags < 0 || ::fcntl(channel->fd, F_SETFL, flags | O_NONBLOCK) != 0) {
    return FailErrno("cannot set up an RDMA completion channel", errno);
  }
  return channel;
}

std::expected<Cq, Error> CreateCq(ibv_context* device, ibv_comp_channel* channel, size_t entries) {
  Cq cq(::ibv_create_cq(device, static_cast<int>(entries), nullptr, channel, 0));
  if (cq == nullptr) return FailErrno("cannot create an RDMA completion queue", errno);
  return cq;
}

// Acknowledged at once for all: ibv_ack_cq_events takes a lock, and ibv_destroy_cq waits for it.
void DrainEvents(ibv_comp_channel* channel) {
  ibv_cq* cq = nullptr;
  void* context = nullptr;
  unsigned count = 0;
  ibv_cq* of = nullptr;
  while (::ibv_get_cq_event(channel, &cq, &context) == 0) {
    of = cq;
    ++count;
  }
  if (count > 0) ::ibv_ack_cq_events(of, count);
}

}  // namespace plov::fabric::verbs
