// Staging: memory of the client's own, from which the server READs its large values.
//
// The client makes a file of memory, maps it, and passes it over the socket before its first message
// that names a place there. The server never maps it: a mapping takes pages for holes that are
// looked at, on whose account the client could not decide better, and may fault. It copies by
// pread(2), which does neither. So the pages are those that the client itself has written, as many
// as the client's own system lets it have; the server adds none, however many clients there are.
#pragma once

#include <cstddef>
#include <cstdint>
#include <expected>
#include <span>

#include "fabric/os.h"

namespace plov::fabric::shm {

// The client's side.
class StagingMemory {
 public:
  // Makes it and passes it to the server at the other end of the socket. kSystem.
  static std::expected<StagingMemory, Error> Pass(int socket, uint64_t bytes);

  std::span<std::byte> bytes() const { return mapping_.bytes(); }

 private:
  Mapping mapping_;
};

// The server's side of one client.
class StagingView {
 public:
  StagingView() = default;
  // bytes: that the client may name; 0 of one that may not write.
  explicit StagingView(uint64_t bytes) : bytes_(bytes) {}

  // Takes what the client has passed, unless it has some already; what it may be waited for when it
  // is read, as a file of a file system of the client's own, is not taken.
  void Take(Fd file);
  bool has_memory() const { return static_cast<bool>(file_); }

  // Whether a READ may be of this range.
  bool Allows(uint64_t offset, uint64_t bytes) const;
  // Copies a range that is allowed; false where the client has passed less.
  bool Copy(uint64_t offset, std::span<std::byte> to) const;

 private:
  Fd file_;
  uint64_t bytes_ = 0;
};

}  // namespace plov::fabric::shm
