#include "bench/page/axis.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "bench/page/number.h"

namespace plov::bench {

namespace {

constexpr int kTicks = 5;          // about
constexpr int kLongLabelsMax = 6;  // of percentiles, which are long
constexpr int kPowersMax = 10;

// The next 1, 2 or 5 times a power of ten, as the distance of the ticks.
double StepOf(double range) {
  if (range <= 0) return 1;
  const double rough = range / kTicks;
  const double power = std::pow(10, std::floor(std::log10(rough)));
  for (const double step : {1.0, 2.0, 5.0}) {
    if (step * power >= rough) return step * power;
  }
  return 10 * power;
}

std::string NameOf(Unit unit, double value) {
  return unit == Unit::kBytes ? CompactBytes(value) : Compact(value);
}

// 0%, 90%, 99%, 99.9%, ...
std::string PercentOfNines(int nines) {
  if (nines == 0) return "0%";
  if (nines == 1) return "90%";
  return "99" + (nines > 2 ? "." + std::string(static_cast<size_t>(nines - 2), '9') : "") + "%";
}

}  // namespace

bool Fits(Scale scale, double value) {
  if (!std::isfinite(value)) return false;
  switch (scale) {
    case Scale::kLinear:
      return true;
    case Scale::kLog:
      return value > 0;
    case Scale::kNines:
      return value >= 0 && value < 1;
  }
  return false;
}

Ruler::Ruler(const Axis& axis, double least, double most) : axis_(axis) {
  switch (axis.scale) {
    case Scale::kLinear:
      MarkLinear(least, most);
      break;
    case Scale::kLog:
      MarkLog(least, most);
      break;
    case Scale::kNines:
      MarkNines(most);
      break;
  }
}

double Ruler::Position(double value) const {
  switch (axis_.scale) {
    case Scale::kLinear:
      break;
    case Scale::kLog:
      return std::log10(value);
    case Scale::kNines:
      return -std::log10(1 - value);
  }
  return value;
}

double Ruler::PartOf(double value) const { return (Position(value) - low_) / (high_ - low_); }

void Ruler::AddTick(double value, std::string label) {
  ticks_.push_back({.part = PartOf(value), .label = std::move(label)});
}

void Ruler::MarkLinear(double least, double most) {
  least = std::min(least, 0.0);
  const double step = StepOf(most - least);
  const auto first = std::floor(least / step);
  const auto last = std::max(first + 1, std::ceil(most / step));
  low_ = first * step;
  high_ = last * step;
  for (double at = first; at <= last; ++at) AddTick(at * step, NameOf(axis_.unit, at * step));
}

// From power to power; where there are few of ten, their double and fivefold are marked, too.
void Ruler::MarkLog(double least, double most) {
  const double base = axis_.unit == Unit::kBytes ? 2 : 10;
  constexpr double kRounding = 1e-9;  // of a logarithm that is to be whole
  const auto first = static_cast<int>(std::floor(std::log(least) / std::log(base) + kRounding));
  const auto last =
      std::max(first + 1, static_cast<int>(std::ceil(std::log(most) / std::log(base) - kRounding)));
  low_ = first * std::log10(base);
  high_ = last * std::log10(base);
  const int stride = (last - first + kPowersMax - 1) / kPowersMax;
  const bool is_fine = axis_.unit == Unit::kNumber && last - first <= 2;
  for (int power = first; power <= last; power += stride) {
    const double value = std::pow(base, power);
    AddTick(value, NameOf(axis_.unit, value));
    if (!is_fine || power == last) continue;
    for (const double times : {2.0, 5.0}) AddTick(times * value, NameOf(axis_.unit, times * value));
  }
}

void Ruler::MarkNines(double most) {
  const auto last = std::max(2, static_cast<int>(std::ceil(Position(most))));
  high_ = last;
  const int stride = (last + kLongLabelsMax - 1) / kLongLabelsMax;
  for (int nines = 0; nines <= last; nines += stride) {
    AddTick(1 - std::pow(10, -nines), PercentOfNines(nines));
  }
}

}  // namespace plov::bench
