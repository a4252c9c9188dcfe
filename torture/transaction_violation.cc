#include "torture/transaction_violation.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace plov::torture {

TransactionViolation ViolationOf(Contradiction wrong, const SharedRecord& impossible) {
  TransactionViolation violation{.reason = std::move(wrong.reason), .instant = impossible->end};
  std::vector<SharedRecord> seen{impossible};
  for (const SharedRecord& record : wrong.records) {
    if (record == nullptr || std::ranges::find(seen, record) != seen.end()) continue;
    seen.push_back(record);
    violation.records.push_back(*record);
  }
  violation.records.push_back(*impossible);
  return violation;
}

std::optional<Contradiction> CheckFoundOf(const SharedRecord& writer, uint64_t first,
                                          const TransactionItem& found) {
  if (writer->outcome != Outcome::kOk && writer->outcome != Outcome::kUnknown) {
    return Contradiction{
        fmt::format("k{} was {}, of a write that was refused", found.key, ValueName(found.value)),
        {writer}};
  }
  if (first != 0 || found.version > writer->IndexOfWrite(found.value)) return std::nullopt;
  return Contradiction{fmt::format("k{} was {} at version {}, which that cannot have", found.key,
                                   ValueName(found.value), found.version),
                       {writer}};
}

Contradiction WrittenAs(const SharedRecord& writer, uint64_t version,
                        const TransactionItem& found) {
  return {fmt::format("k{} was {} at version {}, and was written as {}", found.key,
                      ValueName(found.value), found.version, version),
          {writer}};
}

}  // namespace plov::torture
