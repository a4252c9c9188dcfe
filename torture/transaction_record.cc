#include "torture/transaction_record.h"

#include <fmt/format.h>

#include <algorithm>

namespace plov::torture {

namespace {

constexpr std::string_view kNames[kTransactionKinds] = {"GET", "SNAPSHOT", "PUT", "COMMIT"};

bool IsItem(const TransactionItem& item, bool may_write) {
  const bool is_put = item.use == ItemUse::kPut;
  return item.key < kTransactionKeys && item.use <= ItemUse::kDelete &&
         (may_write || !item.writes()) && (!is_put || item.value != kForeign);
}

std::string ItemText(const TransactionItem& item, bool shows_found) {
  if (item.use == ItemUse::kPut) return fmt::format("k{} := {}", item.key, ValueName(item.value));
  if (item.use == ItemUse::kDelete) return fmt::format("k{} deleted", item.key);
  if (!shows_found) return fmt::format("k{}", item.key);
  if (item.version == 0) return fmt::format("k{} absent", item.key);
  if (item.value == kForeign) return fmt::format("k{} at {}", item.key, item.version);
  return fmt::format("k{} = {} at {}", item.key, ValueName(item.value), item.version);
}

std::string ItemsText(const TransactionRecord& record, bool writes, bool shows_found) {
  std::string text;
  for (const TransactionItem& item : record.all()) {
    if (item.writes() != writes) continue;
    text += (text.empty() ? "" : ", ") + ItemText(item, shows_found);
  }
  return text;
}

bool IsRead(const TransactionRecord& record) {
  return record.kind == TransactionKind::kGet || record.kind == TransactionKind::kSnapshot;
}

}  // namespace

size_t TransactionRecord::writes() const {
  return static_cast<size_t>(
      std::ranges::count_if(all(), [](const TransactionItem& item) { return item.writes(); }));
}

size_t TransactionRecord::IndexOfWrite(ValueId value) const {
  size_t index = 0;
  for (const TransactionItem& item : all()) {
    if (item.use == ItemUse::kPut && item.value == value) break;
    index += item.writes() ? 1 : 0;
  }
  return index;
}

bool IsWellFormed(const TransactionRecord& record) {
  if (record.kind > TransactionKind::kCommit || record.outcome > Outcome::kUnknown ||
      record.count == 0 || record.count > kTransactionKeys || record.group >= kTransactionKeys) {
    return false;
  }
  const auto is_item = [&](const TransactionItem& item) { return IsItem(item, !IsRead(record)); };
  if (!std::ranges::all_of(record.all(), is_item)) return false;
  if (record.outcome == Outcome::kUnknown) return true;
  const bool has_version = record.outcome == Outcome::kOk && record.writes() > 0;
  return record.end >= record.start && has_version == (record.version != 0);
}

TransactionRecord Unanswered(TransactionRecord record) {
  record.outcome = Outcome::kUnknown;
  record.end = record.start;
  record.version = 0;
  return record;
}

std::string_view KindName(TransactionKind kind) { return kNames[static_cast<size_t>(kind)]; }

std::string CallText(const TransactionRecord& record) {
  std::string text(KindName(record.kind));
  const std::string reads = ItemsText(record, false, !IsRead(record));
  if (!reads.empty()) text += (IsRead(record) ? " " : " if ") + reads;
  const std::string writes = ItemsText(record, true, true);
  if (!writes.empty()) text += (reads.empty() ? " " : ": ") + writes;
  return text;
}

std::string ResultText(const TransactionRecord& record) {
  if (record.outcome != Outcome::kOk) return std::string(OutcomeName(record.outcome));
  if (IsRead(record)) return ItemsText(record, false, true);
  return record.version == 0 ? "ok" : fmt::format("ok, from version {}", record.version);
}

}  // namespace plov::torture
