// TransactionChecker: the rules for an operation that ends, when every write that began before it is known.

#include <fmt/format.h>

#include <algorithm>

#include "torture/transaction_checker.h"

namespace plov::torture {

namespace {

using Write = WriteOrder::Write;

bool IsFound(const TransactionItem& item) {
  return item.use == ItemUse::kRead && item.version != 0;
}

bool IsAbsence(const TransactionItem& item) {
  return item.use == ItemUse::kRead && item.version == 0;
}

void MoveTo(const Write& write, uint64_t* point, SharedRecord* point_by) {
  if (write.last <= *point) return;
  *point = write.last;
  *point_by = write.by;
}

}  // namespace

// The first point at which all that it found can have been there.
TransactionChecker::Wrong TransactionChecker::CheckReads(const Open& open, uint64_t* point) {
  const TransactionRecord& record = *open.record;
  *point = open.floor;
  SharedRecord point_by = open.floor_by;
  for (const TransactionItem& item : record.all()) {
    if (!IsFound(item)) continue;
    if (item.value != kForeign) {
      if (auto wrong = Resolve(item)) return wrong;
    }
    const Write* write = order_.Find(item.key, item.version);
    if (write == nullptr || write->is_absence()) {
      return Contradiction{
          fmt::format("k{} was at version {}, which no write gave it that can still be found",
                      item.key, item.version),
          {point_by}};
    }
    MoveTo(*write, point, &point_by);
  }
  if (auto wrong = FindAbsences(record, point, &point_by)) return wrong;
  return CheckFound(open, *point, point_by);
}

// Moves the point on to where all keys that were absent can have been it.
TransactionChecker::Wrong TransactionChecker::FindAbsences(const TransactionRecord& record,
                                                           uint64_t* point,
                                                           SharedRecord* point_by) {
  for (bool moved = true; moved;) {
    moved = false;
    for (const TransactionItem& item : record.all()) {
      if (!IsAbsence(item) || unknown_deletes_[item.key] > 0) continue;
      const Write& last = order_.LastAt(item.key, *point);
      if (last.is_absence()) continue;
      const Write* next = order_.NextAbsence(item.key, *point);
      if (next == nullptr) {
        return Contradiction{
            fmt::format("k{} was absent behind version {}, and there since version {}", item.key,
                        *point, last.version),
            {last.by, *point_by}};
      }
      MoveTo(*next, point, point_by);
      moved = true;
    }
  }
  return std::nullopt;
}

TransactionChecker::Wrong TransactionChecker::CheckFound(const Open& open, uint64_t point,
                                                         const SharedRecord& point_by) {
  for (const TransactionItem& item : open.record->all()) {
    if (IsAbsence(item)) {
      // One that a later DELETE explains need not have been at this point.
      const bool is_certain =
          unknown_deletes_[item.key] == 0 && order_.NextAbsence(item.key, point) == nullptr;
      if (is_certain) WriteOrder::Keep(&order_.LastAt(item.key, point), point, open.record);
    }
    if (!IsFound(item)) continue;
    Write* write = order_.Find(item.key, item.version);
    const Write* next = order_.Next(item.key, item.version);
    if (next != nullptr && next->version <= point) {
      return Contradiction{
          fmt::format("k{} was at version {} behind version {}, and was overwritten by version {}",
                      item.key, item.version, point, next->version),
          {write->by, next->by, point_by}};
    }
    WriteOrder::Keep(write, point, open.record);
  }
  return std::nullopt;
}

TransactionChecker::Wrong TransactionChecker::CheckCommit(const Open& open, uint64_t* point) {
  for (const TransactionItem& item : open.record->all()) {
    if (item.writes()) continue;
    if (auto wrong = CheckBase(item, open.record)) return wrong;
  }
  *point = open.record->last();
  answered_ = std::max(answered_, *point);
  return std::nullopt;
}

// read: what the commit rests on.
TransactionChecker::Wrong TransactionChecker::CheckBase(const TransactionItem& read,
                                                        const SharedRecord& commit) {
  const uint64_t before = commit->version - 1;
  if (IsAbsence(read)) {
    if (unknown_deletes_[read.key] > 0) return std::nullopt;
    Write& last = order_.LastAt(read.key, before);
    if (!last.is_absence()) {
      return Contradiction{
          fmt::format("a commit of version {} rests on the absence of k{}, which version {} wrote",
                      commit->version, read.key, last.version),
          {last.by}};
    }
    WriteOrder::Keep(&last, before, commit);
    return std::nullopt;
  }
  Write* write = order_.Find(read.key, read.version);
  if (write == nullptr || read.version > before) {
    return Contradiction{
        fmt::format("a commit of version {} rests on version {} of k{}, which no write below it "
                    "gave it that could still be found",
                    commit->version, read.version, read.key),
        {write == nullptr ? nullptr : write->by}};
  }
  const Write* next = order_.Next(read.key, read.version);
  if (next != nullptr && next->version <= before) {
    return Contradiction{
        fmt::format("a commit of version {} rests on version {} of k{}, which version {} overwrote",
                    commit->version, read.version, read.key, next->version),
        {write->by, next->by}};
  }
  WriteOrder::Keep(write, before, commit);
  return std::nullopt;
}

TransactionChecker::Wrong TransactionChecker::CheckConflict(const Open& open) {
  for (const TransactionItem& item : open.record->all()) {
    if (!item.writes() && IsOverwritten(item, open)) return std::nullopt;
  }
  return Contradiction{"a commit was refused, and all that it rests on stood"};
}

// Whether it may have been, at some moment of the operation.
bool TransactionChecker::IsOverwritten(const TransactionItem& read, const Open& open) {
  if (unknown_puts_[read.key] > 0 || unknown_deletes_[read.key] > 0) return true;
  if (read.version != 0) {
    if (order_.Find(read.key, read.version) == nullptr) return true;
    const Write* next = order_.Next(read.key, read.version);
    return next != nullptr && next->by->start <= open.record->end;
  }
  const Write* write = &order_.LastAt(read.key, open.floor);
  while (write != nullptr && write->is_absence()) write = order_.Next(read.key, write->version);
  return write != nullptr;
}

}  // namespace plov::torture
