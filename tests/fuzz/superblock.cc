// Superblocks, sealed anew: what a client READs, and what a server finds in a warm file.
//
// Property: a superblock that is accepted names memory inside the region only, told apart from the
// product by arithmetic that cannot wrap.
#include "verify/superblock.h"

#include <algorithm>
#include <memory>

#include "cuckoo/geometry.h"
#include "tests/fuzz/input.h"

namespace plov::fuzz {
namespace {

using verify::Superblock;
using Wide = unsigned __int128;

bool Inside(uint64_t offset, Wide bytes, uint64_t region_bytes) {
  return Wide{offset} + bytes <= region_bytes;
}

void CheckTable(const verify::TableExtent& table, uint64_t region_bytes) {
  if (table.generation == 0) return;
  Check(table.bucket_bytes == 64 || table.bucket_bytes == 128, "buckets have a size that is known");
  Check(table.bucket_count >= 8, "a table has as many buckets as a hash needs");
  Check(table.offset % 8 == 0, "a table begins at a word");
  Check(Inside(table.offset, Wide{table.bucket_count} * table.bucket_bytes, region_bytes),
        "a table lies in the region");
  const auto geometry = cuckoo::Geometry::Of(table, 1);
  const uint64_t last = geometry.BucketOffset(table.bucket_count - 1);
  Check(Inside(last, table.bucket_bytes, region_bytes), "its last bucket does");
}

void CheckStash(const Superblock& page) {
  const auto stash = cuckoo::StashGeometry::Of(page);
  Check(stash.memory.bytes <= page.region_bytes, "a stash fits into the region");
  const uint64_t step = std::max<uint64_t>(stash.bucket_count() / 100, 1);
  for (uint64_t i = 0; i < stash.bucket_count(); i += step) {
    const uint64_t offset = stash.BucketOffset(i);
    Check(offset % 8 == 0, "a bucket begins at a word");
    Check(Inside(offset, stash.bucket_bytes, page.region_bytes), "a bucket lies in the region");
  }
}

void CheckAccepted(const Superblock& page) {
  Check(page.shard < page.shard_count && page.shard_count <= verify::kShardsMax,
        "a client connects to so many shards at most");
  Check(page.incarnation != 0, "an incarnation is not 0");
  Check(page.tables[0].generation != 0, "there is a table");
  const uint64_t next = page.tables[1].generation;
  Check(next == 0 || next > page.tables[0].generation, "generations are in order");
  for (const auto& table : page.tables) CheckTable(table, page.region_bytes);
  CheckStash(page);
}

}  // namespace
}  // namespace plov::fuzz

// The superblock's beginning; the rest is zeros.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t bytes) {
  using namespace plov::fuzz;
  using plov::verify::SuperblockState;
  Input input(data, bytes);
  const bool seals = input.Take<uint8_t>() % 8 != 0;
  Superblock page{};
  const auto head = input.TakeBytes(sizeof(page));
  if (!head.empty()) std::memcpy(&page, head.data(), head.size());
  if (seals) plov::verify::SealSuperblock(&page);
  const auto verdict = plov::verify::CheckSuperblock(page);
  Check(!seals || verdict == SuperblockState::kWhole || verdict == SuperblockState::kNotPlov,
        "a page under a good checksum is no torn one");
  if (verdict == SuperblockState::kWhole) CheckAccepted(page);
  return 0;
}
