// Safeguards: what keeps plov right, each by a name, so that a build for tests can do without one.
//
// Every rule that is worth a test must be missed by one. In a build with the CMake option
// PLOV_MUTANTS the environment variable PLOV_MUTANT=NAME removes the safeguard NAME from the
// process, which is then a mutant: a program with a mistake that somebody could have made.
// tests/mutants.sh runs all of them and shows what catches each. In every other build Keep is a
// constant, and nothing of this is in the code.
//
// Not safeguards, because nobody can tell that they are missing; the code does them for order or
// for speed:
//   - the checksum of a bucket stored after its other words, and not before them: whole is whole;
//   - `retired`, which a reader could pass over: `forward` is still there. It makes clients
//     confirm;
//   - `live` of a record that a whole bucket refers to (R1): the bucket decides;
//   - that a reference's hash is compared before its record is READ: the record has the key;
//   - the way back to the home after a torn record: the same record, whole, would be as right;
//   - a remembered bucket's generation: the bucket that is READ instead is verified like any other;
//   - of a record that moves, `live` of the old copy cleared before the bucket names the new one:
//     both copies are the truth (but that it is cleared is needed);
//   - an old record freed after the bucket is rewritten: nothing is allocated in between;
//   - directories emptied of what stands for no key when a shard starts warm: that costs READs.
#pragma once

#ifdef PLOV_MUTANTS
#include <array>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string_view>
#endif

