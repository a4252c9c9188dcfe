// Progress: a line on the terminal that says how far a load is.
#pragma once

#include <chrono>
#include <cstdint>

namespace plov::program {

// Shows nothing when standard error is not a terminal.
class Progress {
 public:
  Progress();

  // At most twice a second.
  void Show(uint64_t items, uint64_t bytes);
  void Show(uint64_t bytes);

  // Makes room for other lines.
  void Clear();

  double seconds() const;  // since the beginning, never 0

 private:
  using Clock = std::chrono::steady_clock;

  bool IsDue();

  bool on_;
  bool shown_ = false;
  Clock::time_point start_;
  Clock::time_point next_;
};

}  // namespace plov::program
