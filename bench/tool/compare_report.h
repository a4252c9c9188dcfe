// What a comparison comes to: its rates beside the goals.
#pragma once

#include <string>
#include <string_view>

#include "bench/page/chart.h"
#include "bench/tool/compare_study.h"

namespace plov::bench {

// The number after `name` in the text of a server's statistics; 0 where there is none.
uint64_t StatOf(std::string_view stats, std::string_view name);

// "1.23 M (1.20..1.30)".
std::string Spread(const Sample& sample);

// "reached", "missed by 12 %", "skipped: redis is not installed".
std::string VerdictOf(const GoalRow& row);

// Whether the goal is reached. Needs a row that is measured.
bool IsReached(const GoalRow& row);

// A row for a fact, without what was measured.
GoalRow RowOf(const FactGoal& goal);

// How far each goal that is a least amount is reached.
Chart ChartOf(const Comparison& comparison);

// Adds a row for each goal that is a ratio of rates.
void AddRateGoals(Comparison* comparison);

}  // namespace plov::bench
