// Judge: says whether what the clients of a run came to can be true.
//
// Every operation goes to the history of the server's life in which it took effect, and each
// history to torture/interval_checker.h. Lives that share their memory (a warm restart) are one
// history. Which life it was, the version tells: each begins to count at a random place.
//
// An item with an expiry is, for its history, deleted by an operation of unknown outcome that
// starts when it expires. That it is never seen later is checked besides.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "torture/history.h"
#include "torture/interval_checker.h"

namespace plov::sim {

class Judge {
 public:
  // A life begins, now. first_version: below every version of it. warm: it goes on with what the
  // last one had.
  void Begin(uint64_t first_version, bool warm, torture::Instant now);

  // An operation has ended.
  void Feed(const torture::Operation& operation);
  // An item expires by itself from `start` on. version: 0 when nobody knows it.
  void FeedExpiry(uint64_t key, uint64_t version, torture::Instant start);
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
    uint64_t first_version;
    torture::Instant begin;
    torture::Instant end = torture::kForever;
    std::unique_ptr<torture::IntervalChecker> checker;
  };

  Life* LifeOf(uint64_t version);
  void FeedUnversioned(torture::Operation operation);

  std::vector<Life> lives_;
  std::string verdict_;
  std::vector<torture::Violation> findings_;
  uint64_t operations_ = 0;
  uint64_t fingerprint_ = 0;
};

}  // namespace plov::sim
