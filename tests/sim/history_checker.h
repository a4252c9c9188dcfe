// HistoryChecker: says whether what the clients of a run came to can be true.
//
// Every operation goes to the history of the server's life in which it took effect, and each
// history to torture/interval_checker.h. Lives that share their memory (a warm restart) are one
// history. Which life it was, the version tells: each begins to count at a random place. Without a
// version it was one of those that the client was connected to meanwhile; what came to nothing is
// judged where that is one only, and where the key is in every server for good (Stage).
//
// Lives of a server with a log go on with what the one before left: with --commit strict they are one
// history, else loss_checker.h says what a life may have left. No write is applied in two lives, unless
// the first time was lost.
//
// An item with an expiry is, for its history, deleted by an operation of unknown outcome that
// starts when it expires. That it is never seen later is checked besides, by that life's clock. One that may be evicted
// is deleted so from when it is stored.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "tests/sim/loss_checker.h"
#include "tests/sim/virtual_host.h"
#include "torture/history.h"
#include "torture/interval_checker.h"

namespace plov::sim {

// A set of lives: bit n for the n-th that began.
using LifeSet = uint64_t;

class HistoryChecker {
 public:
  // A life of a server begins, and that server's former one has ended. first_version: below every
  // version of it. warm: it goes on with what the former one had. Returns its number.
  uint32_t Begin(uint32_t server, uint64_t first_version, bool warm, const HostClock& clock,
                 torture::Instant now);
  // From where versions of other shards of this life begin.
  void AlsoBegins(uint32_t life, uint64_t first_version) {
    lives_[life].first_versions.push_back(first_version);
  }
  // The same of the one server there is, with a log.
  uint32_t BeginRestored(torture::Commit commit, uint64_t first_version, const HostClock& clock,
                         const Restored& restored);
  // That server's last one.
  uint32_t LastLifeOf(uint32_t server) const;

  // An operation has ended, of a client that was connected to these meanwhile.
  void Feed(const torture::Operation& operation, LifeSet lives);
  // A Sync of a client that was connected to these meanwhile: all is durable that this life has told of.
  struct Sync {
    uint32_t process = 0;
    torture::Instant start = 0;
    // What this client was told since is durable, too; nullopt: perhaps not.
    std::optional<torture::Instant> own_since = {};
  };
  void FeedSync(const Sync& sync, LifeSet lives);
  // An item expires by itself from `start` on. version: 0 when nobody knows it.
  void FeedExpiry(uint64_t key, uint64_t version, LifeSet lives, torture::Instant start);
  // From now on every item may be gone by itself, for good, from when it is stored.
  void LetEvict() { evicts_ = true; }
  // Whether the life of both is the same one.
  bool AreOfOneLife(uint64_t version, uint64_t other) const {
    return LifeOf(version) == LifeOf(other);
  }
  // What the clock of the life of that version, or of that number, shows at a time.
  uint64_t UnixUsOf(uint64_t version, uint64_t time_us) const;
  uint64_t UnixUsIn(uint32_t life, uint64_t time_us) const {
    return lives_[life].clock.UnixUs(time_us);
  }
  // With a log: when the value was there for certain; kForever: nobody has told, or it is lost.
  torture::Instant WhenStored(torture::ValueId value) const;
  // Every operation that starts before the horizon has been fed.
  void Advance(torture::Instant horizon);
  void Finish() { Advance(torture::kForever); }

  // Something wrong that no history shows.
  void Accuse(const std::string& what);

  bool is_guilty() const { return !verdict_.empty() || !findings_.empty(); }
  // Readable: what was said first, then the minimal histories.
  std::string Verdict() const;
  uint64_t operations() const { return operations_; }
  // Of all that was fed, in its order.
  uint64_t fingerprint() const { return fingerprint_; }
  // Of the shortest history that is wrong, 0 when there is none.
  size_t shortest() const;

 private:
  struct Life {
    uint32_t server;
    std::vector<uint64_t> first_versions;  // of its shards
    torture::Instant begin;
    torture::Instant end = torture::kForever;
    HostClock clock;
    std::unique_ptr<torture::IntervalChecker> checker;
  };

  struct Stored {
    uint64_t version;
    torture::Instant by;
  };

  const Life* LifeOf(uint64_t version) const;
  void FeedUnversioned(torture::Operation operation, LifeSet lives);
  void FeedOfLog(const torture::Operation& operation, LifeSet lives);
  void FeedLife(size_t life, const torture::Operation& operation);
  void FeedOpen(torture::Operation operation, LifeSet lives);
  void NoteValue(const torture::Operation& told);
  size_t NumberOf(const Life* life) const { return static_cast<size_t>(life - lives_.data()); }
  bool IsLost(uint64_t version) const;
  void AccuseOfLife(const torture::Operation& operation, const Life* life);

  std::vector<Life> lives_;
  bool is_strict_ = false;
  bool evicts_ = false;
  std::optional<LossChecker> loss_;            // with --commit acked and async
  std::map<torture::ValueId, Stored> stored_;  // with a log: of values that were stored
  std::string verdict_;
  std::vector<torture::Violation> findings_;
  uint64_t operations_ = 0;
  uint64_t fingerprint_ = 0;
};

}  // namespace plov::sim
