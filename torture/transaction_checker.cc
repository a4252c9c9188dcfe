#include "torture/transaction_checker.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace plov::torture {

namespace {

constexpr size_t kViolationsMax = 8;

constexpr auto kStartsLater = [](const SharedRecord& a, const SharedRecord& b) {
  return a->start > b->start;
};
constexpr auto kEndsLater = [](const auto& a, const auto& b) {
  return a.record->end > b.record->end;
};

}  // namespace

void TransactionChecker::Feed(const TransactionRecord& record) {
  const auto shared = std::make_shared<const TransactionRecord>(record);
  if (!IsWellFormed(record)) {
    // What it holds is not looked at.
    return Take({.reason = "a record of a client makes no sense"},
                std::make_shared<const TransactionRecord>());
  }
  for (const TransactionItem& item : record.all()) order_.Use(item.key);
  starting_.push_back(shared);
  std::ranges::push_heap(starting_, kStartsLater);
}

// Where one ends at the instant at which another one starts, the two overlap.
void TransactionChecker::Advance(Instant horizon) {
  bool moved = false;
  for (;; moved = true) {
    const Instant start = starting_.empty() ? kForever : starting_.front()->start;
    const Instant end = ending_.empty() ? kForever : ending_.front().record->end;
    if (std::min(start, end) >= horizon) break;
    if (start <= end) {
      std::ranges::pop_heap(starting_, kStartsLater);
      Open open{.record = std::move(starting_.back()), .floor = level_, .floor_by = level_by_};
      starting_.pop_back();
      Start(std::move(open));
    } else {
      std::ranges::pop_heap(ending_, kEndsLater);
      const Open open = std::move(ending_.back());
      ending_.pop_back();
      End(open);
    }
  }
  if (moved) Retire();
}

void TransactionChecker::Start(Open open) {
  const TransactionRecord& record = *open.record;
  const auto writer = std::make_shared<Writer>(
      Writer{.record = open.record, .floor = open.floor, .floor_by = open.floor_by});
  for (const TransactionItem& item : record.all()) {
    if (item.use == ItemUse::kPut) writers_[item.value] = writer;
  }
  if (record.outcome == Outcome::kUnknown) return NoteUnanswered(record, 1);
  if (record.outcome == Outcome::kOk && record.writes() > 0) {
    writer->first = record.version;
    if (auto wrong = Place(open, record.version)) Take(std::move(*wrong), open.record);
  }
  ending_.push_back(std::move(open));
  std::ranges::push_heap(ending_, kEndsLater);
}

void TransactionChecker::NoteUnanswered(const TransactionRecord& record, int by) {
  for (const TransactionItem& item : record.all()) {
    if (item.use == ItemUse::kPut) unknown_puts_[item.key] += static_cast<uint32_t>(by);
    if (item.use == ItemUse::kDelete) unknown_deletes_[item.key] += static_cast<uint32_t>(by);
  }
}

void TransactionChecker::End(const Open& open) {
  uint64_t point = open.floor;
  Wrong wrong;
  if (open.record->outcome == Outcome::kOk) {
    wrong = open.record->writes() > 0 ? CheckCommit(open, &point) : CheckReads(open, &point);
  } else {
    if (open.record->outcome == Outcome::kMismatch) wrong = CheckConflict(open);
    refused_.Add(open.record, &writers_);
  }
  if (wrong) return Take(std::move(*wrong), open.record);
  if (point <= level_) return;
  level_ = point;
  level_by_ = open.record;
}

// commit: its writes have the versions from `first` on.
TransactionChecker::Wrong TransactionChecker::Place(const Open& commit, uint64_t first) {
  const TransactionRecord& record = *commit.record;
  if (first <= commit.floor) {
    return Contradiction{
        fmt::format("a write has version {}, and what had ended before it began comes up to {}",
                    first, commit.floor),
        {commit.floor_by}};
  }
  Wrong wrong;
  uint64_t version = first;
  const uint64_t last = first + record.writes() - 1;
  for (const TransactionItem& item : record.all()) {
    if (!item.writes()) continue;
    auto clash = order_.Add(
        item.key, {.version = version++, .value = item.value, .last = last, .by = commit.record});
    if (clash && !wrong) wrong = std::move(clash);
  }
  return wrong;
}

// found: by a read; it was written so.
TransactionChecker::Wrong TransactionChecker::Resolve(const TransactionItem& found) {
  const auto known = writers_.find(found.value);
  if (known == writers_.end()) {
    return Contradiction{
        fmt::format("k{} was {}, which was refused, or overwritten in all keys before this began",
                    found.key, ValueName(found.value))};
  }
  const std::shared_ptr<Writer> writer = known->second;
  if (auto wrong = CheckFoundOf(writer->record, writer->first, found)) return wrong;
  const TransactionRecord& record = *writer->record;
  const size_t index = record.IndexOfWrite(found.value);
  if (writer->first == 0) {
    writer->first = found.version - index;
    ++unknown_found_;
    NoteUnanswered(record, -1);
    const Open commit{
        .record = writer->record, .floor = writer->floor, .floor_by = writer->floor_by};
    if (auto wrong = Place(commit, writer->first)) return wrong;
  }
  const WriteOrder::Write* write = order_.Find(found.key, found.version);
  if (writer->first + index == found.version && (write == nullptr || write->value == found.value)) {
    return std::nullopt;
  }
  return WrittenAs(writer->record, writer->first + index, found);
}

// Those under way may still find what there was when they began.
void TransactionChecker::Retire() {
  uint64_t floor = std::min(level_, answered_);
  for (const Open& open : ending_) floor = std::min(floor, open.floor);
  for (const ValueId value : order_.Retire(floor)) writers_.erase(value);
}

void TransactionChecker::Take(Contradiction wrong, const SharedRecord& impossible) {
  if (violations_.size() >= kViolationsMax) return;
  violations_.push_back(ViolationOf(std::move(wrong), impossible));
}

std::vector<TransactionViolation> TransactionChecker::TakeViolations() {
  return std::exchange(violations_, {});
}

void TransactionChecker::EndLife(const TransactionRecord& found) {
  const auto record = std::make_shared<const TransactionRecord>(found);
  Open open{.record = record, .floor = answered_, .floor_by = nullptr};
  uint64_t point = 0;
  if (auto wrong = CheckReads(open, &point)) Take(std::move(*wrong), record);
  auto violations = TakeViolations();
  const uint64_t unknown_found = unknown_found_;
  *this = TransactionChecker();
  violations_ = std::move(violations);
  unknown_found_ = unknown_found;
  for (const TransactionItem& item : found.all()) {
    order_.Use(item.key);
    if (item.version == 0) continue;
    writers_[item.value] =
        std::make_shared<Writer>(Writer{.record = record, .first = item.version});
    order_.Add(item.key,
               {.version = item.version, .value = item.value, .last = item.version, .by = record});
    level_ = answered_ = std::max(level_, item.version);
  }
  level_by_ = record;
}

}  // namespace plov::torture
