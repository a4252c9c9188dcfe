// Who may write, and who may only read.

#include "fabric/access.h"

#include <gtest/gtest.h>
#include <unistd.h>

namespace plov::fabric {
namespace {

// None of these is root or the user of the test.
const uid_t kAda = ::geteuid() + 1001;
const uid_t kBob = ::geteuid() + 1002;
constexpr gid_t kTeam = 2001;
constexpr gid_t kGuests = 2002;

Person Of(uid_t user, std::vector<gid_t> groups = {}) { return {user, std::move(groups)}; }

TEST(Access, WithoutListsEverybodyMayWrite) {
  const Access access;
  EXPECT_EQ(access.Of(Of(kAda)), Right::kWrite);
  EXPECT_EQ(access.Of({}), Right::kWrite) << "over RDMA";
}

TEST(Access, OthersThanTheWritersMayRead) {
  const Access access{.writers = AccessList{{kAda}, {kTeam}}, .readers = {}};
  EXPECT_EQ(access.Of(Of(kAda)), Right::kWrite);
  EXPECT_EQ(access.Of(Of(kBob, {kGuests, kTeam})), Right::kWrite);
  EXPECT_EQ(access.Of(Of(kBob, {kGuests})), Right::kRead);
  EXPECT_EQ(access.Of({}), Right::kRead) << "over RDMA";
}

TEST(Access, OthersThanTheReadersMayWrite) {
  const Access access{.writers = {}, .readers = AccessList{{kAda}, {kGuests}}};
  EXPECT_EQ(access.Of(Of(kAda)), Right::kRead);
  EXPECT_EQ(access.Of(Of(kBob, {kGuests})), Right::kRead);
  EXPECT_EQ(access.Of(Of(kBob)), Right::kWrite);
}

TEST(Access, WithBothListsOthersMayNothing) {
  const Access access{.writers = AccessList{{kAda}, {}}, .readers = AccessList{{kAda, kBob}, {}}};
  EXPECT_EQ(access.Of(Of(kAda)), Right::kWrite) << "in both";
  EXPECT_EQ(access.Of(Of(kBob)), Right::kRead);
  EXPECT_EQ(access.Of(Of(kBob + 1)), Right::kNone);
  EXPECT_EQ(access.Of({}), Right::kNone) << "over RDMA";
}

TEST(Access, RootAndTheServersUserAlwaysMayWrite) {
  const Access access{.writers = AccessList{}, .readers = AccessList{{0, ::geteuid()}, {}}};
  EXPECT_EQ(access.Of(Of(0)), Right::kWrite);
  EXPECT_EQ(access.Of(Of(::geteuid())), Right::kWrite);
}

}  // namespace
}  // namespace plov::fabric
