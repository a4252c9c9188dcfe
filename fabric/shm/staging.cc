#include "fabric/shm/staging.h"

#include <cerrno>

#include "fabric/shm/channel.h"
#include "verify/words.h"

namespace plov::fabric::shm {

std::expected<StagingMemory, Error> StagingMemory::Pass(int socket, uint64_t bytes) {
  auto file = CreateMemory("plov-staging", bytes);
  if (!file) return std::unexpected(file.error());
  auto mapping = Mapping::Map(file->get(), bytes, PROT_READ | PROT_WRITE);
  if (!mapping) return std::unexpected(mapping.error());
  if (!PassFile(socket, file->get())) {
    return FailErrno("cannot pass memory for large values to the server", errno);
  }
  StagingMemory memory;
  memory.mapping_ = std::move(*mapping);
  return memory;
}

void StagingView::Take(Fd file) {
  if (!has_memory() && IsFixedMemory(file.get())) file_ = std::move(file);
}

bool StagingView::Allows(uint64_t offset, uint64_t bytes) const {
  return offset % verify::kWordBytes == 0 && offset <= bytes_ && bytes <= bytes_ - offset;
}

bool StagingView::Copy(uint64_t offset, std::span<std::byte> to) const {
  ssize_t got;
  do {
    got = ::pread(file_.get(), to.data(), to.size(), static_cast<off_t>(offset));
  } while (got < 0 && errno == EINTR);
  return got >= 0 && static_cast<size_t>(got) == to.size();
}

}  // namespace plov::fabric::shm
