// Transaction record: what a client process did to some keys of one group at once, as seen from outside.
//
//   kind        items                              of kOk
//   kGet        a read
//   kSnapshot   reads
//   kPut        a PUT                              `version` is its version
//   kCommit     reads, then PUTs and DELETEs       `version` is the first write's, each next one has the next
//
// A GET is a snapshot of one key, a PUT a commit of one write that rests on nothing. A commit that is kMismatch was refused,
// for a read did not stand.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "torture/history.h"
#include "torture/record_ring.h"

namespace plov::torture {

// What one run tortures transactions with; as many are in a record at most.
inline constexpr uint32_t kTransactionKeys = 32;

enum class TransactionKind : uint8_t { kGet, kSnapshot, kPut, kCommit };
inline constexpr size_t kTransactionKinds = 4;

enum class ItemUse : uint8_t { kRead, kPut, kDelete };

struct TransactionItem {
  uint64_t version = 0;      // of a read what was found, 0: it was absent
  ValueId value = kForeign;  // of a PUT, and of what a GET or a Snapshot found
  uint32_t key = 0;
  ItemUse use = ItemUse::kRead;
  std::array<uint8_t, 3> reserved{};

  bool operator==(const TransactionItem&) const = default;
  bool writes() const { return use != ItemUse::kRead; }
};
static_assert(sizeof(TransactionItem) == 24);

// Written into shared memory by one process and read by another.
struct TransactionRecord {
  Instant start = 0;
  Instant end = 0;  // of kUnknown it is not looked at
  uint64_t version = 0;
  uint32_t process = 0;
  uint32_t group = 0;  // keys that the server takes together
  uint32_t count = 0;  // of items
  TransactionKind kind = TransactionKind::kGet;
  Outcome outcome = Outcome::kUnknown;
  std::array<uint8_t, 2> reserved{};
  std::array<TransactionItem, kTransactionKeys> items{};

  void Add(const TransactionItem& item) { items[count++] = item; }
  std::span<const TransactionItem> all() const { return std::span(items).first(count); }
  size_t writes() const;
  size_t IndexOfWrite(ValueId value) const;  // among its writes
  // Of kOk: the version of its last write.
  uint64_t last() const { return version + writes() - 1; }
};

// Whether it can be one at all. What is not is a violation by itself, for records come from memory that a killed process wrote.
bool IsWellFormed(const TransactionRecord& record);

TransactionRecord Unanswered(TransactionRecord record);

using TransactionRing = RecordRing<TransactionRecord, uint64_t{1} << 10>;  // 816 KiB

std::string_view KindName(TransactionKind kind);          // "COMMIT"
std::string CallText(const TransactionRecord& record);    // "COMMIT k1=5 -> k2 p0#3, k4 deleted"
std::string ResultText(const TransactionRecord& record);  // "ok, version 7"

}  // namespace plov::torture
