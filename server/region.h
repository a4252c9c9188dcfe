// Region: one shard's memory, an anonymous file that clients map or a card reads.
//
// An anonymous file (memfd) and not one in /dev/shm: it is not limited by that file system's size
// (64 MiB in most containers), and nothing is left behind however the server ends. Its size is
// fixed and sealed; pages are committed by Commit, which fails with an error where touching them
// would end the process (a full tmpfs, no huge pages).
#pragma once

#include <cstddef>
#include <cstdint>
#include <expected>
#include <span>

#include "verify/error.h"

namespace plov::server {

enum class PageKind { kNormal, kHuge };

inline constexpr size_t kPageBytes = 4096;
inline constexpr size_t kHugePageBytes = size_t{2} << 20;

class Region {
 public:
  // bytes: rounded up to whole pages. kNoSpace with the command that mends it, kSystem.
  static std::expected<Region, Error> Create(size_t bytes, PageKind pages);
  Region(Region&& other) noexcept;
  Region& operator=(Region&&) = delete;
  ~Region();

  // Makes sure that the bytes can be touched. False when memory is short; nothing changed then.
  bool Commit(size_t offset, size_t bytes);

  std::span<std::byte> memory() const { return memory_; }
  std::byte* data() const { return memory_.data(); }
  int fd() const { return fd_; }
  size_t page_bytes() const { return page_bytes_; }
  size_t committed_bytes() const { return committed_bytes_; }

 private:
  Region() = default;

  std::span<std::byte> memory_;
  int fd_ = -1;
  size_t page_bytes_ = kPageBytes;
  size_t committed_bytes_ = 0;
};

}  // namespace plov::server
