#include "torture/graph_checker.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace plov::torture {

namespace {

constexpr auto kNodeEndsLater = [](const auto& a, const auto& b) {
  return a->record->end > b->record->end;
};

}  // namespace

void GraphChecker::Feed(const TransactionRecord& record) {
  if (is_broken_) return;
  if (!IsWellFormed(record)) {
    // What it holds is not looked at.
    return Take({.reason = "a record of a client makes no sense"},
                std::make_shared<const TransactionRecord>());
  }
  const auto node =
      std::make_shared<Node>(Node{.record = std::make_shared<const TransactionRecord>(record)});
  for (const TransactionItem& item : record.all()) {
    if (item.use == ItemUse::kPut) writers_[item.value] = node;
  }
  if (record.outcome == Outcome::kUnknown) return NoteUnanswered(record, 1);
  node->end = record.end;
  if (record.outcome == Outcome::kOk) {
    if (auto wrong = Place(node, record.version)) return Take(std::move(*wrong), node->record);
  }
  ending_.push_back(node);
  std::ranges::push_heap(ending_, kNodeEndsLater);
}

// All that began before the end of what ends is known then.
void GraphChecker::Advance(Instant horizon) {
  while (!ending_.empty() && ending_.front()->record->end < horizon) {
    std::ranges::pop_heap(ending_, kNodeEndsLater);
    const SharedNode node = std::move(ending_.back());
    ending_.pop_back();
    if (!is_broken_) End(node);
  }
  if (!IsTime(horizon)) return;
  Instant settled = horizon;
  for (const SharedNode& node : ending_) settled = std::min(settled, node->record->start);
  Check(settled);
}

// When as many have come as the last check has left, or when these can be dropped, which one that took long has held.
bool GraphChecker::IsTime(Instant horizon) const {
  if (horizon == kForever) return true;
  const size_t more = placed_.size() - std::min(placed_.size(), checked_);
  const bool was_long = checked_ > 2 * kept_ && horizon > newest_;
  return was_long || more >= std::max(kept_ / 2, checked_);
}

void GraphChecker::Finish() { Advance(kForever); }

void GraphChecker::NoteUnanswered(const TransactionRecord& record, int by) {
  for (const TransactionItem& item : record.all()) {
    Key& key = keys_[item.key];
    if (item.use == ItemUse::kPut) key.unknown_puts += static_cast<uint32_t>(by);
    if (item.use == ItemUse::kDelete) key.unknown_deletes += static_cast<uint32_t>(by);
  }
}

void GraphChecker::End(const SharedNode& node) {
  const TransactionRecord& record = *node->record;
  Wrong wrong;
  if (record.outcome == Outcome::kOk) {
    wrong = CheckItems(node);
  } else {
    if (record.outcome == Outcome::kMismatch) wrong = CheckConflict(record);
    refused_.Add(node->record, &writers_);
  }
  if (wrong) Take(std::move(*wrong), node->record);
}

// first: the version of its first write, of those that have any.
GraphChecker::Wrong GraphChecker::Place(const SharedNode& node, uint64_t first) {
  node->is_placed = true;
  node->first = first;
  placed_.push_back(node);
  Wrong wrong;
  uint64_t version = first;
  for (const TransactionItem& item : node->record->all()) {
    if (!item.writes()) continue;
    Writes& writes = keys_[item.key].writes;
    const auto [at, is_new] = writes.try_emplace(version++, Write{.value = item.value, .by = node});
    if (!is_new) {
      return Contradiction{
          fmt::format("version {} of k{} is that of two writes", at->first, item.key),
          {at->second.by->record, node->record}};
    }
    const auto next = std::next(at);
    // What has no answer was applied before what is behind it.
    if (next != writes.end()) Show(node.get(), *next->second.by);
    if (at != writes.begin() && !wrong) wrong = CheckBackwards(item.key, *std::prev(at), *at);
    if (next != writes.end() && !wrong) wrong = CheckBackwards(item.key, *at, *next);
  }
  return wrong;
}

// by: something that comes behind it.
void GraphChecker::Show(Node* applied, const Node& by) {
  if (applied->record->outcome != Outcome::kUnknown || by.end >= applied->end) return;
  applied->end = by.end;
  applied->shown_by = by.record;
}

// found: by a read; it was written so.
GraphChecker::Wrong GraphChecker::Resolve(const TransactionItem& found, const SharedNode& by) {
  const auto known = writers_.find(found.value);
  if (known == writers_.end()) {
    return Contradiction{
        fmt::format("k{} was {}, which was refused, or overwritten before this began, or no write",
                    found.key, ValueName(found.value))};
  }
  const SharedNode writer = known->second;
  if (auto wrong = CheckFoundOf(writer->record, writer->first, found)) return wrong;
  const TransactionRecord& record = *writer->record;
  const size_t index = record.IndexOfWrite(found.value);
  if (writer->first == 0) {
    ++unknown_found_;
    NoteUnanswered(record, -1);
    if (auto wrong = Place(writer, found.version - index)) return wrong;
    RestOn(writer);
  }
  Show(writer.get(), *by);
  const Writes& writes = keys_[found.key].writes;
  const auto write = writes.find(found.version);
  const bool is_it = write == writes.end() || write->second.value == found.value;
  if (writer->first + index == found.version && is_it) return std::nullopt;
  return WrittenAs(writer->record, writer->first + index, found);
}

// found: without an answer; what it rests on may have been dropped long ago.
void GraphChecker::RestOn(const SharedNode& found) {
  for (const TransactionItem& item : found->record->all()) {
    if (item.writes() || item.version == 0) continue;
    Writes& writes = keys_[item.key].writes;
    const auto write = writes.find(item.version);
    if (write != writes.end()) write->second.readers.push_back(found);
  }
}

void GraphChecker::Take(Contradiction wrong, const SharedRecord& impossible) {
  is_broken_ = true;
  violations_.push_back(ViolationOf(std::move(wrong), impossible));
}

}  // namespace plov::torture
