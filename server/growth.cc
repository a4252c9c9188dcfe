#include "server/growth.h"

#include <algorithm>
#include <cassert>

namespace plov::server {

using cuckoo::Geometry;
using Phase = cuckoo::GrowingTable::Phase;

namespace {

// The table begins to grow at this fill, in percent. The next one is prepared within 3 % more, long
// before displacement paths get long (90 %).
constexpr uint64_t kGrowAtPercent = 80;
// A larger step leaves more of the table empty; a smaller one is copied more often.
constexpr double kGrowthUsual = 1.5;
// A smaller step is not worth its copying.
constexpr double kGrowthMin = 1.25;
// Of a cache the last step may be as small as that, and leads to a table that is nearly full when memory is.
constexpr double kCacheGrowthMin = 1.06;
constexpr double kCacheShare = 0.01 * kCacheRecordsPercent * kGrowAtPercent / kCacheItemsPercent;
// Both tables have to fit in the memory while the last growth goes on, whatever it holds: from this
// part of it the table grows to the rest, so items without records can have 71 % of the memory.
constexpr double kLastButOneMin = 0.29;

// Buckets per write. Preparing takes 1.5/64 of the table's buckets in writes, moving 1/12, retiring
// 1/64; the next growth begins after 2/5 of them at the earliest.
constexpr uint64_t kPreparePerWrite = 64;
constexpr uint64_t kMovePerWrite = 12;
constexpr uint64_t kRetirePerWrite = 64;
// Buckets per idle turn: some 30 us each, since a client may come at any time.
constexpr uint64_t kPreparePerTurn = 1024;
constexpr uint64_t kMovePerTurn = 256;
constexpr uint64_t kRetirePerTurn = 1024;
// Memory is committed in pieces of this, at some 7 us each, which a write waits for.
constexpr size_t kCommitBytes = size_t{32} << 10;
// A former table's memory is released in pieces of these.
constexpr size_t kReleasePerWrite = size_t{32} << 10;
constexpr size_t kReleasePerTurn = size_t{256} << 10;

}  // namespace

Growth::Growth(cuckoo::GrowingTable* table, Memory* memory, RecordArea* records,
               const Options& options, Publish publish)
    : table_(table),
      memory_(memory),
      records_(records),
      options_(options),
      publish_(std::move(publish)) {}

bool Growth::WantsGrowth() const {
  const cuckoo::TableStats& stats = table_->current().stats();
  return stats.items * 100 >= table_->current().geometry().bucket_count * kGrowAtPercent;
}

// 1.5 times the buckets, as long as the growth after that finds room beside them. Else the table's
// share of the whole memory, as items divide it so far - or first as much as leaves room for that.
uint64_t Growth::WantedBuckets(uint32_t bucket_bytes) const {
  const Geometry& now = table_->current().geometry();
  const auto table = static_cast<double>(now.bucket_count * bucket_bytes);
  auto records = static_cast<double>(records_->allocated_bytes());
  if (bucket_bytes > now.bucket_bytes) {
    records *= choice_.wide.record_bytes / std::max(choice_.narrow.record_bytes, 1.0);
  }
  const double share = table / (table + records);
  const double most = share * static_cast<double>(memory_->budget_bytes());
  const double last_but_one = most * std::max(1 - share, kLastButOneMin);
  const double usual = table * kGrowthUsual;
  double wanted = std::max(usual, most);
  if (usual <= last_but_one) {
    wanted = usual;
  } else if (table * kGrowthMin <= last_but_one && last_but_one * kGrowthMin <= most) {
    wanted = last_but_one;
  } else if (options_.evicts) {
    wanted = most * kCacheShare;
  }
  return static_cast<uint64_t>(wanted) / bucket_bytes;
}

// Judged once for each table: a growth that finds no memory is tried again by every write.
bool Growth::ChoosesWide() {
  const Geometry& now = table_->current().geometry();
  if (!options_.chooses_buckets || now.bucket_bytes == verify::kBucketBytesMax) return false;
  if (judged_generation_ != now.generation) {
    judged_generation_ = now.generation;
    choice_ = ChooseBuckets(&table_->current());
  }
  return choice_.is_wide();
}

// Where there is no memory for wider buckets, buckets stay as wide as they are.
bool Growth::Begin() {
  hungry_ = true;
  if (!memory_->may_commit()) return false;
  if (ChoosesWide() && BeginWith(verify::kBucketBytesMax)) return true;
  return BeginWith(table_->current().geometry().bucket_bytes);
}

// Takes the memory for the next table, as much as there is, or has records cleaned to make room.
bool Growth::BeginWith(uint32_t bucket_bytes) {
  const Geometry& now = table_->current().geometry();
  const size_t available = memory_->available_bytes();
  const size_t room = (available - std::min(available, kept_bytes_)) / kPageBytes * kPageBytes;
  const size_t bytes =
      std::min(RoundUp(WantedBuckets(bucket_bytes) * bucket_bytes, kPageBytes), room);
  const uint64_t count = bytes / bucket_bytes;
  const double least_growth = options_.evicts ? kCacheGrowthMin : kGrowthMin;
  const auto least = static_cast<uint64_t>(static_cast<double>(now.bucket_count) * least_growth);
  const auto offset =
      count < least ? std::nullopt : memory_->Take(bytes, kPageBytes, Memory::End::kHigh);
  hungry_ = !offset;
  const bool waits = !offset && !options_.evicts;
  records_->set_reserve(
      waits ? static_cast<size_t>(static_cast<double>(now.table_bytes()) * kGrowthUsual) : 0);
  if (!offset) return false;
  next_ = Geometry::Of({now.generation + 1, *offset, count, bucket_bytes, 0}, options_.incarnation);
  committed_ = 0;
  if (table_->Prepare(next_)) return true;
  memory_->Give(next_.offset, bytes);
  hungry_ = true;
  return false;
}

// Deletes have ended the wish to grow: nothing is kept free for it any more.
void Growth::StopWaiting() {
  hungry_ = false;
  records_->set_reserve(0);
}

// False when the kernel has no memory: then the table stays as it is.
bool Growth::Prepare(uint64_t buckets) {
  const uint64_t end = std::min(table_->prepared() + buckets, next_.bucket_count);
  const size_t needed = end * next_.bucket_bytes;
  while (committed_ < needed) {
    const size_t piece = std::min(kCommitBytes, next_.table_bytes() - committed_);
    if (!memory_->Commit(next_.offset + committed_, piece)) {
      table_->Abandon();
      memory_->Give(next_.offset, next_.table_bytes());
      hungry_ = true;
      return false;
    }
    committed_ += piece;
  }
  if (table_->PrepareSome(buckets)) {
    publish_(table_->current().geometry(), next_);
    table_->StartMoving();
  }
  return true;
}

// A pass that could not move everything is not worth repeating at once: after as many writes as the
// table has buckets it may be.
void Growth::Move(uint64_t buckets) {
  const Geometry old = table_->current().geometry();
  if (table_->stalled() && ++move_debt_ < old.bucket_count) return;
  move_debt_ = 0;
  if (!table_->MoveSome(buckets)) return;
  const uint64_t version = publish_(next_, Geometry{});
  table_->Switch();
  retiring_ = {old.offset, old.table_bytes(), version};
  ++growths_;
}

void Growth::Retire(uint64_t buckets) {
  if (table_->RetireSome(buckets)) drains_.push_back(retiring_);
}

void Growth::Release(size_t bytes) {
  const size_t released = memory_->Release(std::min(bytes, unreleased_bytes_));
  unreleased_bytes_ = released == 0 ? 0 : unreleased_bytes_ - std::min(released, unreleased_bytes_);
}

bool Growth::Step(const Share& share) {
  const Phase before = table_->phase();
  const bool worked = StepPhase(share);
  if (table_->phase() != before) ++phases_;
  return worked;
}

bool Growth::StepPhase(const Share& share) {
  switch (table_->phase()) {
    case Phase::kSteady:
      if (unreleased_bytes_ > 0) {  // first: the host may need it for the next table
        Release(share.release_bytes);
        return true;
      }
      if (WantsGrowth()) return Begin();
      if (hungry_) StopWaiting();
      return false;
    case Phase::kPreparing:
      return Prepare(share.prepare);
    case Phase::kMoving:
      Move(share.move);
      return !table_->stalled();
    case Phase::kRetiring:
      Retire(share.retire);
      return true;
  }
  return false;
}

void Growth::OnWrite() {
  Step({kPreparePerWrite, kMovePerWrite, kRetirePerWrite, kReleasePerWrite});
}

bool Growth::OnIdle() {
  return Step({kPreparePerTurn, kMovePerTurn, kRetirePerTurn, kReleasePerTurn});
}

bool Growth::under_way() const { return table_->phase() != Phase::kSteady && !table_->stalled(); }

void Growth::Finish() {
  next_ = table_->moving_to().geometry();
  while (table_->phase() != Phase::kSteady && OnIdle()) {
  }
  OnConfirmed(UINT64_MAX);
}

void Growth::OnConfirmed(uint64_t least_version) {
  std::erase_if(drains_, [this, least_version](const RetiredTable& drain) {
    if (drain.version > least_version) return false;
    memory_->Give(drain.offset, drain.bytes);
    unreleased_bytes_ += drain.bytes;
    released_version_ = std::max(released_version_, drain.version);
    return true;
  });
}

size_t Growth::table_bytes() const {
  size_t bytes = table_->current().geometry().table_bytes();
  const Phase phase = table_->phase();
  if (phase == Phase::kPreparing || phase == Phase::kMoving) bytes += next_.table_bytes();
  if (phase == Phase::kRetiring) bytes += retiring_.bytes;
  for (const RetiredTable& drain : drains_) bytes += drain.bytes;
  return bytes;
}

}  // namespace plov::server
