#include "bench/table/study.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>

#include "bench/load/histogram.h"
#include "bench/load/items.h"
#include "bench/table/shard.h"
#include "program/progress.h"
#include "verify/record.h"

namespace plov::bench {

namespace {

constexpr std::array<uint32_t, 8> kFills = {50, 60, 70, 75, 80, 85, 90, 95};
constexpr uint32_t kBucketBytes = verify::kBucketBytesMin;
constexpr uint32_t kInlineValueBytes = 16;  // with a key of 16 it lies in the bucket
constexpr uint32_t kRecordValueBytes = 64;
// The means of so many lookups are good to two digits behind the point.
constexpr uint64_t kLookupsMax = 200'000;
constexpr size_t kCacheBytes = size_t{1} << 20;

ItemShape ShapeOf(uint32_t value_bytes) {
  return {.value_bytes_least = value_bytes, .value_bytes_most = value_bytes};
}

double Percent(uint64_t part, uint64_t whole) {
  return 100 * static_cast<double>(part) / static_cast<double>(whole);
}

// One table that is filled, looked into, and filled on.
class Filling {
 public:
  static std::expected<Filling, Error> Create(const TableShardOptions& options,
                                              uint32_t value_bytes) {
    auto shard = TableShard::Create(options);
    if (!shard) return std::unexpected(shard.error());
    return Filling(std::move(*shard), options.bucket_count, value_bytes);
  }

  // Puts items until the table holds `count`. False when one is refused.
  bool FillTo(uint64_t count) {
    std::string key, value;
    for (uint64_t number = stats().items; number < count; ++number) {
      items_.FillKey(number, &key);
      items_.FillValue(number, key, &value);
      const auto path = shard_.Put(key, value);
      if (!path) return false;
      recent_.Count(*path);
      all_.Count(*path);
    }
    return true;
  }

  // Forgets the paths of the PUTs so far, but for all().
  void BeginRecent() { recent_ = Histogram(); }

  // The mean number of READs of a lookup of items that are there, or not, or that are there and
  // whose location is remembered.
  enum class Kind { kHits, kMisses, kKnownHits };

  std::expected<double, Error> MeanReads(Kind kind) {
    const uint64_t lookups = std::min(kLookupsMax, stats().items);
    const uint64_t first = kind == Kind::kMisses ? stats().items : 0;
    const bool is_known = kind == Kind::kKnownHits;
    TableReader reader(&shard_, is_known ? kCacheBytes : 0);
    uint64_t reads = 0;
    for (uint64_t i = 0; i < lookups; ++i) {
      const uint64_t number = first + i * stats().items / lookups;
      auto spent = LookUp(kind, number, &reader);
      if (spent && is_known) spent = LookUp(kind, number, &reader);  // now it is remembered
      if (!spent) return std::unexpected(spent.error());
      reads += *spent;
    }
    return static_cast<double>(reads) / static_cast<double>(lookups);
  }

  const cuckoo::TableStats& stats() const { return shard_.stats(); }
  uint64_t bucket_count() const { return bucket_count_; }
  const Histogram& recent() const { return recent_; }
  const Histogram& all() const { return all_; }

 private:
  Filling(TableShard shard, uint64_t bucket_count, uint32_t value_bytes)
      : shard_(std::move(shard)), bucket_count_(bucket_count), items_(ShapeOf(value_bytes)) {}

  // The READs that it took.
  std::expected<uint64_t, Error> LookUp(Kind kind, uint64_t number, TableReader* reader) {
    std::string key;
    items_.FillKey(number, &key);
    const auto answer = reader->Get(key);
    if (!answer) return std::unexpected(answer.error());
    const bool is_right = kind == Kind::kMisses
                              ? !answer->is_hit
                              : answer->is_hit && items_.IsValue(number, key, answer->value);
    if (is_right) return answer->bucket_reads + answer->record_reads;
    return Fail(Code::kCorrupt, fmt::format("the lookup of {} gave a wrong answer", key));
  }

  TableShard shard_;
  uint64_t bucket_count_;
  Items items_;
  Histogram recent_;
  Histogram all_;
};

class TableBench {
 public:
  explicit TableBench(const TableSettings& settings) {
    study_.settings = settings;
    for (const uint32_t bytes : settings.bucket_bytes) {
      for (const uint32_t fill : kFills)
        study_.rows.push_back({.bucket_bytes = bytes, .fill_percent = fill});
      study_.full.push_back({.bucket_bytes = bytes});
    }
  }

