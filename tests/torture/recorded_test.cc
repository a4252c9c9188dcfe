// Histories that others recorded, from their texts to a verdict.

#include "torture/recorded.h"

#include <gtest/gtest.h>

#include "tests/torture/operations.h"
#include "torture/check_command.h"
#include "torture/report.h"

namespace plov::torture {
namespace {

Checked CheckEdn(std::string_view text) {
  const auto recorded = ParseEdnHistory(text);
  EXPECT_TRUE(recorded) << recorded.error().message;
  return recorded ? CheckRecorded(*recorded) : Checked();
}

// What the reader says is wrong with a text.
std::string Refusal(std::string_view text) {
  const auto recorded = text.starts_with("{\"") ? ParseJsonHistory(text) : ParseEdnHistory(text);
  return recorded ? "" : recorded.error().message;
}

TEST(Recorded, AHistoryOfJepsenPasses) {
  const Checked checked = CheckEdn(R"(
; what Jepsen writes, with all that may be in it
{:index 0, :time 10, :type :invoke, :process 0, :f :write, :value 3}
{:index 1, :time 12, :type :ok,     :process 0, :f :write, :value 3}
{:index 2, :time 13, :type :info,   :process :nemesis, :f :partition, :value [:n1 #{:n2 :n3}]}
#jepsen.history.Op{:type :invoke, :process 1, :f :read, :value nil, :at #inst "2020-01-01"}
{:type :ok, :process 1, :f :read, :value 3, :note "a \"quoted\" }"} #_{:type :nonsense}
)");
  EXPECT_EQ(checked.exit_status(), 0);
  EXPECT_EQ(checked.operations, 2U);
}

TEST(Recorded, AStaleReadIsAViolationAndIsShown) {
  const Checked checked = CheckEdn(R"([
{:type :invoke, :process 0, :f :put, :value "a"} {:type :ok, :process 0, :f :put, :value "a"}
{:type :invoke, :process 0, :f :put, :value "b"} {:type :ok, :process 0, :f :put, :value "b"}
{:type :invoke, :process 0, :f :put, :value "c"} {:type :ok, :process 0, :f :put, :value "c"}
{:type :invoke, :process 1, :f :get, :value nil} {:type :ok, :process 1, :f :get, :value "b"}
])");
  EXPECT_EQ(checked.exit_status(), 1);
  EXPECT_EQ(CheckedText(checked).substr(0, 68),
            "the register: no order explains line 5: p1 get → \"b\"\nbefore: absen");
  ASSERT_EQ(checked.findings.size(), 1U);
  EXPECT_LE(checked.findings[0].excerpt.rows.size(), 3U);
}

TEST(Recorded, KeysAreJudgedEachByItself) {
  const Checked checked = CheckEdn(R"(
{:type :invoke, :process 0, :f :write, :value [1 5]} {:type :ok, :process 0, :f :write, :value [1 5]}
{:type :invoke, :process 0, :f :read, :value [2 nil]} {:type :ok, :process 0, :f :read, :value [2 nil]}
{:type :invoke, :process 0, :f :cas, :value [1 [5 6]]} {:type :ok, :process 0, :f :cas, :value [1 [5 6]]}
{:type :invoke, :process 0, :f :read, :value [1 nil]} {:type :ok, :process 0, :f :read, :value [1 6]}
)");
  EXPECT_EQ(checked.exit_status(), 0);
  EXPECT_EQ(checked.keys, 2U);
}

constexpr std::string_view kWriteOne =
    "{:type :invoke, :process 0, :f :write, :value 1} {:type :ok, :process 0, :f :write, :value 1}";

TEST(Recorded, WhatFailedHasNotHappened) {
  const std::string begin = std::string(kWriteOne) +
                            "{:type :invoke, :process 1, :f :cas, :value [1 2]}"
                            "{:type :fail, :process 1, :f :cas, :value [1 2]}"
                            "{:type :invoke, :process 2, :f :read, :value nil}";
  EXPECT_EQ(CheckEdn(begin + "{:type :ok, :process 2, :f :read, :value 1}").exit_status(), 0);
  EXPECT_EQ(CheckEdn(begin + "{:type :ok, :process 2, :f :read, :value 2}").exit_status(), 1);
}

// An :info, and a process that ended without a word: seen late, or not at all, and not taken back.
TEST(Recorded, WhatHasNoEndStaysOpenForEver) {
  for (const char* crash : {"{:type :info, :process 1, :f :write, :value :timeout}", ""}) {
    const std::string begin =
        std::string(kWriteOne) + "{:type :invoke, :process 1, :f :write, :value 2}" + crash;
    const auto read = [](const char* value) {
      return std::string("{:type :invoke, :process 2, :f :read, :value nil}") +
             "{:type :ok, :process 2, :f :read, :value " + value + "}";
    };
    EXPECT_EQ(CheckEdn(begin + read("1") + read("1")).exit_status(), 0);
    EXPECT_EQ(CheckEdn(begin + read("1") + read("2")).exit_status(), 0);
    EXPECT_EQ(CheckEdn(begin + read("2") + read("1")).exit_status(), 1);
  }
}

TEST(Recorded, ADeletedRegisterIsAbsent) {
  const std::string begin = std::string(kWriteOne) +
                            "{:type :invoke, :process 0, :f :delete, :value nil}"
                            "{:type :ok, :process 0, :f :delete, :value nil}"
                            "{:type :invoke, :process 0, :f :read, :value nil}";
  EXPECT_EQ(CheckEdn(begin + "{:type :ok, :process 0, :f :read, :value nil}").exit_status(), 0);
  EXPECT_EQ(CheckEdn(begin + "{:type :ok, :process 0, :f :read, :value :absent}").exit_status(), 0);
  EXPECT_EQ(CheckEdn(begin + "{:type :ok, :process 0, :f :read, :value 1}").exit_status(), 1);
}

constexpr std::string_view kKill = "{:type :info, :process :nemesis, :f :kill, :value nil}";

// Exit statuses of strict, acked and async.
std::string StatusesOf(const std::expected<Recorded, Error>& recorded) {
  std::string statuses;
  for (const Commit commit : {Commit::kStrict, Commit::kAcked, Commit::kAsync}) {
    statuses += recorded ? std::to_string(CheckRecorded(*recorded, commit).exit_status()) : "?";
  }
  return statuses;
}

TEST(Recorded, AKillLosesWhatTheModeLets) {
  const auto read = [](const char* value) {
    return std::string("{:type :invoke, :process 2, :f :read, :value nil}") +
           "{:type :ok, :process 2, :f :read, :value " + value + "}";
  };
  const std::string acknowledged = std::string(kWriteOne);
  const std::string open = "{:type :invoke, :process 1, :f :write, :value 1}";
  const std::string kill(kKill);
  EXPECT_EQ(StatusesOf(ParseEdnHistory(acknowledged + kill + read("1"))), "000");
  EXPECT_EQ(StatusesOf(ParseEdnHistory(acknowledged + kill + read("nil"))), "110");
  EXPECT_EQ(StatusesOf(ParseEdnHistory(open + read("1") + kill + read("nil"))), "100");
  EXPECT_EQ(StatusesOf(ParseEdnHistory(open + read("1") + kill + read("nil") + read("1"))), "111");
  EXPECT_EQ(StatusesOf(ParseEdnHistory(acknowledged + read("nil") + kill)), "111");
  const Checked checked = CheckEdn(open + read("1") + kill + read("nil"));
  EXPECT_EQ(
      CheckedText(checked).substr(0, 90),
      "the register: read, then lost: returned by a GET, then gone after a kill, line 1: p2 read ");
  EXPECT_NE(CheckedText(checked).find("KILL"), std::string::npos);
}

TEST(Recorded, OurOwnHistoriesCarryTheirKills) {
  Finding finding;
  finding.history = {Put(10, 20, MakeValueId(1, 1), 5), Unknown(Put(30, 0, MakeValueId(2, 1), 0)),
                     Hit(40, 50, MakeValueId(2, 1), 7), Hit(110, 120, MakeValueId(1, 1), 5)};
  finding.restarts = {{100, 0}};
  finding.commit = Commit::kAcked;
  const auto own = ParseJsonHistory(Json(finding));
  ASSERT_TRUE(own) << own.error().message;
  EXPECT_EQ(own->keys[0].commit, Commit::kAcked);
  EXPECT_EQ(own->keys[0].restarts, finding.restarts);
  EXPECT_EQ(CheckRecorded(*own).exit_status(), 0);
  EXPECT_EQ(StatusesOf(own), "100");
  EXPECT_EQ(StatusesOf(ParseEdnHistory(Edn(finding))), "100");
  finding.restarts = {{100, 8}};  // a later version of another key
  EXPECT_EQ(StatusesOf(ParseJsonHistory(Json(finding))), "111");
  EXPECT_EQ(Refusal("{\"operations\": [], \"commit\": \"some\"}"),
            "1: \"commit\" is strict, acked or async");
  EXPECT_EQ(Refusal("{\"operations\": [], \"kills\": [{}]}"),
            "1: \"restart\" is a number of nanoseconds");
  EXPECT_EQ(Refusal("{\"operations\": [], \"kills\": 5}"), "1: \"kills\" is a list");
}

TEST(Recorded, NothingIsTooLittle) { EXPECT_EQ(CheckEdn("").exit_status(), 4); }

TEST(Recorded, WhatIsMalformedIsRefusedWithItsLine) {
  EXPECT_EQ(Refusal("\n{:type :invoke"), "2: the file ends within what line 2 opens");
  EXPECT_EQ(Refusal("{:type :invoke, :process 0, :f}"), "1: a map has a key without a value");
  EXPECT_EQ(Refusal("\n\n]"), "3: there is nothing that ']' closes");
  EXPECT_EQ(Refusal("{:a \"b}"), "1: a string has no end");
  EXPECT_EQ(Refusal(std::string(1'000, '[')), "1: values are nested too deep");
  EXPECT_EQ(Refusal("5"), "1: an operation is a map");
  EXPECT_EQ(Refusal("\n{:process 0}"), "2: an operation has :type, :process and :f");
  EXPECT_EQ(Refusal("{:type :invoke, :process 0, :f :append}"),
            "1: :f is :read, :write, :cas, :get, :put or :delete, not :append");
  EXPECT_EQ(Refusal("{:type :done, :process 0, :f :read}"),
            "1: :type is :invoke, :ok, :fail or :info, not :done");
  EXPECT_EQ(Refusal("{:type :invoke, :process 0, :f :cas, :value 5}"),
            "1: a :cas has the :value [expected new]");
  EXPECT_EQ(Refusal("{:type :ok, :process 0, :f :read}"),
            "1: process 0 ends what it has not begun");
  EXPECT_EQ(Refusal("{:type :invoke, :process 0, :f :read}\n{:type :invoke, :process 0, :f :read}"),
            "2: process 0 begins an operation before that of line 1 has ended");
  EXPECT_EQ(Refusal("{:type :invoke, :process 0, :f :read}\n{:type :ok, :process 0, :f :write}"),
            "2: process 0 ends another :f than it began in line 1");
  EXPECT_EQ(Refusal("{\"key\": 1}"), "1: a history is an object with a list \"operations\"");
  EXPECT_EQ(Refusal("{\"operations\": [\n{\"kind\": \"EAT\"}]}"),
            "2: \"kind\" is GET, PUT, ADD, REPLACE, PUT-IF, DELETE or DELETE-IF");
}

Finding StaleFinding() {
  Finding finding;
  finding.key = 7;
  finding.history = {Put(10, 20, MakeValueId(0, 1), 5), Put(30, 40, MakeValueId(0, 2), 6),
                     Hit(50, 60, MakeValueId(0, 1), 5)};
  return finding;
}

// What this tool writes it reads, in either notation, and finds the same in it.
TEST(Recorded, OurOwnReportsAreJudgedAlike) {
  Finding finding = StaleFinding();
  for (const int status : {1, 0}) {
    for (const auto& recorded : {ParseJsonHistory(Json(finding)), ParseEdnHistory(Edn(finding))}) {
      ASSERT_TRUE(recorded) << recorded.error().message;
      EXPECT_EQ(CheckRecorded(*recorded).exit_status(), status);
    }
    finding.history.pop_back();
  }
}

TEST(Recorded, JsonOfAStoreWithoutVersionsIsJudgedByValues) {
  const std::string begin = R"({"operations": [
    {"process": "a", "kind": "PUT", "start": 0, "end": 1, "outcome": "ok", "value": "x"},
    {"process": "a", "kind": "PUT-IF", "start": 2, "end": 3, "outcome": "ok", "value": 5, "expected": "x"},
    {"process": "b", "kind": "DELETE", "start": 4, "end": null, "outcome": "unknown"},
    {"process": "a", "kind": "ADD", "start": 5, "end": 6, "outcome": "exists", "value": "y"},)";
  const auto check = [&](const char* outcome) {
    const auto recorded = ParseJsonHistory(
        begin + R"({"process": "a", "kind": "GET", "start": 7, "end": 8, "outcome": )" + outcome +
        "}]}");
    EXPECT_TRUE(recorded) << recorded.error().message;
    return recorded ? CheckRecorded(*recorded).exit_status() : 0;
  };
  EXPECT_EQ(check(R"("ok", "value": 5)"), 0);
  EXPECT_EQ(check(R"("absent")"), 0);
  EXPECT_EQ(check(R"("ok", "value": "x")"), 1);
}

TEST(Excerpt, APageStandsAlone) {
  Excerpt excerpt = ExcerptOf(StaleFinding());
  excerpt.rows[0].call = "PUT <b>&\"";
  const std::string page = TimelinePage("a < b", {}, std::vector{excerpt});
  EXPECT_NE(page.find("<title>a &lt; b</title>"), std::string::npos);
  EXPECT_NE(page.find("PUT &lt;b&gt;&amp;&quot;"), std::string::npos);
  EXPECT_EQ(page.find("<b>"), std::string::npos);
  EXPECT_EQ(page.find("http"), std::string::npos);
  EXPECT_EQ(page.find("src="), std::string::npos);
  EXPECT_NE(page.find("class=\"op wrong\""), std::string::npos);
}

}  // namespace
}  // namespace plov::torture
