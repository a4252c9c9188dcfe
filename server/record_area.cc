#include "server/record_area.h"

#include <fmt/core.h>

#include <cassert>

namespace plov::server {

namespace {

template <typename T>
bool ControlWrite(const std::string& name, T value) {
  return mallctl(name.c_str(), nullptr, nullptr, &value, sizeof(value)) == 0;
}

}  // namespace

RecordArea::RecordArea(Region* region, size_t offset)
    : region_(region), begin_(offset), next_(offset) {}

std::expected<std::unique_ptr<RecordArea>, Error> RecordArea::Create(Region* region,
                                                                     size_t offset) {
  std::unique_ptr<RecordArea> area(new RecordArea(region, offset));
  if (auto opened = area->Open(); !opened) return std::unexpected(opened.error());
  return area;
}

// Hooks that are left null refuse: an extent is never unmapped or decommitted, and splitting and
// merging are allowed within the area, since a null split or merge hook would forbid them.
std::expected<void, Error> RecordArea::Open() {
  hooks_.area = this;
  hooks_.hooks.alloc = &OnAllocate;
  hooks_.hooks.split = [](extent_hooks_t*, void*, size_t, size_t, size_t, bool, unsigned) {
    return false;
  };
  hooks_.hooks.merge = [](extent_hooks_t*, void*, size_t, void*, size_t, bool, unsigned) {
    return false;
  };
  extent_hooks_t* hooks = &hooks_.hooks;
  size_t bytes = sizeof(arena_);
  if (mallctl("arenas.create", &arena_, &bytes, &hooks, sizeof(hooks)) != 0) {
    return Fail(Code::kNoSpace, "cannot create the record arena: raise --memory");
  }
  bytes = sizeof(cache_);
  if (mallctl("tcache.create", &cache_, &bytes, nullptr, 0) != 0) {
    return Fail(Code::kSystem, "cannot create the record cache");
  }
  open_ = true;
  // Freed extents go to the arena's retained ones at once, which costs no system call since the
  // hooks to purge are null. Among dirty ones jemalloc would not split an extent of more than 64
  // times what is asked for (lg_extent_max_active_fit), and call memory full that is free.
  ControlWrite<ssize_t>(fmt::format("arena.{}.dirty_decay_ms", arena_), 0);
  ControlWrite<ssize_t>(fmt::format("arena.{}.muzzy_decay_ms", arena_), 0);
  return {};
}

RecordArea::~RecordArea() {
  if (!open_) return;
  mallctl("tcache.destroy", nullptr, nullptr, &cache_, sizeof(cache_));
  mallctl(fmt::format("arena.{}.destroy", arena_).c_str(), nullptr, nullptr, nullptr, 0);
}

void* RecordArea::TakeExtent(size_t bytes, size_t alignment) {
  std::byte* base = region_->data();
  void* at = base + next_;
  size_t room = region_->memory().size() - next_;
  if (std::align(alignment, bytes, at, room) == nullptr) return nullptr;
  const auto offset = static_cast<size_t>(static_cast<std::byte*>(at) - base);
  if (!region_->Commit(offset, bytes)) return nullptr;
  next_ = offset + bytes;
  return at;
}

void* RecordArea::OnAllocate(extent_hooks_t* hooks, void* address, size_t bytes, size_t alignment,
                             bool* zero, bool* commit, unsigned) {
  if (address != nullptr) return nullptr;  // extents are not extended in place
  // The hooks are the first member of a standard-layout Hooks.
  void* extent = static_cast<Hooks*>(static_cast<void*>(hooks))->area->TakeExtent(bytes, alignment);
  if (extent != nullptr) {
    *zero = true;  // committed pages of the file are zero
    *commit = true;
  }
  return extent;
}

std::optional<uint64_t> RecordArea::Allocate(size_t record_bytes) {
  const int flags = MALLOCX_ARENA(arena_) | MALLOCX_TCACHE(cache_);
  void* record = mallocx(record_bytes, flags);
  if (record == nullptr) {
    // What the cache keeps of other sizes may make room.
    ControlWrite("tcache.flush", cache_);
    record = mallocx(record_bytes, flags);
  }
  if (record == nullptr) return std::nullopt;
  allocated_bytes_ += sallocx(record, 0);
  return static_cast<uint64_t>(static_cast<std::byte*>(record) - region_->data());
}

void RecordArea::Free(uint64_t offset) {
  assert(offset >= begin_ && offset < next_);
  void* record = region_->data() + offset;
  allocated_bytes_ -= sallocx(record, 0);
  dallocx(record, MALLOCX_TCACHE(cache_));
}

}  // namespace plov::server
