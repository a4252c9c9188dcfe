// SuperblockPage: the superblock of a region, as clients READ it, and the versions of writes, which it bounds.
#pragma once

#include <cstddef>
#include <cstdint>

#include "cuckoo/geometry.h"
#include "verify/superblock.h"

namespace plov::server {

class SuperblockPage {
 public:
  // region: outlives it. page: what is published first, by SetTables.
  SuperblockPage(std::byte* region, const verify::Superblock& page);

  // As published last.
  const verify::Superblock& page() const { return page_; }

  // Both publish. SetTables returns the superblock's version.
  uint64_t SetTables(const cuckoo::Geometry& current, const cuckoo::Geometry& next);
  void SetStash(const verify::StashMemory& stash);

  // Of writes. A restart goes on beyond the limit in the page.
  uint64_t last_version() const { return last_version_; }
  uint64_t NextVersion() {
    ++last_version_;
    if (last_version_ >= page_.version_limit) RaiseVersionLimit();
    return last_version_;
  }
  // A write has this one that another server gave it.
  void Pass(uint64_t version) {
    if (version > last_version_) SetLast(version);
  }
  // And all that came after it, where some of them may be lost.
  void GoOnBeyond(uint64_t version);

 private:
  uint64_t Publish();
  void SetLast(uint64_t version);
  void RaiseVersionLimit();

  std::byte* region_;
  verify::Superblock page_;
  uint64_t last_version_;
};

}  // namespace plov::server
