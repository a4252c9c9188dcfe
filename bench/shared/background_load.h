// BackgroundLoad: which rounds other work of the machine disturbed.
//
// A loop that takes the same work each time runs on all processors at once, before the first round and after each.
// Where something else wants a processor, one of the loops waits for it, and takes longer than at its best.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "program/json.h"

namespace plov::bench {

class BackgroundLoad {
 public:
  // Measures after a round, some 20 ms. counts: false after a warm-up, or before the first round where there is none.
  void EndRound(bool counts);

  // Of each round: how many times as long as at their best the loops before and after it took, whichever was slower.
  std::vector<double> Slowdowns() const;
  // "no other work disturbed a round", or which ones it did.
  std::string Text() const { return TextOf(Slowdowns()); }
  static std::string TextOf(const std::vector<double>& slowdowns);

 private:
  double Measure();

  double best_seconds_ = 0;      // a loop's own time on its processor, the least so far
  std::vector<double> seconds_;  // the slowest loop before the first round, and after each
};

void to_json(program::Json& json, const BackgroundLoad& load);

}  // namespace plov::bench
