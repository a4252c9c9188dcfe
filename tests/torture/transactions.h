// Transactions in short, for histories written by hand: what, by the interval [start, end].
#pragma once

#include <initializer_list>
#include <vector>

#include "torture/transaction_record.h"

namespace plov::torture {

// Values are named by their number, so that each PUT of a history has one of its own.
inline TransactionItem Found(uint32_t key, ValueId value, uint64_t version) {
  return {.version = version, .value = value, .key = key};
}

inline TransactionItem NotFound(uint32_t key) { return {.key = key}; }

// What a commit rests on.
inline TransactionItem If(uint32_t key, uint64_t version) {
  return {.version = version, .key = key};
}

inline TransactionItem Puts(uint32_t key, ValueId value) {
  return {.value = value, .key = key, .use = ItemUse::kPut};
}

inline TransactionItem Deletes(uint32_t key) { return {.key = key, .use = ItemUse::kDelete}; }

using TransactionHistory = std::vector<TransactionRecord>;
using TransactionItems = std::initializer_list<TransactionItem>;

inline TransactionRecord Transaction(TransactionKind kind, Instant start, Instant end,
                                     TransactionItems items) {
  TransactionRecord record{.start = start, .end = end, .kind = kind, .outcome = Outcome::kOk};
  for (const TransactionItem& item : items) record.Add(item);
  return record;
}

inline TransactionRecord Snapshot(Instant start, Instant end, TransactionItems items) {
  return Transaction(TransactionKind::kSnapshot, start, end, items);
}

inline TransactionRecord Get(Instant start, Instant end, const TransactionItem& item) {
  return Transaction(TransactionKind::kGet, start, end, {item});
}

// version: of its first write.
inline TransactionRecord Committed(Instant start, Instant end, uint64_t version,
                                   TransactionItems items) {
  TransactionRecord record = Transaction(TransactionKind::kCommit, start, end, items);
  record.version = version;
  return record;
}

inline TransactionRecord Put(Instant start, Instant end, uint64_t version,
                             const TransactionItem& item) {
  TransactionRecord record = Transaction(TransactionKind::kPut, start, end, {item});
  record.version = version;
  return record;
}

inline TransactionRecord But(Outcome outcome, TransactionRecord record) {
  record.outcome = outcome;
  record.version = 0;
  return record;
}

}  // namespace plov::torture
