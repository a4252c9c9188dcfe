// Actor: Snapshots and Commits, each of keys that it would GET or write alone.
#include <algorithm>
#include <vector>

#include "tests/sim/actor.h"

namespace plov::sim {

using torture::Kind;
using torture::Outcome;

namespace {

// Some of them are in a Commit for certain.
constexpr uint32_t kValueBytesSent = 1024;

}  // namespace

void Actor::CallSnapshot() {
  std::vector<Attempt*> taken;
  std::vector<std::string_view> keys;
  while (Attempt* attempt = Take()) {
    Draw(attempt, true);
    taken.push_back(attempt);
    keys.push_back(attempt->key);
  }
  if (taken.empty()) return;
  const auto items = client_->Snapshot(keys);
  if (!items && items.error().code == Code::kTimeout) {  // they are written all the time
    for (Attempt* attempt : taken) End(attempt, Outcome::kUnknown);
    return;
  }
  std::vector<CommitChecker::Read> reads;
  for (size_t i = 0; i < taken.size(); ++i) {
    if (!items) {
      OnError(taken[i], items.error());
      continue;
    }
    reads.push_back({taken[i]->operation.key, (*items)[i] ? (*items)[i]->version : 0});
    OnGet(taken[i], (*items)[i]);
  }
  ++stage_->snapshots;
  stage_->commits.SawTogether(reads);
}

// Of each key once. With a read of what it writes it is a conditional write of that key, and a DELETE has one.
void Actor::CallCommit() {
  std::vector<Attempt*> taken;
  while (Attempt* attempt = Take()) {
    do {
      Draw(attempt, false);
    } while (attempt->operation.kind != Kind::kPut && attempt->operation.kind != Kind::kDelete);
    const auto is_of_key = [attempt](const Attempt* other) { return other->key == attempt->key; };
    if (std::ranges::any_of(taken, is_of_key)) {
      End(attempt, Outcome::kRefused);
    } else {
      taken.push_back(attempt);
    }
  }
  if (taken.empty()) return;
  std::vector<CommitRead> reads;
  std::vector<CommitChecker::Read> rests_on;
  std::vector<CommitWrite> writes;
  std::vector<CommitChecker::Write> written;
  for (Attempt* attempt : taken) {
    torture::Operation& operation = attempt->operation;
    const bool deletes = operation.kind == Kind::kDelete;
    CommitWrite write{.key = attempt->key};
    if (!deletes) write.value = attempt->value;
    if (!deletes) write.ttl = OptionsOf(*attempt).ttl;
    writes.push_back(write);
    written.push_back({operation.key, deletes ? torture::ValueId{0} : operation.value});
    if (!deletes && stage_->random->OneIn(2)) continue;
    operation.expected = last_version_[operation.key];
    if (deletes) {
      operation.kind = operation.expected != 0 ? Kind::kDeleteIf : Kind::kDelete;
    } else {
      operation.kind = operation.expected != 0 ? Kind::kPutIf : Kind::kAdd;
    }
    reads.push_back({attempt->key, operation.expected});
    rests_on.push_back({operation.key, operation.expected});
  }
  const size_t number = stage_->commits.Begin(written);
  const auto first = client_->Commit(reads, writes);
  if (first) stage_->commits.Applied(number, *first, rests_on, ++stage_->instant);
  const Code code = first ? Code::kOk : first.error().code;
  const bool may_be_too_large =
      stage_->scenario->limits_differ || stage_->scenario->value_bytes_max > kValueBytesSent;
  const bool is_refused = code == Code::kVersionMismatch || code == Code::kNoSpace ||
                          (code == Code::kTooLarge && may_be_too_large);
  for (size_t i = 0; i < taken.size(); ++i) {
    Attempt* attempt = taken[i];
    const bool deletes = torture::IsDelete(attempt->operation.kind);
    if (is_refused) {
      End(attempt, Outcome::kRefused);
    } else if (!first) {
      OnError(attempt, first.error());
    } else if (deletes) {
      last_version_[attempt->operation.key] = 0;
      OnDelete(attempt, attempt->operation.expected != 0);
    } else {
      OnWrite(attempt, *first + i);
    }
  }
}

}  // namespace plov::sim
