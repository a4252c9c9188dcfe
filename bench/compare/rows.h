// Rows of a comparison: its rates beside the goals, and what is no ratio of rates.
//
// Threads: as program::Process, the main thread.
#pragma once

#include <chrono>
#include <expected>
#include <string>
#include <string_view>
#include <vector>

#include "bench/compare/study.h"
#include "bench/peers/plov.h"
#include "program/process.h"

namespace plov::bench {

// The number after `name` in the text of a server's statistics; 0 where there is none.
uint64_t StatOf(std::string_view stats, std::string_view name);

// "1.23 M (1.20..1.30)".
std::string Spread(const Sample& sample);

// "reached", "missed by 12 %", "skipped: redis is not installed".
std::string VerdictOf(const GoalRow& row);

// Whether the goal is reached. Needs a row that is measured.
bool IsReached(const GoalRow& row);

// "5 of 7 goals reached", of those that were measured.
std::string ReachedOf(const std::vector<GoalRow>& goals);

// The figures of both sides stand in it as texts.
Table TableOf(const std::vector<GoalRow>& goals);
program::Json JsonOf(const GoalRow& row);

// Adds a row for each goal that is a ratio of rates.
void AddRateGoals(Comparison* comparison);

// Of a server whose clients get: its CPU time meanwhile, what they get while it is stopped, and its
// CPU time when nobody asks. Errors: GETs that fail while it runs.
std::expected<std::vector<GoalRow>, Error> ServerFacts(program::Process* server, Plov* cold,
                                                       Plov* known,
                                                       const CompareSettings& settings);

// The CPU time of a server that nobody asks. Errors: it has ended.
std::expected<GoalRow, Error> CpuWhenIdle(const program::Process& server,
                                          std::chrono::seconds duration);

// READs, of small servers of their own whose tables are filled to 75 %. `folder`: theirs.
std::expected<std::vector<GoalRow>, Error> ReadFacts(const std::string& plovd,
                                                     const std::string& folder);

// How full a table of so many buckets can be before a PUT needs it to grow, in percent. kSystem: no
// memory for it.
std::expected<double, Error> FillOfTable(uint64_t buckets, uint64_t seed);
GoalRow FillFact();

// GETs over an RDMA device beside perftest, where there is one.
GoalRow WireFact(const CompareSettings& settings);

}  // namespace plov::bench
