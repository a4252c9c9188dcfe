// Samples: numbers of a program that has no shards, as it hands them to the exporter.
#pragma once

#include <string>
#include <vector>

namespace plov::metrics {

struct Sample {
  std::string label;  // its value; empty: the family has one number
  double value = 0;
};

struct SampleFamily {
  std::string name;  // as Prometheus has it, with its unit and `_total`
  std::string help;
  bool only_grows = true;
  std::string label;  // what its samples differ in
  std::vector<Sample> samples;
};

}  // namespace plov::metrics
