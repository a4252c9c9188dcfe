#include "torture/transaction_report.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

namespace plov::torture {

Excerpt ExcerptOf(const TransactionViolation& violation) {
  Excerpt excerpt{.title = "transactions: " + violation.reason + ", at " +
                           std::to_string(violation.instant) + " ns",
                  .before = "anything",
                  .instant = violation.instant};
  for (const TransactionRecord& record : violation.records) {
    excerpt.rows.push_back({.start = record.start,
                            .end = record.end,
                            .is_open = record.outcome == Outcome::kUnknown,
                            .stores = record.writes() > 0,
                            .is_impossible = &record == &violation.records.back(),
                            .process = ProcessName(record.process),
                            .call = CallText(record),
                            .result = ResultText(record)});
  }
  std::ranges::sort(excerpt.rows, {},
                    [](const ExcerptRow& row) { return std::pair(row.start, row.is_impossible); });
  return excerpt;
}

nlohmann::ordered_json JsonOf(const TransactionViolation& violation) {
  auto operations = nlohmann::ordered_json::array();
  for (const TransactionRecord& record : violation.records) {
    nlohmann::ordered_json one = {{"process", ProcessName(record.process)},
                                  {"call", CallText(record)},
                                  {"result", ResultText(record)},
                                  {"start", record.start},
                                  {"end", nullptr},
                                  {"outcome", OutcomeName(record.outcome)}};
    if (record.outcome != Outcome::kUnknown) one["end"] = record.end;
    if (record.version != 0) one["version"] = record.version;
    operations.push_back(std::move(one));
  }
  return {{"reason", violation.reason},
          {"instant", violation.instant},
          {"operations", std::move(operations)}};
}

}  // namespace plov::torture
