// What people and other programs read, to the byte.
#include "torture/report.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string_view>

#include "tests/torture/operations.h"

namespace plov::torture {
namespace {

Operation By(uint32_t process, Operation operation) {
  operation.process = process;
  return operation;
}

// One of each kind of thing that a report has to say.
Finding Example() {
  const ValueId first = MakeValueId(0, 1), second = MakeValueId(1, 7), third = MakeValueId(2, 1);
  Finding finding;
  finding.key = 42;
  finding.reason = "no order of the operations explains what they came to";
  finding.instant = 70;
  finding.is_minimal = true;
  finding.history = {
      By(0, Put(10, 20, first, 5)),
      By(1, Unknown(Put(15, 0, second, 0))),
      By(2, Hit(30, 40, second, 6)),
      By(0, Exists(35, 45, MakeValueId(0, 2))),
      By(2, Over(6, Put(50, 55, third, 8))),
      By(kBefore, Unknown(Deletes(0, 0))),
      By(3, Miss(60, 70)),
  };
  return finding;
}

// A raw literal that begins on a line of its own, so that it stands as it is shown.
std::string_view Lines(std::string_view raw) { return raw.substr(1); }

TEST(Report, Timeline) {
  EXPECT_EQ(Timeline(Example()), Lines(R"(
key 42: no order of the operations explains what they came to, at 70 ns
before: absent
  |~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~~> 0..        before DELETE               unknown
     |-----|                            10..20     p0   PUT p0#1             ok, version 5
        |~~~~~~~~~~~~~~~~~~~~~~~~~~~~~> 15..       p1   PUT p1#7             unknown
              |-----|                   30..40     p2   GET                  p1#7, version 6
                 |-----|                35..45     p0   ADD p0#2             exists
                          |--|          50..55     p2   PUT-IF p2#1 over 6   ok, version 8
                                |--|    60..70     p3   GET                  absent
)"));
}

// The violation's neighbours are what is shown, in as many lines as there may be.
TEST(Report, ATimelineCanBeCutToThoseNearestToTheViolation) {
  Finding finding = Example();
  finding.instant = 40;
  const std::string text = Timeline(finding, 3);
  EXPECT_EQ(std::ranges::count(text, '\n'), 2 + 3 + 1);
  EXPECT_NE(text.find("PUT p1#7"), std::string::npos);
  EXPECT_NE(text.find("GET                  p1#7"), std::string::npos);
  EXPECT_NE(text.find("ADD p0#2"), std::string::npos);
  EXPECT_NE(text.find("(3 of 7 operations; the file has all)"), std::string::npos);
}

constexpr std::string_view kExampleJson = R"(
{
  "key": 42,
  "reason": "no order of the operations explains what they came to",
  "instant": 70,
  "initial": "absent",
  "minimal": true,
  "operations": [
    {
      "process": "before",
      "kind": "DELETE",
      "start": 0,
      "end": null,
      "outcome": "unknown"
    },
    {
      "process": "p0",
      "kind": "PUT",
      "start": 10,
      "end": 20,
      "outcome": "ok",
      "value": "p0#1",
      "version": 5
    },
    {
      "process": "p1",
      "kind": "PUT",
      "start": 15,
      "end": null,
      "outcome": "unknown",
      "value": "p1#7"
    },
    {
      "process": "p2",
      "kind": "GET",
      "start": 30,
      "end": 40,
      "outcome": "ok",
      "value": "p1#7",
      "version": 6
    },
    {
      "process": "p0",
      "kind": "ADD",
      "start": 35,
      "end": 45,
      "outcome": "exists",
      "value": "p0#2"
    },
    {
      "process": "p2",
      "kind": "PUT-IF",
      "start": 50,
      "end": 55,
      "outcome": "ok",
      "value": "p2#1",
      "version": 8,
      "expected": 6
    },
    {
      "process": "p3",
      "kind": "GET",
      "start": 60,
      "end": 70,
      "outcome": "absent"
    }
  ]
}
)";

TEST(Report, Json) {
  EXPECT_EQ(Json(Example()), Lines(kExampleJson));
  EXPECT_TRUE(nlohmann::json::accept(Json(Example())));
}

TEST(Report, Edn) {
  EXPECT_EQ(Edn(Example()),
            "{:index 0, :time 0, :process 0, :type :invoke, :f :write, :value :absent, :kind "
            "\"DELETE\", :client 16777215}\n"
            "{:index 1, :time 10, :process 1, :type :invoke, :f :write, :value 1, :kind \"PUT\", "
            ":client 0}\n"
            "{:index 2, :time 15, :process 2, :type :invoke, :f :write, :value 1099511627783, "
            ":kind \"PUT\", :client 1}\n"
            "{:index 3, :time 20, :process 1, :type :ok, :f :write, :value 1, :kind \"PUT\", "
            ":client 0, :version 5}\n"
            "{:index 4, :time 30, :process 1, :type :invoke, :f :read, :value nil, :kind "
            "\"GET\", :client 2}\n"
            "{:index 5, :time 35, :process 3, :type :invoke, :f :cas, :value [:absent 2], :kind "
            "\"ADD\", :client 0}\n"
            "{:index 6, :time 40, :process 1, :type :ok, :f :read, :value 1099511627783, :kind "
            "\"GET\", :client 2, :version 6}\n"
            "{:index 7, :time 45, :process 3, :type :fail, :f :cas, :value [:absent 2], :kind "
            "\"ADD\", :client 0}\n"
            "{:index 8, :time 50, :process 1, :type :invoke, :f :cas, :value [1099511627783 "
            "2199023255553], :kind \"PUT-IF\", :client 2, :expected 6}\n"
            "{:index 9, :time 55, :process 1, :type :ok, :f :cas, :value [1099511627783 "
            "2199023255553], :kind \"PUT-IF\", :client 2, :version 8, :expected 6}\n"
            "{:index 10, :time 60, :process 1, :type :invoke, :f :read, :value nil, :kind "
            "\"GET\", :client 3}\n"
            "{:index 11, :time 70, :process 1, :type :ok, :f :read, :value :absent, :kind "
            "\"GET\", :client 3}\n"
            "{:index 12, :time 70, :process 0, :type :info, :f :write, :value :absent, :kind "
            "\"DELETE\", :client 16777215}\n"
            "{:index 13, :time 70, :process 2, :type :info, :f :write, :value 1099511627783, "
            ":kind \"PUT\", :client 1}\n");
}

// What the register's model cannot say is left out: a foreign value, a version without a value.
TEST(Report, EdnOfWhatWasThereBefore) {
  Finding finding;
  finding.initial = Initial::kAnything;
  finding.history = {Hit(1, 2, kForeign, 9), Over(7, Put(3, 4, 1, 12)), Over(12, Deletes(5, 6))};
  EXPECT_EQ(Edn(finding),
            "{:index 0, :time 0, :process 0, :type :invoke, :f :write, :value :foreign, :kind "
            "\"PUT\", :client 16777215}\n"
            "{:index 1, :time 1, :process 1, :type :invoke, :f :read, :value nil, :kind \"GET\", "
            ":client 0}\n"
            "{:index 2, :time 2, :process 1, :type :ok, :f :read, :value :foreign, :kind "
            "\"GET\", :client 0, :version 9}\n"
            "{:index 3, :time 3, :process 1, :type :invoke, :f :write, :value 1, :kind "
            "\"PUT-IF\", :client 0, :expected 7}\n"
            "{:index 4, :time 4, :process 1, :type :ok, :f :write, :value 1, :kind \"PUT-IF\", "
            ":client 0, :version 12, :expected 7}\n"
            "{:index 5, :time 5, :process 1, :type :invoke, :f :cas, :value [1 :absent], :kind "
            "\"DELETE-IF\", :client 0, :expected 12}\n"
            "{:index 6, :time 6, :process 1, :type :ok, :f :cas, :value [1 :absent], :kind "
            "\"DELETE-IF\", :client 0, :expected 12}\n"
            "{:index 7, :time 6, :process 0, :type :info, :f :write, :value :foreign, :kind "
            "\"PUT\", :client 16777215}\n");
}

TEST(Report, EdnOperationsOfOneLaneDoNotOverlap) {
  Finding finding;
  for (Instant i = 0; i < 50; ++i) finding.history.push_back(Miss(i * 7 % 50, i * 7 % 50 + i % 9));
  finding.history.push_back(Unknown(Deletes(3, 4)));
  std::map<std::string, std::string> open;  // by process, what it is doing
  std::istringstream lines(Edn(finding));
  for (std::string line; std::getline(lines, line);) {
    const size_t begin = line.find(":process");
    const auto process = line.substr(begin, line.find(", :type") - begin);
    if (line.find(":invoke") != std::string::npos) {
      EXPECT_TRUE(open.emplace(process, line).second) << line;
    } else {
      EXPECT_EQ(open.erase(process), 1u) << line;
    }
  }
  EXPECT_TRUE(open.empty());
}

// As a killed process may leave them in memory.
TEST(Report, WhatContradictsItselfIsShown) {
  Finding finding;
  finding.history = {Put(9, 2, 1, 10), Done(static_cast<Kind>(99), 3, 4),
                     Hit(-5, 6, MakeValueId(1, 2), 7),
                     Done(Kind::kPut, 8, 8, static_cast<Outcome>(99))};
  EXPECT_EQ(Timeline(finding), Lines(R"(
key 0: , at 0 ns
before: absent
  |-----------|          -5..6      p0   GET                  p1#2, version 7
        |--|             3..4       p0   ?                    ok
                 |       8..8       p0   PUT foreign          ?
                    |    9..2       p0   PUT p0#1             ok, version 10
)"));
  EXPECT_TRUE(nlohmann::json::accept(Json(finding)));
  const std::string edn = Edn(finding);
  EXPECT_LT(edn.find(":index 6, :time 9, :process 0, :type :invoke"),
            edn.find(":index 7, :time 9, :process 0, :type :ok"));
}

TEST(Report, FilesAreWrittenWholeOrNot) {
  const std::string path = ::testing::TempDir() + "plov_report_test.json";
  ASSERT_TRUE(WriteFile(path, Json(Example())));
  std::stringstream text;
  text << std::ifstream(path).rdbuf();
  EXPECT_EQ(text.str(), Json(Example()));
  EXPECT_EQ(WriteFile("/nonexistent/x", "").error().code, Code::kSystem);
}

}  // namespace
}  // namespace plov::torture
