#include "client/cli/completion.h"

#include <gmock/gmock.h>

#include "client/cli/commands.h"

namespace plov::cli {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::Not;

TEST(Completion, ACommandComesFirst) {
  EXPECT_EQ(Complete("ge").rest, "t ");
  EXPECT_EQ(Complete("get").rest, " ");
  EXPECT_THAT(Complete("s").names,
              ElementsAre("scan", "shell", "slowlog", "snapshot", "stats", "sync"));
  EXPECT_EQ(Complete("s").rest, "");
  EXPECT_EQ(Complete("sl").rest, "owlog ");
  EXPECT_EQ(Complete("sc").rest, "an ");
  EXPECT_EQ(Complete("\t  flu").rest, "sh ");
  EXPECT_THAT(Complete("nothing").names, IsEmpty());
  EXPECT_THAT(Complete("help sto").names, IsEmpty());
  EXPECT_THAT(Complete("help stat").names, ElementsAre("stats"));
  for (const Command& command : Commands()) {
    EXPECT_THAT(Complete("").names, Contains(command.name));
  }
  EXPECT_THAT(Complete("").names, Contains("exit"));
}

TEST(Completion, OptionsAreThoseOfTheCommand) {
  EXPECT_EQ(Complete("put key value --tt").rest, "l ");
  EXPECT_THAT(Complete("delete key --tt").names, IsEmpty());
  EXPECT_THAT(Complete("flush --").names, Contains("--yes"));
  EXPECT_THAT(Complete("flush --").names, Contains("--json"));
  EXPECT_THAT(Complete("flush --").names, Contains("--delay"));
  EXPECT_THAT(Complete("--").names, Not(Contains("--yes")));
  EXPECT_EQ(Complete("--js").rest, "on ");
  EXPECT_EQ(Complete("--json flush --y").rest, "es ");
  EXPECT_EQ(Complete("vector get key --fir").rest, "st ");
}

TEST(Completion, KeysAreNotKnown) {
  EXPECT_THAT(Complete("get ").names, IsEmpty());
  EXPECT_THAT(Complete("get stat").names, IsEmpty());
}

}  // namespace
}  // namespace plov::cli
