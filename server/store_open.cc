// The store's beginning: fresh memory, or what a former server left; and its superblock.
#include <fmt/core.h>

#include <algorithm>
#include <bit>
#include <ranges>

#include "fabric/random.h"
#include "server/store.h"

namespace plov::server {

using cuckoo::Geometry;
using verify::Superblock;

namespace {

// A table of 256 KiB: doubled a dozen times on the way to ten million items, at a cost nobody sees.
constexpr uint64_t kFirstBuckets = 4096;
// How full one is with the items that are expected, in percent, and the part of the memory that it may take.
constexpr uint64_t kExpectedPercent = 70;
constexpr uint64_t kExpectedPart = 2;

constexpr auto kNoHeap =
    "no memory for what the server keeps of a table, a byte for each bucket: free some of the "
    "host's";
constexpr auto kMakesNoSense =
    "the superblock makes no sense: move it away, and plovd starts empty";

// Versions start at a random place between 2^43 and 2^51: what else lies in the region in clear, as
// lengths and offsets do, is no version (rule W11 of plov(7)). Below 2^52 every version is exact in
// JSON for 2^51 writes.
uint64_t FirstVersion() { return (fabric::RandomId() >> 13) | uint64_t{1} << 43; }

Superblock FreshSuperblock(const StoreOptions& options) {
  Superblock superblock{};
  superblock.incarnation = fabric::RandomId();
  superblock.hash_seed = options.hash_seed;
  superblock.version_limit = FirstVersion();
  const size_t blocks = options.evicts ? RecordArea::kBlocksWhenFull : RecordArea::kBlocksMin;
  superblock.block_bytes = options.block_bytes != 0
                               ? options.block_bytes
                               : RecordArea::BlockBytesFor(options.memory_bytes, blocks);
  return superblock;
}

bool IsZero(std::span<const std::byte> bytes) {
  return std::ranges::all_of(bytes, [](std::byte b) { return b == std::byte{0}; });
}

// Whether a page of a table holds nothing but empty buckets that were never rewritten: words other
// than checksums are 0.
bool IsFormatted(std::span<const std::byte> page) {
  for (size_t at = 0; at < page.size(); at += verify::kBucketBytesMin) {
    if (!IsZero(
            page.subspan(at + verify::kWordBytes, verify::kBucketBytesMin - verify::kWordBytes)))
      return false;
  }
  return true;
}

// A server killed before its first superblock was whole has stored nothing yet: the first page is
// zero and the mirror, which is written before it, lacks its checksum at least. That nothing was
// stored is looked at all the same, for somebody may have wiped the head.
bool WasNeverUsed(const Region& region) {
  const auto memory = region.memory().first(region.found_bytes() / kPageBytes * kPageBytes);
  if (memory.size() < verify::kRegionHeadBytes ||
      !IsZero(memory.first(verify::kMirrorOffset + verify::kWordBytes)) ||
      !IsZero(memory.subspan(verify::kJournalOffset, kPageBytes))) {
    return false;
  }
  for (size_t at = verify::kRegionHeadBytes; at < memory.size(); at += kPageBytes) {
    if (region.CommittedIn(at, kPageBytes) == 0) continue;
    if (!IsFormatted(memory.subspan(at, kPageBytes))) return false;
  }
  return true;
}

std::unexpected<Error> Unusable(const StoreOptions& options, Code code, const std::string& why) {
  return Fail(code, fmt::format("--warm {}: {}", options.warm_path, why));
}

std::expected<void, Error> IsOfServer(const StoreOptions& options, const Superblock& former) {
  if (former.shard != options.shard || former.shard_count != options.shard_count) {
    return Unusable(options, Code::kInvalidArgument,
                    fmt::format("holds shard {} of {}: start with --shards {}", former.shard,
                                former.shard_count, former.shard_count));
  }
  if (options.shard > 0 && former.hash_seed != options.hash_seed) {
    return Unusable(options, Code::kInvalidArgument,
                    fmt::format("belongs to another server than {}: name the files of one server",
                                options.warm_path.substr(0, options.warm_path.rfind('.'))));
  }
  return {};
}

std::expected<void, Error> IsOfCluster(const StoreOptions& options, const Superblock& former) {
  if (former.shard != options.shard || former.shard_count != options.shard_count) {
    return Unusable(
        options, Code::kInvalidArgument,
        fmt::format("holds shard {} of {}, not shard {} of the cluster's {}: name "
                    "another file",
                    former.shard, former.shard_count, options.shard, options.shard_count));
  }
  if (former.hash_seed != options.hash_seed) {
    return Unusable(options, Code::kInvalidArgument,
                    "belongs to another cluster, or to a server without one: its hash seed is not "
                    "the cluster's; name another file");
  }
  return {};
}

// Whether this server, with these options, can go on with a former one's memory.
std::expected<void, Error> Suits(const StoreOptions& options, const Region& region,
                                 const Superblock& former) {
  if (former.region_bytes > region.found_bytes()) {
    return Unusable(options, Code::kCorrupt,
                    "the file was cut short: move it away, and plovd starts empty");
  }
  const auto is_this = options.slots ? IsOfCluster(options, former) : IsOfServer(options, former);
  if (!is_this) return is_this;
  // A table that was growing is finished first: its next one is what counts.
  const verify::TableExtent& table = former.tables[former.tables[1].generation != 0 ? 1 : 0];
  if (options.bucket_bytes != 0 && table.bucket_bytes != options.bucket_bytes) {
    return Unusable(options, Code::kInvalidArgument,
                    fmt::format("holds buckets of {} bytes: start with --bucket-bytes {} or auto",
                                table.bucket_bytes, table.bucket_bytes));
  }
  if (!std::has_single_bit(former.block_bytes) || former.block_bytes < kPageBytes ||
      former.block_bytes > region.memory().size()) {
    return Unusable(options, Code::kCorrupt, kMakesNoSense);
  }
  return {};
}

cuckoo::SlotRange SlotsOf(const StoreOptions& options) {
  const cuckoo::SlotRange even{options.shard, options.shard, options.shard_count};
  return options.slots.value_or(even);
}

Superblock PageFor(Superblock superblock, const StoreOptions& options, const Region& region) {
  superblock.region_bytes = region.memory().size();
  superblock.shard = options.shard;
  superblock.shard_count = options.shard_count;
  superblock.value_bytes_max = options.value_bytes_max;
  superblock.of_cluster = options.slots ? 1 : 0;
  superblock.clock_offset_us = options.clock_offset_us;
  // What was not sealed yet of the last extent was perhaps never committed: it is taken anew.
  uint64_t sealed = superblock.stash.bytes;
  for (verify::StashExtent& extent : superblock.stash.extents) {
    extent.bytes = std::min(extent.bytes, sealed);
    sealed -= extent.bytes;
  }
  return superblock;
}

}  // namespace

Store::Store(const StoreOptions& options, Region region, const Superblock& superblock)
    : options_(options),
      slots_(SlotsOf(options)),
      region_(std::move(region)),
      memory_(&region_, verify::kRegionHeadBytes),
      records_(&region_, &memory_, superblock.block_bytes),
      superblock_(region_.data(), PageFor(superblock, options, region_)),
      record_seed_(verify::RecordSeed(superblock.incarnation)),
      items_(region_.data(), record_seed_),
      held_(&records_),
      rewrites_(options.warm_path.empty()
                    ? nullptr
                    : verify::WordsAt(region_.data(), verify::kJournalOffset)) {
  options_.hash_seed = superblock.hash_seed;
}

std::expected<Superblock, Error> Store::SuperblockFor(const StoreOptions& options,
                                                      const Region& region) {
  if (!region.found() || WasNeverUsed(region)) return FreshSuperblock(options);
  const auto former = FormerSuperblock(region);
  if (!former) {
    return Unusable(options, former.error().code,
                    former.error().message + ": move it away, and plovd starts empty");
  }
  if (auto suits = Suits(options, region, *former); !suits) {
    return std::unexpected(suits.error());
  }
  return former;
}

std::expected<std::unique_ptr<Store>, Error> Store::Create(const StoreOptions& options) {
  auto region = Region::Create({.budget_bytes = options.memory_bytes,
                                .huge_pages = options.huge_pages,
                                .extent = options.extent,
                                .path = options.warm_path,
                                .discards = options.discards_warm});
  if (!region) return std::unexpected(region.error());
  const auto superblock = SuperblockFor(options, *region);
  if (!superblock) return std::unexpected(superblock.error());
  const bool former = superblock->tables[0].generation != 0;
  if (auto lengthened = region->Lengthen(); !lengthened) {
    return std::unexpected(lengthened.error());
  }
  std::unique_ptr<Store> store(new Store(options, std::move(*region), *superblock));
  auto opened = former ? store->OpenFormer() : store->OpenFresh();
  if (!opened) return std::unexpected(opened.error());
  return store;
}

std::expected<void, Error> Store::MakeTable(const Geometry& geometry) {
  auto table = cuckoo::Table::Create(region_.data(), geometry, options_.hash_seed, &rewrites_);
  if (!table) return Fail(Code::kNoSpace, kNoHeap);
  table_.emplace(
      std::move(*table), cuckoo::StashGeometry::Of(superblock_.page()),
      [this](size_t key_bytes, bool grows) { return MakeStashRoom(key_bytes, grows); },
      static_cast<cuckoo::GrowingTable::Records*>(this));
  growth_.emplace(&*table_, &memory_, &records_,
                  Growth::Options{incarnation(), options_.bucket_bytes == 0, options_.evicts},
                  [this](const Geometry& current, const Geometry& next) {
                    return superblock_.SetTables(current, next);
                  });
  return {};
}

// The items of a snapshot come in the order of their homes: a table that grew with them would be filled from its
// begin. Where memory is small it grows all the same.
Store::FirstTable Store::FirstTableOf() const {
  uint32_t bytes = options_.bucket_bytes;
  if (bytes == 0) {
    const bool is_wide = options_.expected.bucket_bytes == verify::kBucketBytesMax;
    bytes = is_wide ? verify::kBucketBytesMax : verify::kBucketBytesMin;
  }
  if (options_.bucket_count != 0) return {options_.bucket_count, bytes};
  const uint64_t buckets_per_page = kPageBytes / bytes;
  const uint64_t wanted = options_.expected.items * 100 / kExpectedPercent;
  const uint64_t most = memory_.budget_bytes() / kExpectedPart / bytes;
  const uint64_t count = std::clamp(wanted, kFirstBuckets, std::max(kFirstBuckets, most));
  return {(count + buckets_per_page - 1) / buckets_per_page * buckets_per_page, bytes};
}

std::expected<void, Error> Store::OpenFresh() {
  const auto [bucket_count, bucket_bytes] = FirstTableOf();
  const size_t table_bytes = bucket_count * bucket_bytes;
  const auto offset = memory_.Take(table_bytes, kPageBytes, Memory::End::kHigh);
  if (!offset || !region_.Commit(0, verify::kRegionHeadBytes) ||
      !memory_.Commit(*offset, table_bytes)) {
    return Fail(Code::kNoSpace,
                fmt::format("no memory for a table of {} KiB: {}", table_bytes >> 10,
                            region_.host().refuses() ? region_.WhyRefused() : "raise --memory"));
  }
  const verify::TableExtent extent{1, *offset, bucket_count, bucket_bytes, 0};
  const Geometry geometry = Geometry::Of(extent, incarnation());
  if (auto made = MakeTable(geometry); !made) return made;
  MakeSweeper();
  MakeEvictor();
  table_->current().Format();
  superblock_.SetTables(geometry, Geometry{});
  return {};
}

std::expected<void, Error> Store::OpenFormer() {
  RedoSuperblock(region_);
  const Superblock former = superblock_.page();
  const bool redid_commit = RedoJournal(region_, former, options_.decided);
  const auto tables = former.tables;
  for (const verify::TableExtent& extent : tables) {
    if (extent.generation == 0) continue;
    if (!memory_.Claim(extent.offset, extent.bucket_count * extent.bucket_bytes)) {
      return Unusable(options_, Code::kCorrupt, kMakesNoSense);
    }
  }
  for (const verify::StashExtent& extent : former.stash.extents) {
    if (extent.bytes != 0 && !memory_.Claim(extent.offset, extent.bytes)) {
      return Unusable(options_, Code::kCorrupt, kMakesNoSense);
    }
  }
  if (auto made = MakeTable(Geometry::Of(tables[0], former.incarnation)); !made) return made;
  const bool growing = tables[1].generation != 0;
  const Geometry next = Geometry::Of(tables[1], former.incarnation);
  if (growing && !table_->Resume(next)) {
    return Fail(Code::kNoSpace, kNoHeap);
  }
  recovery_ = Recovery(&region_, &*table_, &records_, former, slots_).Run();
  recovery_.redid_commit = redid_commit;
  if (recovery_.foreign > 0) return HoldsOthers();
  stats_.payload_bytes = recovery_.payload_bytes;
  MakeSweeper();
  MakeEvictor();
  if (memory_.used_bytes() > memory_.budget_bytes()) return TooSmall();
  if (!memory_.Settle()) {
    return Unusable(options_, Code::kNoSpace, region_.WhyRefused());
  }
  superblock_.SetTables(table_->current().geometry(), next);
  if (growing) growth_->Finish();
  if (table_->stash().size() == 0) DropStash();
  return {};
}

// Nothing was given up: the same file serves with the memory it had.
std::unexpected<Error> Store::TooSmall() const {
  const size_t mib = (memory_.used_bytes() * options_.shard_count >> 20) + options_.shard_count;
  return Unusable(options_, Code::kNoSpace,
                  fmt::format("what it holds needs --memory {}M or more", mib));
}

// Nobody would find them here; and what this shard has got instead is in the memory of others.
std::unexpected<Error> Store::HoldsOthers() const {
  return Unusable(options_, Code::kInvalidArgument,
                  fmt::format("holds items that are not shard {}'s: slots were divided otherwise "
                              "between the shards when they were stored",
                              options_.shard));
}

void Store::MakeSweeper() {
  sweeper_.emplace(&items_, &*table_, recovery_.expiring,
                   [this](uint64_t hash, const cuckoo::Table::Slot& slot) {
                     const verify::MaskedItem item = items_.Of(slot.bucket);
                     EraseExpired({hash, true, false, item.version(), slot, item});
                   });
}

void Store::MakeEvictor() {
  if (!options_.evicts) return;
  evictor_.emplace(&items_, &*table_, [this](const cuckoo::TableWalk::Place& place) {
    const verify::MaskedItem item = items_.Of(place.slot.bucket);
    Erase({place.hash, true, true, item.version(), place.slot, item});
    ++stats_.evicted;
  });
}

}  // namespace plov::server
