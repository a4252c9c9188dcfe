// Transaction violation: transactions that contradict each other, as the checkers give them away.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "torture/transaction_record.h"

namespace plov::torture {

using SharedRecord = std::shared_ptr<const TransactionRecord>;

// Why operations fit into no order: those that it takes.
struct Contradiction {
  std::string reason;
  std::vector<SharedRecord> records = {};
};

struct TransactionViolation {
  std::string reason;
  Instant instant = 0;  // when the operation ended that fits into no order
  // Those that contradict each other; the last is the impossible one.
  std::vector<TransactionRecord> records = {};
};

TransactionViolation ViolationOf(Contradiction wrong, const SharedRecord& impossible);

// Of a value that a read found, by its write, whose first version is `first`; 0: that is not known yet.
std::optional<Contradiction> CheckFoundOf(const SharedRecord& writer, uint64_t first,
                                          const TransactionItem& found);
// The write gave it this version, or another value.
Contradiction WrittenAs(const SharedRecord& writer, uint64_t version, const TransactionItem& found);

// What was refused and would have written, to say so when it is found; so much of it.
class RefusedRecords {
 public:
  // writers: by value; those of what is remembered no more are erased.
  template <typename Writers>
  void Add(const SharedRecord& refused, Writers* writers) {
    if (refused->writes() > 0) records_.push_back(refused);
    if (records_.size() <= kKept) return;
    for (const TransactionItem& item : records_.front()->all()) {
      if (item.use == ItemUse::kPut) writers->erase(item.value);
    }
    records_.pop_front();
  }

 private:
  static constexpr size_t kKept = 4096;

  std::deque<SharedRecord> records_;
};

}  // namespace plov::torture
