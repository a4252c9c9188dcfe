#include "server/recovery.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <optional>

#include "server/start_progress.h"
#include "verify/journal.h"
#include "verify/record.h"

namespace plov::server {

using cuckoo::Geometry;
using cuckoo::Table;
using cuckoo::TableRecovery;
using verify::Bucket;
using verify::BucketKind;
using verify::Superblock;
using verify::SuperblockState;

namespace {

// Buckets that are taken over at a time, so that their records' cache misses overlap.
constexpr uint64_t kBatch = 16;

Superblock PageAt(const Region& region, size_t offset) {
  Superblock page;
  verify::CopyFromShared(&page, region.data() + offset, sizeof(page));
  return page;
}

// Every table is as wide as this one, or wider.
bool FitsIn(const Table& table, const Bucket& bucket) {
  return bucket.kind() != BucketKind::kInline ||
         bucket.inline_item(table.geometry().bucket_bytes).has_value();
}

// An entry's bucket, if it is whole, to its place in a table or the stash.
template <typename AnyGeometry>
void RedoIn(const Region& region, const AnyGeometry& geometry, const uint64_t* journal,
            uint64_t index) {
  Bucket bucket;
  verify::CopyFromShared(bucket.words(), journal + verify::kJournalBucketWord,
                         geometry.bucket_bytes);
  if (!bucket.Whole(geometry.bucket_bytes, geometry.SeedOf(index))) return;
  verify::StoreBucket(verify::WordsAt(region.data(), geometry.BucketOffset(index)), bucket,
                      geometry.bucket_bytes);
}

void Redo(const Region& region, const Superblock& superblock, const uint64_t* journal) {
  const uint64_t generation = verify::LoadWord(journal);
  const uint64_t index = verify::LoadWord(journal + 1);
  const cuckoo::StashGeometry stash = cuckoo::StashGeometry::Of(superblock);
  if (generation == cuckoo::StashGeometry::kGeneration && index < stash.bucket_count()) {
    RedoIn(region, stash, journal, index);
  }
  for (const verify::TableExtent& extent : superblock.tables) {
    if (extent.generation == 0 || extent.generation != generation) continue;
    if (index >= extent.bucket_count) continue;
    RedoIn(region, Geometry::Of(extent, superblock.incarnation), journal, index);
  }
}

// decided: of the shards before this one.
bool Happened(const Region& region, const Superblock& superblock,
              const verify::CommitDecision& decision, std::span<const uint64_t> decided) {
  if (decision.id == 0) return true;
  if (decision.shard == superblock.shard) {
    return verify::CommitJournal::Decided(region.data()) == decision.id;
  }
  return decision.shard < decided.size() && decided[decision.shard] == decision.id;
}

// Once, before anything else is written.
void RedoCommit(const Region& region, const Superblock& superblock,
                std::span<const uint64_t> decided) {
  const uint64_t* head =
      verify::WordsAt(region.data(), verify::kJournalOffset + verify::kCommitJournalAt);
  const uint64_t offset = verify::LoadWord(head + 1);
  const auto journal = verify::CommitJournal::Of(region.data(), offset, superblock.incarnation);
  if (!journal.IsWhole()) return;
  if (!Happened(region, superblock, journal.decision(), decided)) return journal.Clear();
  constexpr size_t kEntryBytes = verify::kJournalWords * verify::kWordBytes;
  const uint64_t count = verify::LoadWord(head + 2);
  if (count > superblock.region_bytes / kEntryBytes ||
      !verify::WordsInside(offset, count * kEntryBytes, region.found_bytes())) {
    return;
  }
  verify::ClearJournal(verify::WordsAt(region.data(), verify::kJournalOffset));
  for (uint64_t i = 0; i < count; ++i) {
    Redo(region, superblock, journal.entries + i * verify::kJournalWords);
  }
  journal.EndRedo();
}

}  // namespace

std::expected<Superblock, Error> FormerSuperblock(const Region& region) {
  if (region.found_bytes() < verify::kRegionHeadBytes) {
    return Fail(Code::kCorrupt, "the file is too short to be a plov shard's");
  }
  bool other_format = false;
  bool plov = false;
  for (const size_t offset : {size_t{0}, verify::kMirrorOffset}) {
    const Superblock page = PageAt(region, offset);
    const SuperblockState state = verify::CheckSuperblock(page);
    if (state == SuperblockState::kWhole) return page;
    other_format = other_format || state == SuperblockState::kOtherFormat;
    plov = plov || page.magic == verify::kSuperblockMagic;
  }
  if (other_format) {
    return Fail(Code::kProtocol, "the file is of another release's format");
  }
  return Fail(Code::kCorrupt, plov ? "the superblock is damaged, and so is its mirror"
                                   : "the file is not the memory of a plov shard");
}

void RedoSuperblock(const Region& region) {
  if (verify::CheckSuperblock(PageAt(region, 0)) == SuperblockState::kWhole) return;
  verify::StoreSuperblockPage(verify::WordsAt(region.data(), 0),
                              PageAt(region, verify::kMirrorOffset));
}

bool RedoJournal(const Region& region, const Superblock& superblock,
                 std::span<const uint64_t> decided) {
  RedoCommit(region, superblock, decided);
  Redo(region, superblock, verify::WordsAt(region.data(), verify::kJournalOffset));
  return verify::CommitJournal::Of(region.data(), 0, superblock.incarnation).redone();
}

Recovery::Recovery(const Region* region, cuckoo::GrowingTable* table, RecordArea* records,
                   const Superblock& superblock, const cuckoo::SlotRange& slots)
    : region_(region),
      table_(table),
      records_(records),
      hash_seed_(superblock.hash_seed),
      slots_(slots),
      record_seed_(verify::RecordSeed(superblock.incarnation)) {}

RecoveryReport Recovery::Run() {
  const auto start = std::chrono::steady_clock::now();
  report_.warm = true;
  const bool moving = table_->phase() == cuckoo::GrowingTable::Phase::kMoving;
  TableRecovery current(&table_->current());
  TakeOver(&current, moving);
  std::optional<TableRecovery> next;
  if (moving) {
    TakeOver(&next.emplace(&table_->moving_to()), false);
    DropMoved();
  }
  TakeOverStash();
  current.FinishNotes();
  if (next) next->FinishNotes();
  report_.items = table_->stats().items;
  report_.microseconds =
      static_cast<uint64_t>(std::chrono::duration_cast<std::chrono::microseconds>(
                                std::chrono::steady_clock::now() - start)
                                .count());
  return report_;
}

void Recovery::TakeOver(TableRecovery* recovery, bool forward) {
  displaced_.clear();
  const Geometry& geometry = recovery->table().geometry();
  const uint64_t bucket_count = geometry.bucket_count;
  StartProgress& progress = StartProgress::Get();
  progress.Expect(geometry.table_bytes());
  for (uint64_t first = 0; first < bucket_count; first += kBatch) {
    const uint64_t count = std::min(kBatch, bucket_count - first);
    TakeOverSome(recovery, forward, first, count);
    progress.Advance(count * geometry.bucket_bytes);
  }
  DropSecondCopies(recovery);
  Relist(recovery);
  recovery->Finish();
}

void Recovery::TakeOverSome(TableRecovery* recovery, bool forward, uint64_t first, uint64_t count) {
  std::array<Bucket, kBatch> buckets;
  std::array<bool, kBatch> holds{};
  for (uint64_t i = 0; i < count; ++i) {
    const TableRecovery::Left left = recovery->TakeOver(first + i, forward, &buckets[i]);
    if (left == TableRecovery::Left::kDamage) ++report_.damaged;
    holds[i] = left == TableRecovery::Left::kItem;
    if (holds[i] && buckets[i].kind() == BucketKind::kReference &&
        IsInside(buckets[i].reference())) {
      const std::byte* record = region_->data() + buckets[i].reference().offset;
      verify::Prefetch(record);
      verify::Prefetch(record + verify::kLineBytes);
    }
  }
  for (uint64_t i = 0; i < count; ++i) {
    if (!holds[i]) continue;
    if (!Check(buckets[i])) {
      recovery->Drop(first + i);
      continue;
    }
    const uint64_t hash = recovery->table().HashOf(buckets[i]);
    report_.foreign += slots_.Has(hash) ? 0 : 1;
    if (cuckoo::HomeOf(hash, recovery->table().geometry().bucket_count) != first + i) {
      displaced_.push_back({first + i, hash});
    }
  }
}

// After the tables, which hold the other copy of what was moving.
void Recovery::TakeOverStash() {
  cuckoo::Stash& stash = table_->stash();
  Table* table = &table_->current();
  for (uint64_t index = 0; index < stash.geometry().bucket_count(); ++index) {
    Bucket bucket;
    const TableRecovery::Left left = stash.TakeOver(index, &bucket);
    if (left == TableRecovery::Left::kDamage) ++report_.damaged;
    if (left != TableRecovery::Left::kItem) continue;
    if (!FitsIn(*table, bucket)) {
      ++report_.damaged;
      stash.Drop(index);
      continue;
    }
    if (!Check(bucket)) {
      stash.Drop(index);
      continue;
    }
    report_.foreign += slots_.Has(table->HashOf(bucket)) ? 0 : 1;
    Table::Slot slot;
    const std::string key = table->KeyOf(bucket);
    if (table_->Find(table->HashOf(bucket), key, &slot) == Table::FindResult::kAbsent) {
      table_->KeepStashed(index, bucket);
      continue;
    }
    Forget(bucket);
    stash.Drop(index);
    ++report_.duplicates;
  }
  table_->FinishStash();
}

void Recovery::Relist(TableRecovery* recovery) {
  const uint64_t bucket_count = recovery->table().geometry().bucket_count;
  for (size_t i = 0; i < displaced_.size(); ++i) {
    if (i + kBatch < displaced_.size()) {
      recovery->table().Prefetch(cuckoo::HomeOf(displaced_[i + kBatch].hash, bucket_count));
    }
    const auto [index, hash] = displaced_[i];
    if (recovery->Relist(hash, index)) continue;
    // A home with more displaced keys than any writer lists.
    Forget(*recovery->table().Load(index));
    recovery->Drop(index);
    ++report_.damaged;
  }
}

verify::MaskedItem Recovery::ItemOf(const Bucket& bucket) const {
  return verify::OwnItem(region_->data(), bucket);
}

// Whether the item stays. Its memory is taken over with it.
bool Recovery::Check(const Bucket& bucket) {
  if (bucket.kind() == BucketKind::kReference && !CheckRecord(bucket.reference())) return false;
  const verify::MaskedItem item = ItemOf(bucket);
  report_.payload_bytes += item.payload_bytes();
  report_.expiring += item.expiry() != 0 ? 1 : 0;
  return true;
}

bool Recovery::IsInside(const verify::Reference& reference) const {
  const uint64_t region_bytes = region_->memory().size();
  return reference.record_bytes >= verify::kRecordHeaderBytes &&
         reference.record_bytes <= verify::kRecordBytesMax &&
         reference.offset >= verify::kRegionHeadBytes &&
         verify::WordsInside(reference.offset, reference.record_bytes, region_bytes);
}

bool Recovery::CheckRecord(const verify::Reference& reference) {
  const bool inside = IsInside(reference);
  std::optional<verify::MaskedItem> item;
  if (inside) {
    item = verify::CheckRecord({region_->data() + reference.offset, reference.record_bytes},
                               record_seed_);
  }
  std::array<char, verify::kKeyBytesMax> key;
  const bool matches = item && item->version() == reference.version &&
                       cuckoo::HashKey(item->CopyKey(key.data()), hash_seed_) == reference.hash;
  if (!matches) {
    ++report_.damaged;
    return false;
  }
  // Another bucket that names the same run is the other copy of a move.
  if (!records_->Adopt(reference.offset, reference.record_bytes)) {
    ++report_.duplicates;
    return false;
  }
  uint64_t* mask = verify::WordsAt(region_->data(), reference.offset) + 1;
  const uint64_t live = verify::LoadWord(mask) | verify::kLiveBit;
  if (verify::LoadWord(mask) != live) verify::StoreWord(mask, live);
  return true;
}

// Takes an item out of the accounts.
void Recovery::Forget(const Bucket& bucket) {
  const verify::MaskedItem item = ItemOf(bucket);
  report_.payload_bytes -= item.payload_bytes();
  report_.expiring -= item.expiry() != 0 ? 1 : 0;
  if (bucket.kind() == BucketKind::kReference) {
    records_->Free(bucket.reference().offset, bucket.reference().record_bytes);
  }
}

// Of two copies one is displaced at least.
void Recovery::DropSecondCopies(TableRecovery* recovery) {
  Table* table = &recovery->table();
  const uint64_t before = report_.duplicates;
  for (size_t i = 0; i < displaced_.size(); ++i) {
    if (i + kBatch < displaced_.size()) {
      const uint64_t hash = displaced_[i + kBatch].hash;
      const auto ways = cuckoo::WaysOf(hash, table->geometry().bucket_count);
      for (const uint64_t way : ways) table->Prefetch(way);
    }
    DropSecondCopyOf(recovery, displaced_[i]);
  }
  if (report_.duplicates == before) return;
  std::erase_if(displaced_, [table](const Displaced& displaced) {
    return table->Load(displaced.index)->kind() == BucketKind::kEmpty;
  });
}

void Recovery::DropSecondCopyOf(TableRecovery* recovery, const Displaced& displaced) {
  Table* table = &recovery->table();
  const auto [index, hash] = displaced;
  for (const uint64_t way : cuckoo::WaysOf(hash, table->geometry().bucket_count)) {
    if (way == index) continue;
    const Bucket other = *table->Load(way);
    if (other.kind() == BucketKind::kEmpty || table->HashOf(other) != hash) continue;
    const Bucket mine = *table->Load(index);
    if (mine.kind() == BucketKind::kEmpty) return;  // dropped as the second copy of another
    const verify::MaskedItem item = ItemOf(mine), other_item = ItemOf(other);
    if (other_item.key() != item.key()) continue;
    const bool mine_goes = other_item.version() >= item.version();
    Forget(mine_goes ? mine : other);
    recovery->Drop(mine_goes ? index : way);
    ++report_.duplicates;
    if (mine_goes) return;
  }
}

// What growth had copied to the next table and not yet erased in the old one.
void Recovery::DropMoved() {
  Table& old = table_->current();
  for (uint64_t index = 0; index < old.geometry().bucket_count; ++index) {
    const Bucket bucket = *old.Load(index);
    if (bucket.kind() == BucketKind::kEmpty) continue;
    const uint64_t hash = old.HashOf(bucket);
    Table::Slot slot;
    if (table_->moving_to().Find(hash, ItemOf(bucket).key(), &slot) != Table::FindResult::kFound) {
      continue;
    }
    Forget(bucket);
    const auto ways = cuckoo::WaysOf(hash, old.geometry().bucket_count);
    const uint32_t way = cuckoo::WayOf(ways, index);
    old.Erase(hash, {&old, index, way, bucket});
    ++report_.duplicates;
  }
}

}  // namespace plov::server
