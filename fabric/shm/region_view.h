// RegionView: the server's memory as a client READs it.
//
// A file under a mapping can be cut short, and whoever loads from it then dies by SIGBUS. Memory
// that is sealed against that is mapped. A file that cannot be sealed - plovd --warm keeps one - is
// mapped, too, when the server is root's or of the client's own user, who can end the client anyway;
// of another user's server it is READ by pread(2), which at most returns less.
#pragma once

#include <cstddef>
#include <cstdint>
#include <expected>
#include <span>

#include "fabric/os.h"

namespace plov::fabric::shm {

class RegionView {
 public:
  enum class Trust { kNone, kServer };

  RegionView() = default;

  // kProtocol when the file is shorter than the server says, or of a kind that pread may wait for;
  // kSystem.
  static std::expected<RegionView, Error> Open(Fd file, uint64_t bytes, Trust trust);

  // The memory where READs are loads; else empty.
  std::span<const std::byte> memory() const { return mapping_.bytes(); }
  uint64_t bytes() const { return bytes_; }

  void Prefetch(uint64_t offset, size_t bytes) const;
  // Needs a range of whole words inside. False when the file was cut short.
  bool Copy(uint64_t offset, void* to, size_t bytes) const;

 private:
  Fd file_;  // where it is READ by pread
  Mapping mapping_;
  uint64_t bytes_ = 0;
};

// Whether the server at the other end of a socket can harm this process without a socket.
RegionView::Trust TrustIn(int socket);

}  // namespace plov::fabric::shm
