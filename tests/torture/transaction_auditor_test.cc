// Which checker the transactions of a run come to.

#include "torture/transaction_auditor.h"

#include <gtest/gtest.h>

#include "tests/torture/transactions.h"

namespace plov::torture {
namespace {

class TransactionAuditorTest : public testing::TestWithParam<bool> {
 protected:
  void SetUp() override { memory().plan.transactions_over_shards = GetParam(); }

  uint64_t ViolationsOf(const TransactionHistory& history) {
    TransactionAuditor auditor(&memory(), 1);
    auditor.Open(0);
    TransactionRing& ring = memory().transaction_rings[0];
    for (const TransactionRecord& record : history) {
      ring.Next(0) = record;
      ring.Issue(1);
      ring.Finish(record.end);
    }
    auditor.EndHistory();
    EXPECT_EQ(auditor.tally().puts, 2);
    return auditor.tally().violations;
  }
  RunMemory& memory() { return *mapping_->memory(); }

  std::expected<RunMapping, Error> mapping_ = RunMapping::Create();
};

TEST_P(TransactionAuditorTest, VersionsOfSeveralShardsMayGoBack) {
  const auto violations = ViolationsOf({Put(10, 20, 1000, Puts(1, 1)), Put(30, 40, 5, Puts(2, 2))});
  EXPECT_EQ(violations, GetParam() ? 0 : 1);
}

TEST_P(TransactionAuditorTest, FindsAWriteSkew) {
  EXPECT_EQ(ViolationsOf({Put(10, 20, 5, Puts(1, 1)), Put(30, 40, 6, Puts(2, 2)),
                          Committed(50, 70, 7, {If(1, 5), If(2, 6), Puts(1, 3)}),
                          Committed(50, 70, 8, {If(1, 5), If(2, 6), Puts(2, 4)})}),
            1);
}

INSTANTIATE_TEST_SUITE_P(OneShardOrSeveral, TransactionAuditorTest, testing::Bool());

}  // namespace
}  // namespace plov::torture
