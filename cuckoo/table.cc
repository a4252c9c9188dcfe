#include "cuckoo/table.h"

#include <algorithm>
#include <cassert>

#include "verify/record.h"

namespace plov::cuckoo {

using verify::Bucket;
using verify::BucketKind;
using verify::DirectoryEntry;
using verify::kNoEntry;

namespace {

std::optional<size_t> EntryIndex(const Bucket& bucket, DirectoryEntry entry) {
  for (size_t i = 0; i < verify::kDirectoryEntries; ++i) {
    if (bucket.entry(i) == entry) return i;
  }
  return std::nullopt;
}

}  // namespace

Table::Table(std::byte* region, const Geometry& geometry, uint64_t hash_seed, Rewrites* rewrites)
    : region_(region),
      geometry_(geometry),
      hash_seed_(hash_seed),
      rewrites_(rewrites),
      unlisted_(static_cast<uint8_t*>(std::calloc(geometry.bucket_count, 1))) {
  assert(geometry.bucket_count >= kBucketCountMin);
}

std::optional<Table> Table::Create(std::byte* region, const Geometry& geometry, uint64_t hash_seed,
                                   Rewrites* rewrites) {
  Table table(region, geometry, hash_seed, rewrites);
  if (table.unlisted_ == nullptr) return std::nullopt;
  return table;
}

void Table::Format(uint64_t first, uint64_t count) {
  Bucket empty;
  for (uint64_t index = first; index < first + count; ++index) {
    empty.Seal(geometry_.bucket_bytes, geometry_.SeedOf(index));
    verify::StoreBucket(WordsOf(index), empty, geometry_.bucket_bytes);
  }
}

uint64_t* Table::WordsOf(uint64_t index) const {
  return verify::WordsAt(region_, geometry_.BucketOffset(index));
}

std::optional<Bucket> Table::Load(uint64_t index) {
  if (const Bucket* kept = rewrites_->Find(WordsOf(index))) return *kept;
  Bucket bucket;
  verify::CopyBucketFromShared(&bucket, WordsOf(index), geometry_.bucket_bytes);
  if (bucket.Whole(geometry_.bucket_bytes, geometry_.SeedOf(index))) return bucket;
  ++stats_.corrupt;
  return std::nullopt;
}

void Table::Rewrite(uint64_t index, Bucket* bucket) {
  bucket->set_version(bucket->version() + 1);
  bucket->Seal(geometry_.bucket_bytes, geometry_.SeedOf(index));
  rewrites_->Store(WordsOf(index), {geometry_.generation, index}, *bucket, geometry_.bucket_bytes);
}

uint64_t Table::HashOf(const Bucket& bucket) const {
  if (bucket.kind() == BucketKind::kReference) return bucket.reference().hash;
  std::array<char, verify::kBucketBytesMax> key;
  return HashKey(bucket.inline_item(verify::kBucketBytesMax)->CopyKey(key.data()), hash_seed_);
}

std::string Table::KeyOf(const Bucket& bucket) const {
  return verify::OwnItem(region_, bucket).key();
}

Table::FindResult Table::Holds(const Bucket& bucket, uint64_t hash, std::string_view key) const {
  const auto result_of = [](bool same) { return same ? FindResult::kFound : FindResult::kAbsent; };
  if (bucket.kind() == BucketKind::kInline) {
    return result_of(bucket.inline_item(verify::kBucketBytesMax)->HasKey(key));
  }
  if (bucket.kind() != BucketKind::kReference) return FindResult::kAbsent;
  const verify::Reference reference = bucket.reference();
  if (reference.hash != hash) return FindResult::kAbsent;
  const auto record = verify::OwnRecord(region_, reference.offset);
  if (record.version() != reference.version ||
      verify::kRecordHeaderBytes + record.payload_bytes() != reference.record_bytes) {
    return FindResult::kCorrupt;
  }
  return result_of(record.HasKey(key));
}

Table::FindResult Table::Find(uint64_t hash, std::string_view key, Slot* slot) {
  const auto ways = WaysOf(hash);
  const DirectoryEntry listed{0, FingerprintOf(hash)};
  const auto home = Load(ways[0]);
  if (!home) return FindResult::kCorrupt;
  for (uint32_t way = 0; way < kWays; ++way) {
    if (way != 0 && !home->overflow() && !EntryIndex(*home, {way, listed.fingerprint})) continue;
    const auto bucket = way == 0 ? home : Load(ways[way]);
    if (!bucket) return FindResult::kCorrupt;
    const FindResult found = Holds(*bucket, hash, key);
    if (found == FindResult::kAbsent) continue;
    *slot = {this, ways[way], way, *bucket};
    return found;
  }
  return FindResult::kAbsent;
}

// Whether the bucket seems to hold an item of this hash.
bool Table::PrefetchRecordOf(uint64_t hash, uint64_t index) const {
  // What is no address is damage, for Find to see.
  constexpr uint64_t kOffsetsEnd = uint64_t{1} << 46;
  Bucket bucket;
  verify::CopyFromShared(bucket.words(), WordsOf(index), verify::kBucketBytesMin);
  if (bucket.kind() != BucketKind::kReference) return bucket.kind() == BucketKind::kInline;
  const verify::Reference reference = bucket.reference();
  if (reference.hash != hash) return false;
  if (reference.offset < kOffsetsEnd) verify::Prefetch(region_ + reference.offset);
  return true;
}

void Table::PrefetchItems(std::span<const uint64_t> hashes) const {
  hashes = hashes.first(std::min(hashes.size(), kPrefetchedMax));
  for (const uint64_t hash : hashes) Prefetch(HomeOf(hash, geometry_.bucket_count));
  std::array<uint64_t, kPrefetchedMax> elsewhere;
  size_t elsewhere_count = 0;
  for (const uint64_t hash : hashes) {
    const auto ways = WaysOf(hash);
    if (PrefetchRecordOf(hash, ways[0])) continue;
    for (size_t way = 1; way < kWays; ++way) Prefetch(ways[way]);
    elsewhere[elsewhere_count++] = hash;
  }
  for (const uint64_t hash : std::span(elsewhere).first(elsewhere_count)) {
    const auto ways = WaysOf(hash);
    for (size_t way = 1; way < kWays; ++way) PrefetchRecordOf(hash, ways[way]);
  }
}

// Lists a displaced key in its home: entry if one is free, else overflow. Does not rewrite the
// home.
void Table::List(uint64_t home, Bucket* bucket, DirectoryEntry entry) {
  ++stats_.displaced;
  if (const auto free = EntryIndex(*bucket, kNoEntry)) {
    bucket->set_entry(*free, entry);
    return;
  }
  assert(unlisted_[home] < kUnlistedMax);
  if (unlisted_[home]++ == 0) ++stats_.overflowed_homes;
  bucket->set_overflow(true);
}

// Equal entries stand for any of the keys they match, so it does not matter whose was taken.
void Table::Unlist(uint64_t home, Bucket* bucket, DirectoryEntry entry) {
  --stats_.displaced;
  if (const auto listed = EntryIndex(*bucket, entry)) {
    bucket->set_entry(*listed, kNoEntry);
    return;
  }
  assert(unlisted_[home] > 0);
  if (--unlisted_[home] == 0) {
    --stats_.overflowed_homes;
    bucket->set_overflow(false);
  }
}

// Rule W4, insert: the directory entry first, then the bucket.
void Table::Place(uint64_t hash, const std::array<uint64_t, kWays>& ways, uint32_t way,
                  const Bucket& item) {
  if (way != 0) {
    Bucket home = *Load(ways[0]);
    List(ways[0], &home, {way, FingerprintOf(hash)});
    Rewrite(ways[0], &home);
  }
  Bucket bucket = *Load(ways[way]);
  bucket.TakeItem(item, geometry_.bucket_bytes);
  Rewrite(ways[way], &bucket);
  ++stats_.items;
}

// A guest, an item whose home is elsewhere, makes room for one that is at home there: it is
// displaced already, and the new one would be as well. Only to an empty bucket, its home before
// any.
bool Table::SendGuestAway(uint64_t home, const Bucket& bucket) {
  if (bucket.kind() == BucketKind::kRetired) return false;
  const auto ways = WaysOf(HashOf(bucket));
  if (ways[0] == home) return false;
  for (const uint64_t to : ways) {
    if (to == home) continue;
    const auto other = Load(to);
    if (other && other->kind() == BucketKind::kEmpty) return Move(home, to);
  }
  return false;
}

bool Table::Insert(uint64_t hash, const Bucket& item) {
  const auto ways = WaysOf(hash);
  if (unlisted_[ways[0]] == kUnlistedMax) return false;
  for (int attempt = 0; attempt < 2; ++attempt) {
    for (uint32_t way = 0; way < kWays; ++way) {
      const auto bucket = Load(ways[way]);
      if (way == 0 && !bucket) return false;  // a damaged home can list nothing
      const bool is_empty = bucket && bucket->kind() == BucketKind::kEmpty;
      if (is_empty || (way == 0 && SendGuestAway(ways[0], *bucket))) {
        Place(hash, ways, way, item);
        return true;
      }
    }
    if (!FreeOne(ways)) return false;
  }
  return false;
}

bool Table::InsertIfFree(uint64_t hash, const Bucket& item) {
  const auto ways = WaysOf(hash);
  if (!Load(ways[0]) || unlisted_[ways[0]] == kUnlistedMax) return false;
  for (uint32_t way = 0; way < kWays; ++way) {
    const auto bucket = Load(ways[way]);
    if (!bucket || bucket->kind() != BucketKind::kEmpty) continue;
    Place(hash, ways, way, item);
    return true;
  }
  return false;
}

bool Table::NoteStashed(uint64_t hash) {
  const uint64_t home = HomeOf(hash, geometry_.bucket_count);
  auto directory = Load(home);
  if (!directory) return false;
  ++stashed_[home];
  if (directory->stashed()) return true;
  directory->set_stashed(true);
  Rewrite(home, &*directory);
  return true;
}

void Table::UnnoteStashed(uint64_t hash) {
  const auto home = stashed_.find(HomeOf(hash, geometry_.bucket_count));
  if (--home->second > 0) return;
  if (auto directory = Load(home->first)) {
    directory->set_stashed(false);
    Rewrite(home->first, &*directory);
  }
  stashed_.erase(home);
}

Occupant Table::OccupantOf(uint64_t index) {
  const auto bucket = Load(index);
  if (!bucket || bucket->kind() == BucketKind::kRetired) return {Occupant::Kind::kFixed, {}};
  if (bucket->kind() == BucketKind::kEmpty) return {Occupant::Kind::kNone, {}};
  return {Occupant::Kind::kMovable, WaysOf(HashOf(*bucket))};
}

bool Table::FreeOne(const std::array<uint64_t, kWays>& ways) {
  const auto path = path_search_.Find(ways, [this](uint64_t index) { return OccupantOf(index); });
  if (path.empty() || !rewrites_->MayMove(path.size() - 1)) return false;
  for (size_t i = path.size() - 1; i > 0; --i) {
    if (!Move(path[i - 1], path[i])) return false;
  }
  return true;
}

// Rule W5: the item appears at `to`, its home is rewritten to name `to`, it disappears from `from`.
// Where the home is one of the two, that rewrite and the home's are one. Returns false, with
// nothing changed, when the home is damaged and cannot name the new place.
bool Table::Move(uint64_t from, uint64_t to) {
  Bucket source = *Load(from);
  Bucket target = *Load(to);
  const uint64_t hash = HashOf(source);
  const auto ways = WaysOf(hash);
  const uint64_t home = ways[0];
  const DirectoryEntry old_entry{WayOf(ways, from), FingerprintOf(hash)};
  const DirectoryEntry new_entry{WayOf(ways, to), FingerprintOf(hash)};
  if (!Load(home) || unlisted_[home] == kUnlistedMax) return false;
  for (PassPlace* pass : passes_) {
    if (to < pass->read_end && pass->read_end <= from) pass->meet(source);
  }

  target.TakeItem(source, geometry_.bucket_bytes);
  if (home == to) Unlist(home, &target, old_entry);
  Rewrite(to, &target);

  if (home != to && home != from) {
    Bucket directory = *Load(home);
    Unlist(home, &directory, old_entry);
    List(home, &directory, new_entry);
    // Also where all its bits stay: a miss is confirmed by the home's version.
    Rewrite(home, &directory);
  }

  source.Clear(geometry_.bucket_bytes);
  if (home == from) List(home, &source, new_entry);
  Rewrite(from, &source);
  ++stats_.moves;
  return true;
}

bool Table::Forward(uint64_t index) {
  auto bucket = Load(index);
  if (!bucket) return false;
  if (bucket->forward()) return true;
  bucket->set_forward(true);
  Rewrite(index, &*bucket);
  return true;
}

// History needs no seal to start from: whatever the bucket held is held elsewhere.
void Table::Retire(uint64_t index) {
  Bucket bucket;
  verify::CopyFromShared(bucket.words(), WordsOf(index), geometry_.bucket_bytes);
  bucket.Retire(geometry_.bucket_bytes);
  Rewrite(index, &bucket);
}

void Table::Replace(const Slot& slot, const Bucket& item) {
  Bucket bucket = slot.bucket;
  bucket.TakeItem(item, geometry_.bucket_bytes);
  Rewrite(slot.index, &bucket);
}

// Rule W4, delete: the bucket first, then the directory entry.
void Table::Erase(uint64_t hash, const Slot& slot) {
  Bucket bucket = slot.bucket;
  bucket.Clear(geometry_.bucket_bytes);
  Rewrite(slot.index, &bucket);
  --stats_.items;
  if (slot.way == 0) return;
  const uint64_t home = WaysOf(hash)[0];
  Bucket directory = *Load(home);
  Unlist(home, &directory, {slot.way, FingerprintOf(hash)});
  Rewrite(home, &directory);
}

}  // namespace plov::cuckoo
