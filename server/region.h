// Region: one shard's memory, a file that clients map or a card reads.
//
// Usually an anonymous file (memfd) and not one in /dev/shm: it is not limited by that file
// system's size (64 MiB in most containers), and nothing is left behind however the server ends.
// For a warm restart it is a named file on tmpfs or hugetlbfs, which stays.
//
// A region is sparse: it has three times as many addresses as its budget has pages, and pages are
// committed by Commit, which fails with an error where touching them would end the process (a full
// tmpfs), and given back by Release. (A READ of a hole costs a page of zeros, which no account here
// knows.) Or it is whole: as many addresses as budget, all committed at the start and never
// released. Of reserved huge pages it always is, because a READ of a hole there would end the reader; and
// where a card reads it, because a card's memory is registered and pinned, holes and all, and a
// pinned page that is punched out of the file would still be what the card reads.
//
// Where the kernel gives transparent huge pages, Commit takes whole ones as long as budget and host have
// room for them, so that little of what lies together is in small pages; then pages of 4 KiB, and Release
// splits huge ones: of the budget only what a reader uses just then is lost to pages that are partly free.
#pragma once

#include <algorithm>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <optional>
#include <span>
#include <string>

#include "fabric/file_lock.h"
#include "fabric/os.h"
#include "server/host_limit.h"
#include "server/page_set.h"
#include "verify/error.h"
#include "verify/superblock.h"

namespace plov::server {

enum class HugePages { kNo, kYes, kAuto };            // wanted; kYes: reserved, kAuto: transparent
enum class PageKind { kSmall, kTransparent, kHuge };  // there; numbers that `plov stats` shows
enum class Extent { kSparse, kWhole };

using verify::kPageBytes;
inline constexpr size_t kHugePageBytes = size_t{2} << 20;
inline constexpr size_t kSparseness = 3;
// Below this a sparse region has small pages: two huge ones are committed at the least, which is a
// sixteenth of it.
inline constexpr size_t kTransparentBytesMin = size_t{64} << 20;

constexpr size_t RoundUp(size_t bytes, size_t unit) { return (bytes + unit - 1) / unit * unit; }

struct RegionOptions {
  size_t budget_bytes = 0;  // rounded up to whole pages
  HugePages huge_pages = HugePages::kNo;
  Extent extent = Extent::kSparse;
  std::string path = {};  // of the file to keep; empty: anonymous. On hugetlbfs its pages are huge
  bool discards = false;  // what that file holds is given up
  std::string root = {};  // of /proc and /sys, for tests
};

class Region {
 public:
  // A file that is there is taken as it is; more of it may be committed than the budget allows. But
  // one that a sparse region left is longer than a whole one may be: kInvalidArgument.
  // kNoSpace with the command that mends it, kInUse (another server has the file), kInvalidArgument
  // (no plain file, or huge pages where there are none), kPermission, kSystem.
  static std::expected<Region, Error> Create(const RegionOptions& options);
  Region(Region&& other) noexcept;
  Region& operator=(Region&&) = delete;
  ~Region();

  // Makes a file that is there as long as the memory is; never shorter. Until then only its
  // found_bytes can be touched: whoever refuses a file that was cut short leaves it so.
  std::expected<void, Error> Lengthen();

  // Makes sure that the bytes can be touched. Pages that are committed already cost nothing. False
  // when they would exceed the budget or memory is short; nothing changed then. Takes unit_bytes at a time
  // where there is room for them beside `others_bytes` of the budget that are not the region's.
  bool Commit(size_t offset, size_t bytes, size_t others_bytes = 0);
  // Gives back the pages that lie wholly inside; they read as zeros then. Nothing of a whole
  // region.
  void Release(size_t offset, size_t bytes);
  // The same for about `wanted` bytes of what is committed there, those at the end first.
  void ReleaseLast(size_t offset, size_t bytes, size_t wanted);
  // How many of the pages that the bytes touch are committed, in bytes.
  size_t CommittedIn(size_t offset, size_t bytes) const;

  bool IsCommitted(size_t offset, size_t bytes) const {
    return FreshBytes(PagesOf(offset, bytes, page_bytes_)) == 0;
  }

  // Whether the host has refused a Commit within the budget, and why, in a sentence that says what
  // mends it.
  const HostLimit& host() const { return host_; }
  std::string WhyRefused() const;

  // True when the file was there before and not empty: it holds what a former server left.
  bool found() const { return found_; }
  size_t found_bytes() const { return found_ ? file_bytes_ : 0; }

  std::span<std::byte> memory() const { return memory_; }
  std::byte* data() const { return memory_.data(); }
  int fd() const { return fd_.get(); }
  PageKind page_kind() const { return kind_; }
  size_t page_bytes() const { return page_bytes_; }  // those that it counts
  size_t unit_bytes() const {
    return kind_ == PageKind::kTransparent ? kHugePageBytes : page_bytes_;
  }
  bool is_whole() const { return is_huge() || extent_ == Extent::kWhole; }
  size_t budget_bytes() const { return budget_bytes_; }
  // Of a sparse region: to no more than there are addresses.
  void RaiseBudget(size_t bytes) {
    assert(!is_whole() && bytes <= memory_.size());
    budget_bytes_ = std::max(budget_bytes_, bytes / page_bytes_ * page_bytes_);
  }
  // Until it is 0 again a sparse region may take so much beyond its budget.
  void set_slack_bytes(size_t bytes) { slack_bytes_ = bytes; }
  size_t limit_bytes() const { return budget_bytes_ + slack_bytes_; }
  size_t committed_bytes() const { return committed_bytes_; }

 private:
  explicit Region(const RegionOptions& options);
  std::expected<void, Error> OpenAnonymous();
  std::expected<void, Error> OpenFile(const RegionOptions& options);
  std::expected<void, Error> CheckFile(const RegionOptions& options);
  void ChoosePages(const RegionOptions& options);
  std::expected<void, Error> Map();
  void FindCommitted();
  void ReleaseHoles();
  void MapFound();
  struct Pages {
    size_t from, to;
  };
  Pages PagesOf(size_t offset, size_t bytes, size_t unit_bytes) const;
  size_t FreshBytes(Pages pages) const;
  bool Fill(Pages pages);
  bool FillHuge(Pages pages);
  bool Punch(Pages pages);
  Pages WithoutUnsplit(Pages pages) const;
  void Advise(int advice);
  bool is_huge() const { return kind_ == PageKind::kHuge; }

  std::string path_;                      // empty: anonymous
  std::optional<fabric::FileLock> lock_;  // of a named file
  std::span<std::byte> memory_;
  fabric::Fd fd_;
  bool found_ = false;
  PageKind kind_;
  bool populates_ = false;  // pages are committed by the mapping, which says how large they may be
  size_t page_bytes_ = kPageBytes;
  Extent extent_;
  size_t budget_bytes_;
  size_t slack_bytes_ = 0;
  size_t file_bytes_ = 0;  // as found
  size_t committed_bytes_ = 0;
  PageSet committed_;
  HostLimit host_;
};

}  // namespace plov::server
