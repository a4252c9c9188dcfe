#include "program/progress.h"

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>

#include "program/format.h"

namespace plov::program {

namespace {

constexpr std::chrono::milliseconds kInterval{500};

}  // namespace

Progress::Progress()
    : on_(::isatty(STDERR_FILENO) == 1), start_(Clock::now()), next_(start_ + kInterval) {}

double Progress::seconds() const {
  const std::chrono::duration<double> passed = Clock::now() - start_;
  return std::max(passed.count(), 1e-9);
}

bool Progress::IsDue() {
  if (!on_ || Clock::now() < next_) return false;
  next_ = Clock::now() + kInterval;
  shown_ = true;
  return true;
}

void Progress::Show(uint64_t bytes) {
  if (!IsDue()) return;
  const auto rate = static_cast<uint64_t>(static_cast<double>(bytes) / seconds());
  fmt::print(stderr, "\r\033[K{}, {}/s", Bytes(bytes), Bytes(rate));
}

void Progress::Show(uint64_t items, uint64_t bytes) {
  if (!IsDue()) return;
  const auto rate = static_cast<uint64_t>(static_cast<double>(items) / seconds());
  fmt::print(stderr, "\r\033[K{} items, {}, {}/s", Grouped(items), Bytes(bytes), Grouped(rate));
}

void Progress::Clear() {
  if (shown_) fmt::print(stderr, "\r\033[K");
  shown_ = false;
}

}  // namespace plov::program
