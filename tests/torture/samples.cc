// Reports of generated histories, for formats.py to read: one JSON object per line,
//
//   {"right": whether the history is, "report": Json()'s text, "edn": Edn()'s text}
//
//   samples [COUNT]      (400)
#include <cstdio>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <string>

#include "tests/torture/edits.h"
#include "tests/torture/generate.h"
#include "torture/interval_checker.h"
#include "torture/report.h"
#include "torture/shrink.h"

namespace {

using namespace plov::torture;

void Print(const Finding& finding, bool right) {
  const nlohmann::ordered_json line = {
      {"right", right}, {"report", Json(finding)}, {"edn", Edn(finding)}};
  std::printf("%s\n", line.dump().c_str());
}

// A right history, and what some of its wrong edits shrink to.
void PrintOf(uint64_t seed) {
  Random random(seed);
  Shape shape = RandomShape(&random);
  shape.operations = 4 + static_cast<uint32_t>(Below(&random, 8));
  const Initial initial = InitialOf(shape);
  Finding finding;
  finding.key = seed;
  finding.reason = "\"quoted\\ \xc3\xa9\" and\na line more";
  finding.initial = initial;
  finding.history = GoodHistory(shape, &random);
  Print(finding, true);
  ForEachEdit(finding.history, [&](const std::vector<Operation>& edited, const char* name) {
    if (!Chance(&random, 2) || !ExpectsWhatIsTold(edited)) return;
    if (CheckIntervals(edited, initial) != SearchResult::kBad) return;
    Finding wrong = finding;
    wrong.reason = name;
    wrong.is_minimal = true;
    wrong.history = Shrink(edited, initial);
    Print(wrong, false);
  });
}

}  // namespace

int main(int argc, char** argv) {
  const uint64_t count = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 400;
  for (uint64_t seed = 0; seed < count; ++seed) PrintOf(seed + 6'000'000);
  return 0;
}
