// Tail: what fits, what lacks something and what is of another history.
#include "cluster/tail.h"

#include <gtest/gtest.h>

namespace plov::test {
namespace {

using cluster::Entry;
using cluster::Position;
using cluster::Tail;

constexpr Position kBegin{};

// `count` entries of one epoch after `before`.
std::vector<Entry> Entries(Position before, uint64_t epoch, int count) {
  std::vector<Entry> entries;
  for (int i = 0; i < count; ++i) {
    entries.push_back(cluster::MakeEntry(before, epoch, std::to_string(i)));
    before = entries.back().at;
  }
  return entries;
}

TEST(Tail, EntriesAreAppendedOnce) {
  Tail tail(kBegin);
  const auto entries = Entries(kBegin, 1, 4);
  EXPECT_EQ(tail.Append(kBegin, {entries[0], entries[1]}), Tail::Fit::kFits);
  EXPECT_EQ(tail.Append(entries[0].at, {entries[1], entries[2]}), Tail::Fit::kFits);
  EXPECT_EQ(tail.end(), entries[2].at);
  EXPECT_EQ(tail.Publish().at, entries[0].at);
  EXPECT_EQ(tail.Append(kBegin, entries), Tail::Fit::kFits) << "from before what is published";
  EXPECT_EQ(tail.published(), entries[0].at);
  EXPECT_EQ(tail.end(), entries[3].at);
  EXPECT_EQ(tail.After(2, 0).size(), 2u);
}

TEST(Tail, OfThePastAPieceGoes) {
  Tail tail(kBegin);
  const auto entries = Entries(kBegin, 1, 5);
  ASSERT_EQ(tail.Append(kBegin, entries), Tail::Fit::kFits);
  for (int i = 0; i < 3; ++i) tail.Publish();
  EXPECT_EQ(tail.After(0, 2 * sizeof(Entry)).size(), 1u) << "its data counts, too";
  EXPECT_EQ(tail.After(0, SIZE_MAX).size(), 5u);
  EXPECT_EQ(tail.After(2, 0).size(), 3u) << "all that is published, and what follows";
  EXPECT_EQ(tail.Unpublished().size(), 2u);
  tail.TrimPast(0, 1);
  EXPECT_FALSE(tail.At(0));
  EXPECT_EQ(tail.At(1), entries[0].at);
  tail.Cut();
  EXPECT_EQ(tail.end(), entries[2].at);
  EXPECT_FALSE(tail.At(4));
}

TEST(Tail, WhatIsMissingIsNoticed) {
  Tail tail(kBegin);
  const auto entries = Entries(kBegin, 1, 3);
  EXPECT_EQ(tail.Append(entries[0].at, {entries[1]}), Tail::Fit::kGap);
  EXPECT_EQ(tail.Append(kBegin, {entries[0], entries[2]}), Tail::Fit::kForeign);
  EXPECT_TRUE(tail.empty());
}

TEST(Tail, OtherHistoriesAreRefused) {
  Tail tail(kBegin);
  const auto ours = Entries(kBegin, 1, 3), other = Entries(kBegin, 2, 3);
  ASSERT_EQ(tail.Append(kBegin, ours), Tail::Fit::kFits);
  EXPECT_EQ(tail.Append(kBegin, other), Tail::Fit::kForeign);
  EXPECT_EQ(tail.Append(other[2].at, Entries(other[2].at, 2, 1)), Tail::Fit::kForeign);
  tail.Publish();
  EXPECT_EQ(tail.Replace(kBegin, other), Tail::Fit::kForeign) << "another first entry is published";
  EXPECT_EQ(tail.Replace(kBegin, {}), Tail::Fit::kForeign)
      << "it would take back what is published";
  EXPECT_EQ(tail.end(), ours[2].at);
  Entry forged = Entries(ours[2].at, 1, 1)[0];
  forged.data = std::make_shared<const std::string>("forged");
  EXPECT_EQ(tail.Append(ours[2].at, {forged}), Tail::Fit::kForeign);
}

TEST(Tail, AnotherTailTakesThePlaceOfWhatIsNotPublished) {
  Tail tail(kBegin);
  const auto ours = Entries(kBegin, 1, 4);
  ASSERT_EQ(tail.Append(kBegin, ours), Tail::Fit::kFits);
  tail.Publish();
  // Of a primary that has published two, and wrote another third.
  const auto third = Entries(ours[1].at, 2, 1);
  EXPECT_EQ(tail.Replace(ours[1].at, third), Tail::Fit::kFits);
  EXPECT_EQ(tail.published(), ours[0].at);
  EXPECT_EQ(tail.end(), third[0].at);
  // Of one that has published nothing.
  EXPECT_EQ(tail.Replace(kBegin, {ours[0]}), Tail::Fit::kFits);
  EXPECT_TRUE(tail.empty());
  EXPECT_EQ(tail.Replace(ours[1].at, {}), Tail::Fit::kGap);
}

}  // namespace
}  // namespace plov::test
