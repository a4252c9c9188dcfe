#include "server/superblock_page.h"

#include "verify/words.h"

namespace plov::server {

using cuckoo::Geometry;

namespace {

// Versions between two rewrites of the superblock, and what a restart skips of them.
constexpr uint64_t kVersionStep = uint64_t{1} << 30;

verify::TableExtent ExtentOf(const Geometry& geometry) {
  if (geometry.generation == 0) return {};
  return {geometry.generation, geometry.offset, geometry.bucket_count, geometry.bucket_bytes, 0};
}

}  // namespace

SuperblockPage::SuperblockPage(std::byte* region, const verify::Superblock& page)
    : region_(region), page_(page), last_version_(page.version_limit) {
  page_.version_limit = last_version_ + kVersionStep;
}

uint64_t SuperblockPage::SetTables(const Geometry& current, const Geometry& next) {
  page_.tables = {ExtentOf(current), ExtentOf(next)};
  return Publish();
}

void SuperblockPage::SetStash(const verify::StashMemory& stash) {
  page_.stash = stash;
  Publish();
}

void SuperblockPage::GoOnBeyond(uint64_t version) { Pass(version + kVersionStep); }

void SuperblockPage::SetLast(uint64_t version) {
  last_version_ = version;
  if (last_version_ < page_.version_limit) return;
  page_.version_limit = last_version_;
  RaiseVersionLimit();
}

uint64_t SuperblockPage::Publish() {
  ++page_.version;
  verify::SealSuperblock(&page_);
  verify::StoreSuperblock(verify::WordsAt(region_, 0), page_);
  return page_.version;
}

void SuperblockPage::RaiseVersionLimit() {
  page_.version_limit += kVersionStep;
  Publish();
}

}  // namespace plov::server
