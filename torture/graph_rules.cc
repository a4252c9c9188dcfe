// GraphChecker: what one operation shows to be wrong by itself, or with what was dropped.

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <limits>

#include "torture/graph_checker.h"

namespace plov::torture {

namespace {

constexpr uint64_t kLastVersion = std::numeric_limits<uint64_t>::max();

SharedRecord RecordOf(const auto& write) {
  return write.by == nullptr ? nullptr : write.by->record;
}

SharedRecord ShownBy(const auto& write) {
  return write.by == nullptr ? nullptr : write.by->shown_by;
}

// Whether the write was there before the operation began.
bool WasBefore(const auto& write, const TransactionRecord& record) {
  return write.by == nullptr || write.by->end < record.start;
}

}  // namespace

GraphChecker::Wrong GraphChecker::CheckItems(const SharedNode& node) {
  for (const TransactionItem& item : node->record->all()) {
    if (item.writes()) continue;
    if (item.version != 0 && item.value != kForeign) {
      if (auto wrong = Resolve(item, node)) return wrong;
    }
    auto wrong = item.version == 0 ? CheckAbsence(item, node) : CheckFound(item, node);
    if (wrong) return wrong;
  }
  return std::nullopt;
}

GraphChecker::Wrong GraphChecker::CheckFound(const TransactionItem& item, const SharedNode& node) {
  const TransactionRecord& record = *node->record;
  Writes& writes = keys_[item.key].writes;
  const auto write = writes.find(item.version);
  if (write == writes.end() || write->second.is_absence()) {
    return Contradiction{
        fmt::format("k{} was at version {}, which no write gave it that can still be found",
                    item.key, item.version)};
  }
  if (record.writes() > 0 && item.version >= record.version) {
    return Contradiction{
        fmt::format("a commit of version {} rests on version {} of k{}, which is not below",
                    record.version, item.version, item.key),
        {RecordOf(write->second)}};
  }
  const auto next = std::next(write);
  if (next != writes.end() && WasBefore(next->second, record)) {
    return Contradiction{
        fmt::format("k{} was at version {}, which version {} had overwritten before this began",
                    item.key, item.version, next->first),
        {RecordOf(write->second), RecordOf(next->second), ShownBy(next->second)}};
  }
  write->second.readers.push_back(node);
  return std::nullopt;
}

// All times at which it can have been absent for this one.
GraphChecker::Wrong GraphChecker::CheckAbsence(const TransactionItem& item,
                                               const SharedNode& node) {
  const TransactionRecord& record = *node->record;
  Key& key = keys_[item.key];
  if (key.unknown_deletes > 0) return std::nullopt;
  const uint64_t before = record.writes() > 0 ? record.version - 1 : kLastVersion;
  Absence absence{.reader = node, .first = kLastVersion};
  for (const Run& run : Absences(key, 0, before)) {
    const Write& first = run.first->second;
    if (first.by != nullptr && first.by->record->start > record.end) break;
    if (run.next != key.writes.end() && WasBefore(run.next->second, record)) continue;
    absence.first = std::min(absence.first, run.first->first);
    absence.last = run.last->first;
  }
  if (absence.first != kLastVersion) {
    key.absences.push_back(absence);
    return std::nullopt;
  }
  auto there = key.writes.begin();
  for (auto at = there; at != key.writes.end(); ++at) {
    if (!at->second.is_absence() && WasBefore(at->second, record)) there = at;
  }
  return Contradiction{
      fmt::format("k{} was absent, and there since version {}, with no DELETE before this ended",
                  item.key, there->first),
      {RecordOf(there->second), ShownBy(there->second)}};
}

// Those of which a part has a version from `first` to `last`.
std::vector<GraphChecker::Run> GraphChecker::Absences(const Key& key, uint64_t first,
                                                      uint64_t last) {
  std::vector<Run> runs;
  auto at = key.writes.lower_bound(first);
  while (at != key.writes.end() && at->first <= last) {
    if (!at->second.is_absence()) {
      ++at;
      continue;
    }
    Run run{.first = at, .last = at, .next = key.writes.end()};
    while (at != key.writes.end() && at->second.is_absence() && at->first <= last) run.last = at++;
    run.next = at;
    while (run.next != key.writes.end() && run.next->second.is_absence()) ++run.next;
    runs.push_back(run);
  }
  return runs;
}

GraphChecker::Wrong GraphChecker::CheckConflict(const TransactionRecord& record) const {
  for (const TransactionItem& item : record.all()) {
    if (!item.writes() && MayBeOverwritten(item, record)) return std::nullopt;
  }
  return Contradiction{"a commit was refused, and all that it rests on stood"};
}

// Whether it may have been, at some moment of the operation.
bool GraphChecker::MayBeOverwritten(const TransactionItem& read,
                                    const TransactionRecord& record) const {
  const Key& key = keys_[read.key];
  const Writes& writes = key.writes;
  if (key.unknown_puts > 0 || key.unknown_deletes > 0) return true;
  if (read.version != 0) {
    const auto write = writes.find(read.version);
    if (write == writes.end()) return true;
    const auto next = std::next(write);
    return next != writes.end() && next->second.by->record->start <= record.end;
  }
  for (auto at = writes.begin(); at != writes.end(); ++at) {
    const auto next = std::next(at);
    const bool is_over = next != writes.end() && WasBefore(next->second, record);
    if (at->second.is_absence() || is_over) continue;
    if (at->second.by->record->start <= record.end) return true;
  }
  return false;
}

// Two writes of a key, in the order of versions, of which the second was done before the first one began.
GraphChecker::Wrong GraphChecker::CheckBackwards(uint32_t key, const Writes::value_type& lower,
                                                 const Writes::value_type& higher) {
  if (lower.second.by == nullptr || !WasBefore(higher.second, *lower.second.by->record)) {
    return std::nullopt;
  }
  return Contradiction{
      fmt::format("a write of k{} has version {}, and version {} was there before it began", key,
                  lower.first, higher.first),
      {higher.second.by->record, higher.second.by->shown_by, lower.second.by->record}};
}

}  // namespace plov::torture
