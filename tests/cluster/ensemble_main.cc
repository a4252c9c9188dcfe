#include <gtest/gtest.h>

#include <cstdio>
#include <string_view>

#include "tests/cluster/ensemble_world.h"
#include "tests/support/folder.h"

namespace plov::test {

program::OwnEnsemble* world = nullptr;

namespace {

constexpr int kSkipped = 77;

int Run() {
  if (const std::string missing = program::OwnEnsemble::Missing(); !missing.empty()) {
    std::printf("skipped: %s\n", missing.c_str());
    return kSkipped;
  }
  const TemporaryFolder folder;
  const auto ensemble = program::OwnEnsemble::Start(folder.path());
  if (!ensemble || !(*ensemble)->AwaitReady()) {
    std::printf("the ensemble does not start\n");
    return 1;
  }
  world = ensemble->get();
  return RUN_ALL_TESTS();
}

}  // namespace
}  // namespace plov::test

int main(int count, char** arguments) {
  if (count == 3 && std::string_view(arguments[1]) == "--client") {
    return plov::test::RunClient(arguments[2]);
  }
  ::testing::InitGoogleTest(&count, arguments);
  return plov::test::Run();
}
