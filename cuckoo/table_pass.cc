#include "cuckoo/table_pass.h"

#include <utility>

namespace plov::cuckoo {

using verify::BucketKind;

TablePass::TablePass(GrowingTable* table, Meet meet) : table_(table) {
  place_.meet = std::move(meet);
  Enter(&table_->current());
}

Table* TablePass::Enter(Table* table) {
  generation_ = table->geometry().generation;
  place_.read_end = 0;
  table_->Enter(&place_, table);
  return table;
}

// The table that the pass is in; null once it has read all.
Table* TablePass::Place() {
  Table* first = &table_->current();
  if (generation_ < first->geometry().generation) return Enter(first);
  Table* in = generation_ == first->geometry().generation ? first : &table_->moving_to();
  if (place_.read_end < in->geometry().bucket_count) return in;
  if (in != first || table_->phase() != GrowingTable::Phase::kMoving) return nullptr;
  return Enter(&table_->moving_to());
}

TablePass::Progress TablePass::Read(const std::optional<verify::Bucket>& bucket) {
  if (!bucket) return Progress::kDamaged;
  const BucketKind kind = bucket->kind();
  if (kind == BucketKind::kInline || kind == BucketKind::kReference) place_.meet(*bucket);
  return Progress::kMore;
}

TablePass::Progress TablePass::StepOne() {
  if (!in_stash_) {
    if (Table* table = Place()) return Read(table->Load(place_.read_end++));
    in_stash_ = true;
  }
  Stash& stash = table_->stash();
  if (stash_at_ >= stash.end()) return Progress::kOver;
  const uint64_t index = stash_at_++;
  return stash.At(index) == nullptr ? Progress::kMore : Read(stash.Load(index));
}

TablePass::Progress TablePass::Step(uint64_t places) {
  for (; places > 0; --places) {
    const Progress progress = StepOne();
    if (progress != Progress::kMore) return progress;
  }
  return Progress::kMore;
}

}  // namespace plov::cuckoo
