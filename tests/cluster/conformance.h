// What every coordinator that can be written does: the tests are in conformance_test.cc, and run over each store that a
// program names with INSTANTIATE_TEST_SUITE_P(NAME, CoordinatorConformance, ...).
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <ostream>
#include <string>

#include "cluster/coordinator.h"

namespace plov::test {

struct Store {
  const char* name;
  std::function<std::unique_ptr<cluster::Coordinator>()> open;  // another client of it
};
inline std::ostream& operator<<(std::ostream& out, const Store& store) { return out << store.name; }

class CoordinatorConformance : public ::testing::TestWithParam<Store> {
 protected:
  CoordinatorConformance()
      : below_(::testing::UnitTest::GetInstance()->current_test_info()->name()) {
    below_ = below_.substr(0, below_.find('/'));
  }

  std::string Path(const std::string& name) const { return below_ + "/" + name; }

  std::string below_;  // a folder for this test alone
  std::unique_ptr<cluster::Coordinator> coordinator_ = GetParam().open();
};

// Whether there is a hint within ten seconds; takes it.
bool AwaitHint(cluster::Coordinator* coordinator, const std::string& path);

}  // namespace plov::test
