// Loss checker: says whether what a server has after a death can be what its log had left: of histories that
// are one life after the other, as with --commit acked and async.
//
//   LossChecker checker(commit);
//   checker.Begin(restored);           // a life; the one before has ended
//   checker.Feed(life, operation);     // that took effect in it, or may have
//   checker.Check();                   // all that was under way when a life ended was fed
//
// What was left is known: the state when the next life begins, and the version that the log was cut at. How
// they must agree with the operations of the life is in torture/durability.h; with async the state is one that
// the life had after its last Sync.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "torture/durability.h"
#include "torture/interval_checker.h"

namespace plov::sim {

// What a life begins with.
struct Restored {
  torture::Instant now = 0;
  uint64_t cut = 0;  // no version beyond it is left of the life before, and all up to it are
  std::vector<torture::Settled> state = {};  // by key
};

// A GET by the tool that finds this.
torture::Operation GetOf(const torture::Settled& state, torture::Instant start,
                         torture::Instant end);

class LossChecker {
 public:
  explicit LossChecker(torture::Commit commit) : commit_(commit) {}

  void Begin(Restored restored) { lives_.push_back({std::move(restored), {}, 0}); }
  void Feed(size_t life, const torture::Operation& operation);
  // A Sync that started then told that all is durable that anybody was told of before in this life.
  void FeedSync(size_t life, torture::Instant start);
  // The same of what a client was told itself since `from`, in lives that have ended too.
  void FeedOwnSync(uint32_t process, torture::Instant from, torture::Instant start);

  // Whether the version is gone, of a life that has ended.
  bool IsLost(size_t life, uint64_t version) const {
    return life + 1 < lives_.size() && version > lives_[life + 1].begun.cut;
  }
  // What was wrong with lives that have ended since, and in words; both are empty when nothing was.
  std::vector<torture::Violation> Check();
  std::string TakeAccusation() { return std::exchange(accusation_, {}); }

 private:
  struct Life {
    Restored begun;
    std::vector<torture::Operation> operations;
    torture::Instant synced;  // what was told before is durable
  };

  void CheckPromises(size_t life);
  void AccuseOf(size_t life, const torture::Operation& operation, const char* promise);
  bool MayBecome(size_t life, const torture::Life& of_key, const torture::Settled& after) const;

  torture::Commit commit_;
  std::vector<Life> lives_;
  size_t checked_ = 0;
  std::string accusation_;
};

}  // namespace plov::sim
