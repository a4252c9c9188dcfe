// CommitChecker: says whether Commits were seen whole: no Snapshot finds one write of a Commit and an older version of
// another one's key, and no GET finds what was there before a Commit that somebody has seen.
//
// The writes of a Commit have versions one after the other, so one that was seen tells those of all. What is absent says
// nothing here. Whether each key by itself is right, HistoryChecker says.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "tests/sim/history_checker.h"
#include "torture/history.h"

namespace plov::sim {

class CommitChecker {
 public:
  // lives: outlives it.
  explicit CommitChecker(const HistoryChecker* lives) : lives_(lives) {}

  struct Write {
    uint64_t key = 0;
    torture::ValueId value = 0;  // 0: a DELETE
  };
  struct Read {
    uint64_t key = 0;
    uint64_t version = 0;  // 0: it was absent
  };
  // One that a server is asked for. Returns its number.
  size_t Begin(std::vector<Write> writes);
  // It was applied, by `end`: the version of its first write; what it had read stood.
  void Applied(size_t commit, uint64_t first_version, const std::vector<Read>& reads,
               torture::Instant end);

  // An item that somebody has found, between these instants.
  void Saw(uint64_t key, torture::ValueId value, uint64_t version, torture::Instant start,
           torture::Instant end);
  // What was found of several keys as of one instant.
  void SawTogether(const std::vector<Read>& reads);

  // What is wrong, or empty.
  const std::string& wrong() const { return wrong_; }
  uint64_t applied() const { return applied_; }

 private:
  struct Commit {
    std::vector<Write> writes;
    uint64_t first_version = 0;  // 0: not known
    torture::Instant seen_at = torture::kForever;
  };

  void Know(size_t commit, uint64_t first_version);
  void See(Commit* commit, torture::Instant end) {
    commit->seen_at = std::min(commit->seen_at, end);
  }
  void Accuse(const std::string& what) {
    if (wrong_.empty()) wrong_ = what;
  }

  const HistoryChecker* lives_;
  std::vector<Commit> commits_;
  struct Place {
    size_t commit;
    size_t index;  // of the write
  };
  std::map<torture::ValueId, Place> of_value_;
  // Of each key by version: the Commits, and all that was stored.
  std::map<uint64_t, std::map<uint64_t, size_t>> of_key_;
  std::map<uint64_t, std::set<uint64_t>> stored_;
  uint64_t applied_ = 0;
  std::string wrong_;
};

}  // namespace plov::sim
