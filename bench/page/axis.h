// Axis: where values stand on one side of a plot, and which of them are named there.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace plov::bench {

enum class Scale : uint8_t {
  kLinear,  // from 0, or from the least value below it
  kLog,     // values over 0
  kNines,   // parts of all, from 0 to less than 1: 0.9, 0.99 and 0.999 are equally far apart, as
            // HdrHistogram plots percentiles
};

enum class Unit : uint8_t {
  kNumber,  // named in thousands: 20 k, 1.5 M
  kBytes,   // named in powers of two: 64 B, 4 KiB
};

struct Axis {
  std::string label;
  Scale scale = Scale::kLinear;
  Unit unit = Unit::kNumber;
};

// Whether a value can stand on such an axis.
bool Fits(Scale scale, double value);

struct Tick {
  double part = 0;  // of the axis' length, from its low end
  std::string label;
};

// An axis that reaches over the values from `least` to `most`, which fit it.
class Ruler {
 public:
  Ruler(const Axis& axis, double least, double most);

  double PartOf(double value) const;  // 0 at the low end, 1 at the high end
  const std::vector<Tick>& ticks() const { return ticks_; }

 private:
  double Position(double value) const;
  void AddTick(double value, std::string label);
  void MarkLinear(double least, double most);
  void MarkLog(double least, double most);
  void MarkNines(double most);

  Axis axis_;
  double low_ = 0;  // positions of the ends
  double high_ = 1;
  std::vector<Tick> ticks_;
};

}  // namespace plov::bench
