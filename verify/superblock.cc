#include "verify/superblock.h"

#include <bit>

#include "verify/bucket.h"
#include "verify/seal.h"
#include "verify/words.h"

namespace plov::verify {

namespace {

// Three ways for a key that differ (cuckoo/hash.h) need as many.
constexpr uint64_t kBucketCountMin = 8;

uint64_t ChecksumOf(const Superblock& superblock) {
  const auto bytes = std::as_bytes(std::span(&superblock, 1)).subspan(kWordBytes);
  return Checksum(bytes.data(), bytes.size(), kSuperblockSeed);
}

bool Inside(uint64_t offset, uint64_t bytes, uint64_t region_bytes) {
  return offset % kWordBytes == 0 && offset <= region_bytes && bytes <= region_bytes - offset;
}

bool TableIsSane(const TableExtent& table, uint64_t region_bytes) {
  if (table.generation == 0) return true;
  const bool size_known =
      table.bucket_bytes == kBucketBytesMin || table.bucket_bytes == kBucketBytesMax;
  return size_known && table.bucket_count >= kBucketCountMin &&
         table.bucket_count <= region_bytes / table.bucket_bytes &&
         Inside(table.offset, table.bucket_count * table.bucket_bytes, region_bytes);
}

bool StashIsSane(const StashMemory& stash, uint64_t region_bytes) {
  uint64_t bytes = 0;
  for (const StashExtent& extent : stash.extents) {
    if (!Inside(extent.offset, extent.bytes, region_bytes)) return false;
    if (extent.offset % kPageBytes != 0 || extent.bytes % kPageBytes != 0) return false;
    bytes += extent.bytes;
  }
  return stash.bytes % kPageBytes == 0 && stash.bytes <= bytes && bytes <= region_bytes;
}

bool IsSane(const Superblock& superblock) {
  if (superblock.page_bytes != kPageBytes || superblock.incarnation == 0 ||
      superblock.shard >= superblock.shard_count || superblock.shard_count > kShardsMax ||
      superblock.of_cluster > 1)
    return false;
  if (superblock.tables[0].generation == 0) return false;
  const uint64_t next = superblock.tables[1].generation;
  if (next != 0 && next <= superblock.tables[0].generation) return false;
  for (const TableExtent& table : superblock.tables) {
    if (!TableIsSane(table, superblock.region_bytes)) return false;
  }
  // What is stored in the one table fits in the next.
  if (next != 0 && superblock.tables[1].bucket_bytes < superblock.tables[0].bucket_bytes)
    return false;
  return StashIsSane(superblock.stash, superblock.region_bytes);
}

}  // namespace

void SealSuperblock(Superblock* superblock) {
  superblock->magic = kSuperblockMagic;
  superblock->format = kFormatVersion;
  superblock->page_bytes = kPageBytes;
  superblock->checksum = ChecksumOf(*superblock);
}

void StoreSuperblockPage(uint64_t* page, const Superblock& superblock) {
  const auto words =
      std::bit_cast<std::array<uint64_t, sizeof(Superblock) / kWordBytes>>(superblock);
  for (size_t i = 1; i < words.size(); ++i) StoreWord(page + i, words[i]);
  PublishSeal(page, words[0]);
  KeepStoreOrder();
}

void StoreSuperblock(uint64_t* shared, const Superblock& superblock) {
  StoreSuperblockPage(shared + kMirrorOffset / kWordBytes, superblock);
  StoreSuperblockPage(shared, superblock);
}

SuperblockState CheckSuperblock(const Superblock& copy) {
  // The checksum word comes last, so a first superblock still being written may lack any of these.
  const bool whole = copy.checksum == ChecksumOf(copy);
  if (copy.magic != kSuperblockMagic) {
    return whole ? SuperblockState::kNotPlov : SuperblockState::kTorn;
  }
  if (copy.format != kFormatVersion && copy.format != 0) return SuperblockState::kOtherFormat;
  if (!whole) return SuperblockState::kTorn;
  return IsSane(copy) ? SuperblockState::kWhole : SuperblockState::kNotPlov;
}

}  // namespace plov::verify
