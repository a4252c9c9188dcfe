// Report: a history that is wrong, as people and other programs read it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "torture/durability.h"
#include "torture/excerpt.h"
#include "torture/history.h"
#include "verify/error.h"

namespace plov::torture {

struct Finding {
  uint64_t key = 0;
  std::string reason;  // one clause
  Instant instant = 0;
  Initial initial = Initial::kAbsent;
  bool is_minimal = false;  // nothing can be left out of `history` without making it right
  std::vector<Operation> history;
  std::vector<Restart> restarts = {};  // of the server, between its lives
  Commit commit = Commit::kStrict;     // says what they may have lost
};

Excerpt ExcerptOf(const Finding& finding);

// TimelineText of it.
std::string Timeline(const Finding& finding, size_t operations_max = SIZE_MAX);

// One object; instants in nanoseconds as in the history, "end" null for unknown operations. With
// restarts "commit" and "kills".
std::string Json(const Finding& finding);

// One map per line and event, in the order of time, as Jepsen writes histories and Knossos reads
// them: check it with the model (knossos.model/cas-register :absent). A value is the number of its
// store. What that model cannot say is weakened, never strengthened: a DELETE is a write of
// :absent, REPLACE a write, a condition on a version whose value nobody saw is dropped, and what
// did not hold is :fail. The rest stands in the maps under keys of our own (:kind, :client,
// :version, :expected). A :process is a lane of operations that do not overlap; a restart is an
// event of the process :nemesis.
std::string Edn(const Finding& finding);

// Errors: kSystem.
std::expected<void, Error> WriteFile(const std::string& path, const std::string& text);

}  // namespace plov::torture