// X(name, what the mutant does). A line per safeguard, sorted by who keeps it.
#define PLOV_SAFEGUARDS(X)                                                                \
  /* What a READ gave, verified by the reader: R1, R4, R6. */                             \
  X(kBucketChecksum, "R1: a torn bucket is taken for whole")                              \
  X(kRecordChecksum, "R1: a torn record is taken for whole")                              \
  X(kSplitRecordChecksum, "R1: the same of one READ into two buffers")                    \
  X(kSuperblockChecksum, "R5: a torn superblock is taken for whole")                      \
  X(kSuperblockSanity, "R5: a superblock may describe memory outside the region")         \
  X(kChecksumBits, "A7: checksums have 16 bits")                                          \
  X(kBucketIncarnation, "A7: buckets of another life are taken for this one's")           \
  X(kBucketGeneration, "A7: buckets of another table are taken for this one's")           \
  X(kBucketIndex, "A7: buckets of another place are taken for this one's")                \
  X(kRecordIncarnation, "A7: records of another life are taken for this one's")           \
  X(kTornReadAgain, "R6: a torn bucket is taken for the key's absence")                   \
  X(kPrivateCopy, "R1: what is used is read again after it was verified")                 \
  X(kInlineKey, "R1: an inline item is taken for the key's whatever its key")             \
  X(kRecordKey, "R1: the hash is taken for the key")                                      \
  X(kRecordVersion, "R1: the record is accepted whatever its version")                    \
  X(kKnownLive, "R4: `live` of a remembered record is not looked at")                     \
  X(kKnownVersion, "R4: nor its version")                                                 \
  X(kKnownKey, "R4: nor its key")                                                         \
  X(kKnownDeadIsNoMiss, "R4: a remembered record that is dead is taken for a miss")       \
  X(kAbsenceForgotten, "R4: absence is remembered")                                       \
  X(kLocationsForgotten, "R4: locations outlive the connection")                          \
  X(kInlineLengths, "R1: lengths of an inline item may exceed the bucket")                \
  X(kRecordLengths, "R1: lengths of a record may exceed its bytes")                       \
  X(kReferenceInside, "R1: a reference may lead outside the region")                      \
  X(kExpiryJudged, "R7: an expired item is a hit")                                        \
  /* Where the reader looks, and what it does about a miss: R2, R3, R5. */                \
  X(kOverflowFollowed, "R2: `overflow` is ignored")                                       \
  X(kMissConfirmed, "R3: a miss in the listed ways is not confirmed")                     \
  X(kConfirmationCompared, "R3: the home is READ again, and not compared")                \
  X(kConfirmationAge, "R6: a confirmation may be older than 32-bit versions allow")       \
  X(kForwardFollowed, "R5: `forward` is ignored")                                         \
  X(kLookupBegunAnew, "R5: a lookup goes on with the former superblock's places")         \
  X(kReadsEndFirst, "R5: a superblock is taken over while READs are under way")           \
  X(kScanRepeated, "a scan makes one pass whatever changed")                              \
  /* The writer's order of stores in a table: W2, W4, W5. */                              \
  X(kVersionGrows, "W2: a rewrite leaves the bucket's version as it was")                 \
  X(kInsertListedFirst, "W4: a displaced key is stored before its home lists it")         \
  X(kDeleteListedLast, "W4: the home's entry is struck before the bucket is cleared")     \
  X(kMoveCopiesFirst, "W5: a move clears the old bucket before the new one is written")   \
  X(kMoveListsAfterCopy, "W5: the home names the new bucket before that is written")      \
  X(kMoveListsBeforeClear, "W5: the old bucket is cleared before the home is rewritten")  \
  X(kMoveLists, "W5: the home goes on naming the old bucket")                             \
  X(kMoveRewritesHome, "W5: the home is rewritten only if its bits change")               \
  X(kOverflowCounted, "W5: `overflow` goes with the first of two unlisted keys")          \
  X(kWriterKey, "the writer takes an inline item for the key's whatever its key")         \
  X(kWriterChecksum, "the writer takes a damaged bucket for whole")                       \
  X(kDamageReported, "the writer takes damage for absence")                               \
  /* Records and what a write does with them: W1, W3, W6, W7. */                          \
  X(kSealedFirst, "W1: a record is sealed after a bucket refers to it")                   \
  X(kLiveClearedFirst, "W3: `live` is cleared after the bucket was rewritten")            \
  X(kLiveCleared, "W3: an overwrite or a delete leaves `live` of the old record")         \
  X(kLiveClearedByMove, "W7: a record that was moved is live at its old place as well")   \
  X(kMovedFirst, "W7: a bucket names the copy of a record before it is written")          \
  X(kVersionsDiffer, "A6: all items have the same version")                               \
  X(kAppliedFirst, "W6: a PUT is acknowledged before it is applied")                      \
  X(kConditionChecked, "a conditional write is applied whatever the version")             \
  X(kExpiryByServer, "R7: to the server an expired item is present")                      \
  X(kFetchPinned, "memory that a value is being READ into can be cleaned away")           \
  X(kHeldPinned, "a record that is held for a client is moved")                           \
  X(kHeldKept, "a record that is held for a client is freed when it is overwritten")      \
  /* Growth: W8, W9. */                                                                   \
  X(kGrowthCopiesFirst, "W8: a key is cleared in the old table before it is in the next") \
  X(kForwardAtHome, "W8: a displaced key moves before its home says `forward`")           \
  X(kForwardForNewKeys, "W8: a new key goes to the next table, its home does not say so") \
  X(kAllMovedFirst, "W8: the next table is the only one while the old one holds keys")    \
  X(kBothListed, "W8: the superblock does not list the next table while keys move")       \
  X(kConfirmedFirst, "W9: a table's memory is given away whatever was confirmed")         \
  X(kLateViewClosed, "W9: who confirms a superblock that is too old stays connected")     \
  /* At most once. */                                                                     \
  X(kRetryAnswered, "a retry is applied though its reply is there")                       \
  X(kUnseenRetryRefused, "a retry is applied though its reply may have been dropped")     \
  X(kWarmRetryRefused, "a retry is applied though the former server may have applied it") \
  X(kEvictionRemembered, "a session that was dropped may never have been")                \
  X(kRetryMarked, "what is sent again says not that it is")                               \
  X(kFormerConnectionEnded, "a client that returns leaves its former connection open")    \
  X(kOtherLifeNoticed, "a client takes a new server for the former one")                  \
  /* Warm restart. */                                                                     \
  X(kJournalWritten, "a rewrite that is cut short is in no journal")                      \
  X(kJournalRedone, "the journal is not looked at")                                       \
  X(kSuperblockMirrored, "the superblock has no mirror")                                  \
  X(kSuperblockRedone, "a superblock that was cut short is not replaced by its mirror")   \
  X(kVersionLimitKept, "versions of the former server are given out again")               \
  X(kLiveSetAgain, "`live` stays 0 under a bucket that refers to the record")             \
  X(kSecondCopiesDropped, "a key stays in two buckets")                                   \
  X(kLaterCopyStays, "of two copies the displaced one goes, whatever its version")        \
  X(kMovedCopiesDropped, "a key stays in two tables")                                     \
  X(kLostListed, "a key whose home was damaged is not listed again")                      \
  X(kFormerChecksum, "a damaged bucket is taken over")                                    \
  X(kFormerRecordMatched, "a record is taken over whatever its version and key")          \
  X(kWarmFileHeld, "two servers may have one file")                                       \
  /* The fabric, and bytes of a peer who may be hostile: A9. */                           \
  X(kDeathSeen, "A9: a dead server's memory is READ on")                                  \
  X(kCloseSeen, "A9: a client READs on after the server has closed its connection")       \
  X(kNameHeld, "A9: a server takes the name of one that runs")                            \
  X(kReadInside, "a READ may go outside the region")                                      \
  X(kFetchInside, "a value may be fetched from outside the client's staging memory")      \
  X(kRingLengths, "a ring's message may be longer than there is")                         \
  X(kMessageChecksum, "garbage is taken for a message")                                   \
  X(kMessageLengths, "the parts of a message may be longer than it is")

