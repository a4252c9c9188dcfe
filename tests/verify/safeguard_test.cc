#include "verify/safeguard.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <set>
#include <string>

namespace plov::verify {
namespace {

#ifndef PLOV_MUTANTS

TEST(Safeguard, EveryOneIsInPlaceForTheCompilerToSee) {
#define PLOV_SAFEGUARD(name, what) static_assert(Keep(Safeguard::name));
  PLOV_SAFEGUARDS(PLOV_SAFEGUARD)
#undef PLOV_SAFEGUARD
}

TEST(Safeguard, TheEnvironmentRemovesNone) {
  ::setenv("PLOV_MUTANT", "BucketChecksum", 1);
  EXPECT_TRUE(Keep(Safeguard::kBucketChecksum));
  ::unsetenv("PLOV_MUTANT");
}

#else

// For a run under PLOV_MUTANT, which is to find its own mutant removed at the end.
struct PutBack {
  std::optional<Safeguard> removed = removed_safeguard;
  ~PutBack() { RemoveSafeguard(removed); }
};

TEST(Safeguard, NamesAreTheEnumerators) {
  std::set<std::string_view> names;
  for (const SafeguardEntry& entry : kSafeguards) {
    EXPECT_EQ(NameOf(entry.safeguard), entry.name);
    EXPECT_EQ(SafeguardNamed(entry.name), entry.safeguard);
    EXPECT_FALSE(entry.what.empty());
    names.insert(entry.name);
  }
  EXPECT_EQ(names.size(), kSafeguards.size());
  EXPECT_EQ(NameOf(Safeguard::kBucketChecksum), "BucketChecksum");
  EXPECT_EQ(SafeguardNamed("NoSuchThing"), std::nullopt);
}

TEST(Safeguard, OneIsRemovedAndTheOthersStay) {
  const PutBack put_back;
  for (const SafeguardEntry& removed : kSafeguards) {
    RemoveSafeguard(removed.safeguard);
    for (const SafeguardEntry& entry : kSafeguards) {
      EXPECT_EQ(Keep(entry.safeguard), entry.safeguard != removed.safeguard) << entry.name;
    }
  }
  RemoveSafeguard(std::nullopt);
  for (const SafeguardEntry& entry : kSafeguards) EXPECT_TRUE(Keep(entry.safeguard));
}

TEST(Safeguard, TheEnvironmentNamesOneOrEndsTheProcess) {
  const auto named = [](const std::string& name) {
    ::setenv("PLOV_MUTANT", name.c_str(), 1);
    std::exit(SafeguardOfEnvironment() == Safeguard::kMissConfirmed ? 0 : 1);
  };
  EXPECT_EXIT(named("MissConfirmed"), testing::ExitedWithCode(0), "");
  EXPECT_EXIT(named(""), testing::ExitedWithCode(1), "");
  EXPECT_EXIT(named("kMissConfirmed"), testing::ExitedWithCode(2), "there is no such safeguard");
}

#endif

}  // namespace
}  // namespace plov::verify
