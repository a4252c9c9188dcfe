#include "bench/table/shard.h"

#include <fmt/core.h>

#include "program/random.h"
#include "verify/record.h"

namespace plov::bench {

namespace {

using Action = cuckoo::Lookup::Action;

constexpr uint64_t kTableOffset = 4096;  // where a region has its superblock

cuckoo::ShardView ViewOf(const TableShardOptions& options) {
  const uint64_t incarnation = program::Mix(options.seed + 1) | 1;
  cuckoo::ShardView view;
  view.incarnation = incarnation;
  view.hash_seed = program::Mix(options.seed + 2);
  view.record_seed = verify::RecordSeed(incarnation);
  view.shard_count = 1;
  view.tables[0] = {.generation = 1,
                    .offset = kTableOffset,
                    .bucket_count = options.bucket_count,
                    .bucket_bytes = options.bucket_bytes,
                    .table_seed = verify::TableSeed(incarnation, 1)};
  view.region_bytes =
      kTableOffset + view.tables[0].table_bytes() + verify::RoundUpToWord(options.record_bytes_max);
  return view;
}

}  // namespace

std::expected<TableShard, Error> TableShard::Create(const TableShardOptions& options) {
  const cuckoo::ShardView view = ViewOf(options);
  auto memory = fabric::Mapping::MapAnonymous((view.region_bytes + 4095) / 4096 * 4096);
  if (!memory) return std::unexpected(memory.error());
  auto rewrites = std::make_unique<cuckoo::Rewrites>();
  auto table =
      cuckoo::Table::Create(memory->bytes().data(), view.tables[0], view.hash_seed, rewrites.get());
  if (!table) return Fail(Code::kSystem, "no memory for a table");
  return TableShard(std::move(*memory), view, std::move(rewrites), std::move(*table));
}

TableShard::TableShard(fabric::Mapping memory, const cuckoo::ShardView& view,
                       std::unique_ptr<cuckoo::Rewrites> rewrites, cuckoo::Table table)
    : memory_(std::move(memory)),
      view_(view),
      rewrites_(std::move(rewrites)),
      table_(std::move(table)),
      next_record_(kTableOffset + view.tables[0].table_bytes()) {
  table_.Format();
}

std::optional<uint64_t> TableShard::Put(std::string_view key, std::string_view value) {
  const uint32_t bucket_bytes = view_.tables[0].bucket_bytes;
  const uint64_t hash = cuckoo::HashKey(key, view_.hash_seed);
  const uint64_t version = ++last_version_;
  const auto mask = verify::Mask::Of(program::Mix(version));
  const verify::ItemView item{key, value, version, 0, 0, mask};
  const size_t record_bytes = verify::RecordBytes(key.size(), value.size());
  verify::Bucket bucket;
  uint64_t after_record = next_record_;
  if (verify::InlineFits(item, bucket_bytes)) {
    bucket.SetInline(item, bucket_bytes);
  } else {
    after_record += verify::RoundUpToWord(record_bytes);
    if (after_record > view_.region_bytes) return std::nullopt;
    uint64_t* words = verify::WordsAt(memory_.bytes().data(), next_record_);
    verify::WriteRecordHead(words, item, value.size());
    verify::WriteRecordValue(words, key.size(), value, item.mask);
    verify::SealRecord(words, record_bytes, view_.record_seed);
    bucket.SetReference(
        {hash, item.version, next_record_, static_cast<uint32_t>(record_bytes), 0, mask.word()},
        bucket_bytes);
  }
  const uint64_t moves_before = table_.stats().moves;
  if (!table_.Insert(hash, bucket)) return std::nullopt;
  next_record_ = after_record;
  return table_.stats().moves - moves_before;
}

TableReader::TableReader(const TableShard* shard, size_t cache_bytes)
    : shard_(shard), cache_(cache_bytes) {}

std::expected<TableReader::Answer, Error> TableReader::Get(std::string_view key) {
  const cuckoo::LookupStats before = stats_;
  const cuckoo::ShardView& view = shard_->view();
  // Nobody writes here, so that a confirmation never becomes old.
  const cuckoo::Lookup::Context context{&view, &cache_, &stats_, [] { return uint64_t{1}; }};
  cuckoo::Lookup lookup;
  Action action = lookup.Start(&context, key, cuckoo::HashKey(key, view.hash_seed), 1);
  while (action == Action::kRead) action = read_.Feed(&lookup, shard_->region());
  if (action != Action::kHit && action != Action::kAbsent) {
    return Fail(Code::kCorrupt, fmt::format("the lookup of {} met bytes that fail their seal, in "
                                            "memory that nobody writes: this is a defect",
                                            key));
  }
  return Answer{.is_hit = action == Action::kHit,
                .value = action == Action::kHit ? lookup.item().value : std::string_view(),
                .bucket_reads = static_cast<uint32_t>(stats_.bucket_reads - before.bucket_reads),
                .record_reads = static_cast<uint32_t>(stats_.record_reads - before.record_reads)};
}

}  // namespace plov::bench