namespace plov::verify {

enum class Safeguard {
#define PLOV_SAFEGUARD(name, what) name,
  PLOV_SAFEGUARDS(PLOV_SAFEGUARD)
#undef PLOV_SAFEGUARD
};

#ifndef PLOV_MUTANTS

// Whether the safeguard is in place: here it always is, for the compiler to see.
constexpr bool Keep(Safeguard) { return true; }

#else

struct SafeguardEntry {
  Safeguard safeguard;
  std::string_view name;  // the enumerator's, without the k
  std::string_view what;  // the mutant does
};

inline constexpr auto kSafeguards = std::to_array<SafeguardEntry>({
#define PLOV_SAFEGUARD(name, what) {Safeguard::name, std::string_view(#name).substr(1), what},
    PLOV_SAFEGUARDS(PLOV_SAFEGUARD)
#undef PLOV_SAFEGUARD
});

constexpr std::optional<Safeguard> SafeguardNamed(std::string_view name) {
  for (const SafeguardEntry& entry : kSafeguards) {
    if (entry.name == name) return entry.safeguard;
  }
  return std::nullopt;
}

constexpr std::string_view NameOf(Safeguard safeguard) {
  return kSafeguards[static_cast<size_t>(safeguard)].name;
}

// What PLOV_MUTANT names; ends the process, with exit status 2, when it names none.
inline std::optional<Safeguard> SafeguardOfEnvironment() {
  const char* name = std::getenv("PLOV_MUTANT");
  if (name == nullptr || *name == '\0') return std::nullopt;
  const auto safeguard = SafeguardNamed(name);
  if (!safeguard) {
    std::fprintf(stderr, "plov: PLOV_MUTANT=%s: there is no such safeguard\n", name);
    std::_Exit(2);
  }
  return safeguard;
}

inline std::optional<Safeguard> removed_safeguard = SafeguardOfEnvironment();

// False for the one that is removed. What the compiler computes has all.
constexpr bool Keep(Safeguard safeguard) {
  if
    consteval { return true; }
  return removed_safeguard != safeguard;
}

// For a test, while no other thread runs plov's code. Each program and library has its own: this
// one's copy of plov is changed, not libplov.so and not a child. nullopt puts all in place.
inline void RemoveSafeguard(std::optional<Safeguard> safeguard) { removed_safeguard = safeguard; }

#endif

}  // namespace plov::verify
