#include "torture/transaction_survey.h"

#include <utility>

#include "torture/run_memory.h"
#include "torture/transactions.h"

namespace plov::torture {

namespace {

// Of a group; the client waits for its server within each.
constexpr int kSnapshotTries = 10;

}  // namespace

std::expected<std::vector<TransactionRecord>, Error> SurveyTransactions(Client* client,
                                                                        uint32_t run,
                                                                        uint32_t history) {
  std::vector<TransactionRecord> survey;
  const KeyGroups groups = GroupTransactionKeys(client, run, history);
  for (uint32_t group = 0; group < groups.size(); ++group) {
    std::vector<KeyName> names;
    for (const uint32_t key : groups[group]) names.push_back(TransactionKeyName(run, history, key));
    std::vector<std::string_view> keys;
    for (const KeyName& name : names) keys.push_back(name.view());
    TransactionRecord record{.start = Now(),
                             .process = kTool,
                             .group = group,
                             .kind = TransactionKind::kSnapshot,
                             .outcome = Outcome::kOk};
    auto found = client->Snapshot(keys);
    for (int tries = 1; !found && tries < kSnapshotTries; ++tries) found = client->Snapshot(keys);
    if (!found) {
      return Fail(found.error().code,
                  "the server does not answer the tool's own Snapshot: " + found.error().message);
    }
    for (size_t i = 0; i < keys.size(); ++i) {
      const auto item = FoundItem(history, groups[group][i], (*found)[i]);
      if (!item) return Fail(Code::kCorrupt, item.error());
      record.Add(*item);
    }
    record.end = Now();
    survey.push_back(record);
  }
  return survey;
}

}  // namespace plov::torture
