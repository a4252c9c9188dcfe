// Transaction survey: the tool's own look at the transaction keys after the server was started again.
#pragma once

#include <plov/client.h>

#include <cstdint>
#include <expected>
#include <vector>

#include "torture/transaction_record.h"
#include "verify/error.h"

namespace plov::torture {

// Of each group all keys, in one Snapshot, while nobody writes. Errors: the server does not answer; kCorrupt, it answers
// with what no PUT wrote.
std::expected<std::vector<TransactionRecord>, Error> SurveyTransactions(Client* client,
                                                                        uint32_t run,
                                                                        uint32_t history);

}  // namespace plov::torture
