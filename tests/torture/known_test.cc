// Histories written by hand, each with the reason why it is right or wrong.
#include <gtest/gtest.h>

#include "tests/torture/generate.h"
#include "tests/torture/operations.h"
#include "torture/interval_checker.h"
#include "torture/search_checker.h"

namespace plov::torture {
namespace {

using History = std::vector<Operation>;

void ExpectBoth(SearchResult verdict, const History& history, Initial initial) {
  EXPECT_EQ(CheckIntervals(history, initial), verdict) << Show(history);
  EXPECT_EQ(Search(history, {.initial = initial}), verdict) << Show(history);
}

void Good(const History& history, Initial initial = Initial::kAbsent) {
  ExpectBoth(SearchResult::kGood, history, initial);
}

void Bad(const History& history, Initial initial = Initial::kAbsent) {
  ExpectBoth(SearchResult::kBad, history, initial);
}

constexpr auto kAnything = Initial::kAnything;

TEST(Known, AReadSeesTheLastWriteOrAConcurrentOne) {
  Good({Put(0, 1, 1, 10), Hit(2, 3, 1, 10)});
  Good({Put(0, 1, 1, 10), Put(2, 9, 2, 11), Hit(3, 4, 1, 10), Hit(5, 6, 2, 11)});
  // Touching intervals are concurrent.
  Good({Put(0, 1, 1, 10), Put(2, 3, 2, 11), Hit(3, 4, 1, 10)});
  // A stale read: version 11 was acknowledged before it started.
  Bad({Put(0, 1, 1, 10), Put(2, 3, 2, 11), Hit(4, 5, 1, 10)});
  // From the future: the PUT started after the GET had ended.
  Bad({Hit(0, 1, 1, 10), Put(2, 3, 1, 10)});
  // The new value was seen, then the old one: the write took effect and was undone.
  Bad({Put(0, 1, 1, 10), Put(2, 9, 2, 11), Hit(3, 4, 2, 11), Hit(5, 6, 1, 10)});
  // Nobody wrote that.
  Bad({Put(0, 1, 1, 10), Hit(2, 3, 7, 11)});
  Bad({Hit(2, 3, kForeign, 11)});
}

TEST(Known, VersionsNameOneValueAndGrow) {
  Bad({Put(0, 1, 1, 10), Put(2, 3, 2, 10)});                  // one version twice
  Bad({Put(0, 3, 1, 10), Put(1, 4, 1, 10)});                  // one store twice
  Bad({Put(0, 1, 1, 10), Put(2, 3, 2, 9)});                   // a later write, a lower version
  Good({Put(0, 3, 1, 10), Put(2, 5, 2, 9)});                  // concurrent: the other order
  Bad({Put(0, 3, 1, 10), Put(2, 5, 2, 9), Hit(7, 8, 2, 9)});  // and then this value was overwritten
  Bad({Put(0, 1, 1, 10), Hit(2, 3, 1, 11)});                  // a value under another's version
  Bad({Put(0, 9, 1, 10), Put(0, 9, 2, 11), Hit(2, 3, 2, 10)});
  Bad({Unknown(Put(0, 1, 1, 0)), Hit(2, 3, 1, 10), Hit(2, 3, 1, 11)});  // stored once, two versions
}

TEST(Known, AbsenceNeedsADelete) {
  Good({Miss(0, 1), Put(2, 3, 1, 10)});
  Bad({Put(0, 1, 1, 10), Miss(2, 3)});  // lost
  Good({Put(0, 1, 1, 10), Deletes(2, 9), Hit(3, 4, 1, 10), Miss(5, 6)});
  Bad({Put(0, 1, 1, 10), Deletes(2, 9), Miss(3, 4), Hit(5, 6, 1, 10)});  // it came back
  Bad({Put(0, 1, 1, 10), Deletes(2, 3), Hit(4, 5, 1, 10)});
  Bad({Deletes(0, 1), Put(2, 3, 1, 10)});  // there was nothing to delete
  // One DELETE cannot explain an absence after the write that followed it ...
  Bad({Put(0, 1, 1, 10), Deletes(2, 3), Put(4, 5, 2, 11), Miss(6, 7)});
  // ... unless it ran that long.
  Good({Put(0, 1, 1, 10), Deletes(2, 8), Put(4, 5, 2, 11), Miss(6, 7)});
  // Two absences with a value seen between them need two DELETEs.
  Bad({Put(0, 1, 1, 10), Deletes(2, 20), Miss(3, 4), Put(5, 6, 2, 11), Miss(7, 8)});
  Good(
      {Put(0, 1, 1, 10), Deletes(2, 20), Deletes(2, 20), Miss(3, 4), Put(5, 6, 2, 11), Miss(7, 8)});
  // Two DELETEs that both found something, and one value.
  Bad({Put(0, 1, 1, 10), Deletes(2, 3), Deletes(2, 3)});
}

TEST(Known, DeletesThatSayWhatTheyRemoved) {
  Good({Put(0, 9, 1, 10), Put(0, 9, 2, 11), Deletes(0, 9, 10), Hit(10, 11, 2, 11)});
  Bad({Put(0, 9, 1, 10), Put(0, 9, 2, 11), Deletes(0, 9, 10), Miss(10, 11)});
  Bad({Put(0, 1, 1, 10), Deletes(2, 3, 10), Deletes(4, 5, 10)});           // removed twice
  Bad({Put(0, 1, 1, 10), Deletes(2, 3, 11)});                              // of nobody's version
  Bad({Put(0, 1, 1, 10), Put(2, 3, 2, 11), Over(10, Deletes(4, 5, 10))});  // of the one before
  Good({Put(0, 1, 1, 10), Over(10, Deletes(2, 3)), Miss(4, 5)});
}

TEST(Known, UnknownWritesHappenLateOrNever) {
  const Operation unknown = Unknown(Put(2, 3, 2, 0));
  Good({Put(0, 1, 1, 10), unknown, Hit(4, 5, 1, 10)});                      // never, so far
  Good({Put(0, 1, 1, 10), unknown, Hit(4, 5, 1, 10), Hit(90, 91, 2, 11)});  // late
  Bad({Put(0, 1, 1, 10), unknown, Hit(4, 5, 2, 11), Hit(90, 91, 1, 10)});   // and undone
  Bad({Put(0, 1, 1, 10), unknown, Hit(0, 1, 2, 11)});                       // before it was sent
  Bad({Put(0, 1, 1, 10), unknown, Put(5, 6, 3, 12), Hit(7, 8, 2, 11)});     // 12 came after 11
  Good({Put(0, 1, 1, 10), unknown, Put(5, 9, 3, 12), Hit(7, 8, 2, 11)});
  Good({Unknown(Put(0, 1, 1, 0)), Deletes(2, 3), Miss(4, 5)});  // nobody saw what was deleted
  Bad({Unknown(Put(0, 1, 1, 0)), Deletes(2, 3), Deletes(2, 3)});
  // What was put to use unseen cannot be seen later.
  Bad({Unknown(Put(0, 1, 1, 0)), Deletes(2, 3), Hit(4, 5, 1, 10)});
  Good({Unknown(Put(0, 1, 1, 0)), Unknown(Put(0, 1, 2, 0)), Deletes(2, 3), Hit(4, 5, 1, 10)});
}

TEST(Known, UnknownDeletesHappenLateOrNever) {
  const Operation unknown = Unknown(Deletes(2, 3));
  Good({Put(0, 1, 1, 10), unknown, Hit(4, 5, 1, 10), Miss(90, 91)});
  Bad({Put(0, 1, 1, 10), unknown, Miss(4, 5), Hit(90, 91, 1, 10)});
  Bad({Put(0, 1, 1, 10), Miss(0, 1), Miss(2, 2), Unknown(Deletes(3, 4))});
  // Once only.
  Bad({Put(0, 1, 1, 10), unknown, Miss(4, 5), Put(6, 7, 2, 11), Miss(8, 9)});
  // Of a version that is gone it does nothing.
  Bad({Put(0, 1, 1, 10), Unknown(Over(10, Deletes(2, 3))), Put(4, 5, 2, 11), Miss(8, 9)});
  Good({Put(0, 1, 1, 10), Unknown(Over(10, Deletes(2, 3))), Miss(8, 9)});
}

TEST(Known, ConditionsHoldWhenTheWriteHappens) {
  Good({With(Kind::kAdd, Put(0, 1, 1, 10)), Exists(2, 3, 2)});
  Bad({Exists(0, 1, 2), Put(2, 3, 1, 10)});
  Bad({Put(0, 1, 1, 10), With(Kind::kAdd, Put(2, 3, 2, 11))});
  Good({Put(0, 1, 1, 10), Unknown(Deletes(0, 0)), With(Kind::kAdd, Put(2, 3, 2, 11))});
  Bad({With(Kind::kReplace, Put(0, 1, 1, 10))});
  Good({Put(0, 1, 1, 10), With(Kind::kReplace, Put(2, 3, 2, 11))});
  Bad({Put(0, 1, 1, 10), Deletes(2, 3), With(Kind::kReplace, Put(4, 5, 2, 11))});
  Good({Put(0, 1, 1, 10), Over(10, Put(2, 3, 2, 11))});
  Bad({Put(0, 1, 1, 10), Put(2, 3, 2, 11), Over(10, Put(4, 5, 3, 12))});
  // Between the expected version and the new one there was another.
  Bad({Put(0, 9, 1, 10), Put(0, 9, 2, 11), Over(10, Put(0, 9, 3, 12))});
  const Operation mismatch = Ends(Outcome::kMismatch, Over(10, Deletes(2, 3)));
  Bad({Put(0, 1, 1, 10), mismatch});
  Good({Put(0, 1, 1, 10), Put(2, 3, 2, 11), mismatch});
  Good({Put(0, 1, 1, 10), Unknown(Put(0, 1, 2, 0)), mismatch});
  Bad({mismatch});
  Bad({Put(0, 1, 1, 10), Miss(2, 3, Kind::kReplace)});
}

TEST(Known, ARefusedWriteDidNothing) {
  Good({Put(0, 1, 1, 10), Ends(Outcome::kRefused, Put(2, 3, 2, 0)), Hit(4, 5, 1, 10)});
  Bad({Put(0, 1, 1, 10), Ends(Outcome::kRefused, Put(2, 3, 2, 0)), Hit(4, 5, 2, 11)});
}

TEST(Known, AnyInitialState) {
  Good({Hit(0, 1, kForeign, 7), Put(2, 3, 1, 10)}, kAnything);
  Bad({Hit(0, 1, kForeign, 7), Hit(0, 1, kForeign, 8)}, kAnything);  // it had one version
  Bad({Hit(0, 1, kForeign, 7), Miss(2, 3)}, kAnything);
  Good({Miss(0, 1)}, kAnything);
  Bad({Miss(0, 1), Hit(2, 3, kForeign, 7)}, kAnything);
  Good({Deletes(0, 1), Miss(2, 3)}, kAnything);
  Bad({Deletes(0, 1), Deletes(2, 3)}, kAnything);
  Bad({Put(0, 1, 1, 10), Hit(2, 3, kForeign, 7)}, kAnything);
  Bad({Hit(0, 1, kForeign, 11), Put(2, 3, 1, 10)}, kAnything);  // versions grow
  Bad({Hit(0, 1, 1, 7)}, kAnything);                            // a value of this run, unwritten
}

TEST(Known, WhatContradictsItselfIsWrong) {
  Bad({Put(0, 1, 1, 0)});                           // a store without a version
  Bad({Put(3, 1, 1, 10)});                          // ended before it started
  Bad({Miss(3, 1)});                                // likewise
  Bad({Ends(Outcome::kRefused, Put(3, 1, 1, 0))});  // likewise, though it did nothing
  Bad({Put(-1, 1, 1, 10)});                         // started before the history
  Bad({Put(0, kForever, 1, 10)});                   // ended, and never
  Bad({Done(Kind::kPut, 0, 1, Outcome::kExists)});  // an outcome that PUT cannot have
  Bad({Over(0, Put(0, 1, 1, 10))});                 // conditional on nothing
  Bad({Put(0, 1, kForeign, 10)});                   // a store of nobody's value
  Bad({Done(static_cast<Kind>(99), 0, 1)});         // no kind at all
  Bad({Done(Kind::kGet, 0, 1, static_cast<Outcome>(99))});
}

// DELETEs that do not say what they removed: which removed what must be found out.
TEST(Known, DeletesAreMatchedToWhatTheyCanHaveRemoved) {
  // The short one must take the first value, the long one the second.
  Good({Put(0, 1, 1, 10), Deletes(2, 20), Deletes(2, 4), Put(5, 6, 2, 11), Miss(21, 22)});
  // Both must have ended before there was a second value.
  Bad({Put(0, 1, 1, 10), Deletes(2, 4), Deletes(2, 4), Put(5, 6, 2, 11)});
  // The unknown one can only help where the others cannot.
  Good({Put(0, 1, 1, 10), Unknown(Deletes(0, 1)), Deletes(2, 9), Miss(3, 4), Put(5, 6, 2, 11),
        Miss(7, 8), Put(9, 10, 3, 12), Hit(11, 12, 3, 12)});
  // A value stayed to be seen after the DELETE had ended, so the DELETE removed another.
  Bad({Put(0, 1, 1, 10), Deletes(2, 4), Hit(5, 6, 1, 10)});
  Good({Put(0, 1, 1, 10), Put(2, 4, 2, 11), Deletes(2, 4), Hit(5, 6, 2, 11)});
}

}  // namespace
}  // namespace plov::torture
