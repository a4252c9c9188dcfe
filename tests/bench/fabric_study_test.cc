// What a study of a fabric shows.

#include <gtest/gtest.h>

#include "bench/fabric/study.h"

namespace plov::bench {
namespace {

TEST(FabricStudy, TheVerdictIsALineOfTheText) {
  FabricStudy study;
  study.raw.push_back({.bytes = 64, .per_second = {}, .typical_us = {}, .p99_us = {}});
  study.gets.emplace_back();
  study.gets[0].part.Add(kGoal);
  EXPECT_NE(TextOf(PageOf(study)).find("\ngoal: at least 0.90 with many in flight: reached\n"),
            std::string::npos);
  study.gets.emplace_back();
  study.gets[1].part.Add(kGoal - 0.01);
  EXPECT_NE(TextOf(PageOf(study)).find("\ngoal: at least 0.90 with many in flight: MISSED\n"),
            std::string::npos);
}

}  // namespace
}  // namespace plov::bench