  std::expected<TableStudy, Error> Run() {
    for (uint64_t seed = 1; seed <= study_.settings.seeds; ++seed) {
      for (FullTable& full : study_.full) {
        if (auto filled = Fill(seed, &full); !filled) return std::unexpected(filled.error());
      }
      ReadsPerGet& reads = study_.reads;
      for (auto counted :
           {CountReads(seed, kInlineValueBytes, &reads.inline_cold, &reads.inline_known),
            CountReads(seed, kRecordValueBytes, &reads.record_cold, &reads.record_known)}) {
        if (!counted) return std::unexpected(counted.error());
      }
    }
    progress_.Clear();
    return std::move(study_);
  }

 private:
  uint64_t CountAt(uint32_t percent) const { return study_.settings.items * percent / 100; }

  Outcome Fill(uint64_t seed, FullTable* full) {
    const uint64_t bucket_count = study_.settings.items;
    auto filling = Filling::Create(
        {.bucket_count = bucket_count, .bucket_bytes = full->bucket_bytes, .seed = seed},
        kInlineValueBytes);
    if (!filling) return std::unexpected(filling.error());
    bool takes_more = true;
    for (TableRow& row : study_.rows) {
      if (row.bucket_bytes != full->bucket_bytes || !takes_more) continue;
      takes_more = filling->FillTo(CountAt(row.fill_percent - 1));
      filling->BeginRecent();
      takes_more = takes_more && filling->FillTo(CountAt(row.fill_percent));
      if (!takes_more) break;
      if (auto looked = Look(&*filling, &row); !looked) return looked;
    }
    if (takes_more) filling->FillTo(bucket_count);
    full->fill_percent.Add(Percent(filling->stats().items, bucket_count));
    full->path_mean.Add(filling->all().mean());
    full->path_most.Add(static_cast<double>(filling->all().most()));
    Show(*filling);
    return {};
  }

  Outcome Look(Filling* filling, TableRow* row) {
    const cuckoo::TableStats& stats = filling->stats();
    row->displaced_percent.Add(Percent(stats.displaced, stats.items));
    row->overflow_percent.Add(Percent(stats.overflowed_homes, filling->bucket_count()));
    row->path_mean.Add(filling->recent().mean());
    row->path_p99.Add(static_cast<double>(filling->recent().Percentile(0.99)));
    row->path_most.Add(static_cast<double>(filling->recent().most()));
    const auto hits = filling->MeanReads(Filling::Kind::kHits);
    if (!hits) return std::unexpected(hits.error());
    const auto misses = filling->MeanReads(Filling::Kind::kMisses);
    if (!misses) return std::unexpected(misses.error());
    row->hit_reads.Add(*hits);
    row->miss_reads.Add(*misses);
    return {};
  }

  Outcome CountReads(uint64_t seed, uint32_t value_bytes, Sample* cold, Sample* known) {
    const uint64_t items = CountAt(kClaimedFill);
    const uint64_t record_bytes =
        verify::RoundUpToWord(verify::RecordBytes(ItemShape().key_bytes, value_bytes));
    auto filling = Filling::Create({.bucket_count = study_.settings.items,
                                    .bucket_bytes = kBucketBytes,
                                    .seed = seed,
                                    .record_bytes_max = items * record_bytes},
                                   value_bytes);
    if (!filling) return std::unexpected(filling.error());
    if (!filling->FillTo(items)) {
      return Fail(Code::kNoSpace, "a table refused an item before it was three quarters full");
    }
    const auto cold_reads = filling->MeanReads(Filling::Kind::kHits);
    if (!cold_reads) return std::unexpected(cold_reads.error());
    const auto known_reads = filling->MeanReads(Filling::Kind::kKnownHits);
    if (!known_reads) return std::unexpected(known_reads.error());
    cold->Add(*cold_reads);
    known->Add(*known_reads);
    Show(*filling);
    return {};
  }

  void Show(const Filling& filling) {
    done_items_ += filling.stats().items;
    progress_.Show(done_items_, done_items_ * kBucketBytes);
  }

  TableStudy study_;
  program::Progress progress_;
  uint64_t done_items_ = 0;
};

}  // namespace

const TableRow* TableStudy::Find(uint32_t bucket_bytes, uint32_t fill_percent) const {
  const auto found = std::ranges::find_if(rows, [&](const TableRow& row) {
    return row.bucket_bytes == bucket_bytes && row.fill_percent == fill_percent;
  });
  return found == rows.end() ? nullptr : &*found;
}

bool TableClaim::holds() const {
  if (measured.empty()) return false;
  return bound == Bound::kAtMost ? measured.median() <= claimed : measured.median() >= claimed;
}

std::expected<TableStudy, Error> StudyTable(const TableSettings& settings) {
  return TableBench(settings).Run();
}

}  // namespace plov::bench
