// From evidence to exit status, text and files.

#include "torture/verdict.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>

#include "tests/support/folder.h"
#include "tests/torture/transactions.h"

namespace plov::torture {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

// Of a run that did enough.
Evidence Enough() {
  Evidence evidence;
  evidence.seconds = 2;
  evidence.audited.operations[0][0] = 1'000'000;
  evidence.audited.histories = 1;
  evidence.counts[IndexOf(Count::kTornBuckets)] = 5;
  evidence.counts[IndexOf(Count::kTornRecords)] = 7;
  evidence.counts[IndexOf(Count::kRecordBytes)] = 1000;
  evidence.server = {.displacements = 3, .growths = 2, .record_memory_bytes = 999};
  return evidence;
}

// A GET of what was overwritten before it started.
Violation Stale() {
  const Operation put = {.start = 10,
                         .end = 20,
                         .key = 7,
                         .value = MakeValueId(0, 1),
                         .version = 5,
                         .kind = Kind::kPut};
  Operation next = put;
  next.start = 30;
  next.end = 40;
  next.value = MakeValueId(0, 2);
  next.version = 6;
  Operation get = put;
  get.start = 50;
  get.end = 60;
  get.process = 1;
  get.kind = Kind::kGet;
  return {.key = 7,
          .reason = Reason::kStale,
          .instant = 60,
          .window = {put, next, get},
          .window_is_whole = true};
}

std::string Read(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

TEST(SearchResult, PassesWhatDidEnough) {
  const Verdict verdict = Decide(Enough());
  EXPECT_EQ(verdict.exit_status(), 0);
  const std::string text = VerdictText(Enough(), verdict);
  EXPECT_THAT(text, HasSubstr("1,000,000 operations in 2.0 s, 500,000 a second"));
  EXPECT_THAT(text, HasSubstr("7 of records; all survived"));
  EXPECT_THAT(text, HasSubstr("PASS"));
}

TEST(SearchResult, TooLittleIsNoPass) {
  Evidence no_torn_bucket = Enough();
  no_torn_bucket.counts[IndexOf(Count::kTornBuckets)] = 0;
  Evidence no_torn_record = Enough();
  no_torn_record.counts[IndexOf(Count::kTornRecords)] = 0;
  Evidence no_displacement = Enough();
  no_displacement.server.displacements = 0;
  Evidence no_growth = Enough();
  no_growth.server.growths = 0;
  Evidence no_reuse = Enough();
  no_reuse.server.record_memory_bytes = 1000;
  Evidence nothing_answered = Enough();
  nothing_answered.audited.operations = {};
  nothing_answered.audited.operations[1][static_cast<size_t>(Outcome::kRefused)] = 100;
  Evidence undecided = Enough();
  undecided.audited.undecided = 1;
  Evidence no_fault = Enough();
  no_fault.options.faults.set(IndexOf(Fault::kKillServer));
  Evidence never_full = Enough();
  never_full.options.faults.set(IndexOf(Fault::kFull));
  never_full.injected[IndexOf(Fault::kFull)] = 1;
  for (const Evidence& evidence : {no_torn_bucket, no_torn_record, no_displacement, no_growth,
                                   no_reuse, nothing_answered, undecided, no_fault, never_full}) {
    const Verdict verdict = Decide(evidence);
    EXPECT_EQ(verdict.exit_status(), 4);
    ASSERT_EQ(verdict.missing.size(), 1);
    EXPECT_THAT(VerdictText(evidence, verdict), HasSubstr(verdict.missing[0]));
  }
}

TEST(SearchResult, GetsOfAnyReplicaAreToldAndMustBeMany) {
  Evidence evidence = Enough();
  evidence.options.cluster = 4;
  evidence.promotions = 10;
  evidence.surveyed = 50'000;
  EXPECT_THAT(Decide(evidence).missing, ElementsAre(HasSubstr("deposed primary")));
  evidence.options.max_age = std::chrono::seconds(1);
  evidence.audited.operations[0][static_cast<size_t>(Outcome::kRefused)] = 12;
  evidence.audited.replica_gets = 49'999;
  EXPECT_THAT(Decide(evidence).missing, ElementsAre(HasSubstr("50,000 GETs of any replica")));
  evidence.audited.replica_gets = 50'000;
  const Verdict verdict = Decide(evidence);
  EXPECT_EQ(verdict.exit_status(), 0);
  EXPECT_THAT(VerdictText(evidence, verdict),
              HasSubstr("50,000 GETs READ one, none of them was stale; 12 ended without one"));
  evidence.audited.stale_gets = 3;
  EXPECT_THAT(VerdictText(evidence, verdict), HasSubstr("3 of them were stale"));
  const auto json = nlohmann::json::parse(VerdictJson(evidence, verdict));
  EXPECT_EQ(json["options"]["read_from"], "any-replica");
  EXPECT_EQ(json["counts"]["replica_gets_stale"], 3);
  EXPECT_EQ(json["counts"]["gets_refused"], 12);
}

TEST(SearchResult, TransactionsAreToldAndMustBeMany) {
  Evidence evidence = Enough();
  evidence.audited.transactions = {.snapshots = 1000, .commits = 1000, .conflicts = 20};
  EXPECT_THAT(VerdictText(evidence, Decide(evidence)), Not(HasSubstr("transactions")));
  evidence.options.transactions = true;
  const Verdict verdict = Decide(evidence);
  EXPECT_EQ(verdict.exit_status(), 0);
  EXPECT_THAT(VerdictText(evidence, verdict),
              HasSubstr("transactions     1,000 commits, 20 conflicts, 1,000 snapshots, 0 GETs"));
  evidence.audited.transactions.snapshots = 999;
  EXPECT_THAT(Decide(evidence).missing, ElementsAre(HasSubstr("999 snapshots were seen")));
  evidence.audited.transactions.conflicts = 19;
  evidence.audited.transactions.commits = 999;
  EXPECT_EQ(Decide(evidence).missing.size(), 3);
}

TEST(SearchResult, TransactionsThatContradictEachOtherAreShownAndSaved) {
  Evidence evidence = Enough();
  evidence.options.transactions = true;
  evidence.audited.violations = evidence.audited.transactions.violations = 1;
  evidence.audited.transactions.found = {
      {.reason = "a reason",
       .instant = 40,
       .records = {Committed(10, 20, 5, {If(3, 0), Puts(1, MakeValueId(2, 7)), Deletes(2)}),
                   Snapshot(30, 40, {Found(2, MakeValueId(1, 1), 4), NotFound(1)})}}};
  const Verdict verdict = Decide(evidence);
  EXPECT_EQ(verdict.exit_status(), 1);
  const std::string text = VerdictText(evidence, verdict);
  EXPECT_THAT(text, HasSubstr("transactions: a reason, at 40 ns\nbefore: anything\n"));
  EXPECT_THAT(text, HasSubstr("COMMIT if k3 absent: k1 := p2#7, k2 deleted ok, from version 5\n"));
  EXPECT_THAT(text, HasSubstr("k2 = p1#1 at 4, k1 absent\n"));
  EXPECT_THAT(VerdictPage(evidence, verdict), HasSubstr("a reason"));
  const test::TemporaryFolder folder;
  evidence.options.json = folder.path() + "/v.json";
  const auto saved = Save(evidence, verdict);
  ASSERT_TRUE(saved) << saved.error().message;
  EXPECT_THAT(*saved, ElementsAre(HasSubstr("v.json"), HasSubstr("v.transaction1.txt"),
                                  HasSubstr("v.transaction1.json")));
  const auto json = nlohmann::json::parse(VerdictJson(evidence, verdict));
  EXPECT_EQ(json["transactions"]["findings"][0]["operations"].size(), 2);
  EXPECT_EQ(json["counts"]["violations"], 1);
}

TEST(SearchResult, AnOldGetIsShownAsItWasChecked) {
  Evidence evidence = Enough();
  evidence.options.max_age = std::chrono::milliseconds(20);
  evidence.audited.violations = 1;
  evidence.audited.found = {Stale()};
  const Verdict verdict = Decide(evidence);
  ASSERT_EQ(verdict.findings.size(), 1);
  EXPECT_THAT(Timeline(verdict.findings[0]), HasSubstr("as begun 20000 us earlier (--max-age)"));
}

TEST(SearchResult, AViolationIsShownAndSaved) {
  const test::TemporaryFolder folder;
  Evidence evidence = Enough();
  evidence.server = {};  // a violation counts although too little was done
  evidence.options.json = folder.path() + "/v.json";
  evidence.options.html = folder.path() + "/v.html";
  evidence.audited.violations = 1;
  evidence.audited.found = {Stale()};
  const Verdict verdict = Decide(evidence);
  EXPECT_EQ(verdict.exit_status(), 1);
  ASSERT_EQ(verdict.findings.size(), 1);
  EXPECT_TRUE(verdict.findings[0].is_minimal);
  EXPECT_THAT(VerdictText(evidence, verdict), HasSubstr(Timeline(verdict.findings[0])));

  const auto saved = Save(evidence, verdict);
  ASSERT_TRUE(saved);
  const std::string base = folder.path() + "/v";
  EXPECT_THAT(*saved, ElementsAre(base + ".json", base + ".html", base + ".key7.txt",
                                  base + ".key7.json", base + ".key7.edn"));
  const auto json = nlohmann::json::parse(Read(base + ".json"));
  EXPECT_EQ(json["verdict"], "violation");
  EXPECT_EQ(json["exit_status"], 1);
  EXPECT_EQ(json["findings"],
            nlohmann::json::array({nlohmann::json::parse(Read(base + ".key7.json"))}));
  EXPECT_THAT(Read(base + ".key7.edn"), HasSubstr(":type :invoke"));
  EXPECT_THAT(Read(base + ".html"), HasSubstr("op wrong"));
  EXPECT_THAT(Read(base + ".html"), HasSubstr("VIOLATION"));
}

TEST(SearchResult, LiesDeathsAndCorruptionAreViolations) {
  Evidence wrong = Enough();
  wrong.wrongs = {"the server ended: signal 11"};
  Evidence corrupt = Enough();
  corrupt.counts[IndexOf(Code::kCorrupt)] = 2;
  for (const Evidence& evidence : {wrong, corrupt}) {
    const Verdict verdict = Decide(evidence);
    EXPECT_EQ(verdict.exit_status(), 1);
    ASSERT_EQ(verdict.wrongs.size(), 1);
    EXPECT_THAT(VerdictText(evidence, verdict), HasSubstr("WRONG: " + verdict.wrongs[0]));
  }
}

TEST(SearchResult, SavesNothingThatIsNotAskedFor) {
  const auto saved = Save(Enough(), Decide(Enough()));
  ASSERT_TRUE(saved);
  EXPECT_THAT(*saved, IsEmpty());
}

TEST(ServerTally, SumsLivesAndLeavesOutWhatWasBefore) {
  ServerTally tally;
  const std::vector<std::string> shards = {"displacements 10\ngrowths 1\nrecords_used_bytes 70\n",
                                           "displacements 5\nrecords_used_bytes 30\n"};
  tally.BeginAt(ReadServerCounts(shards));
  tally.Observe({.displacements = 20, .growths = 4, .record_memory_bytes = 90});
  EXPECT_EQ(tally.sum().displacements, 5);
  tally.EndLife();
  tally.Observe({.displacements = 2, .growths = 1, .record_memory_bytes = 7});
  EXPECT_EQ(tally.sum().displacements, 7);
  EXPECT_EQ(tally.sum().growths, 4);
  EXPECT_EQ(tally.sum().record_memory_bytes, 107);  // what each life had at most
}

}  // namespace
}  // namespace plov::torture
