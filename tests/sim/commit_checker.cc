#include "tests/sim/commit_checker.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace plov::sim {

size_t CommitChecker::Begin(std::vector<Write> writes) {
  const size_t number = commits_.size();
  for (size_t i = 0; i < writes.size(); ++i) {
    if (writes[i].value != 0) of_value_[writes[i].value] = {number, i};
  }
  commits_.push_back({.writes = std::move(writes)});
  return number;
}

void CommitChecker::Know(size_t number, uint64_t first_version) {
  Commit& commit = commits_[number];
  if (commit.first_version == first_version) return;
  if (commit.first_version != 0) {
    return Accuse(fmt::format("the writes of a Commit have versions from {} and from {} on",
                              commit.first_version, first_version));
  }
  commit.first_version = first_version;
  for (size_t i = 0; i < commit.writes.size(); ++i) {
    const uint64_t key = commit.writes[i].key;
    of_key_[key][first_version + i] = number;
    stored_[key].insert(first_version + i);
  }
}

void CommitChecker::Applied(size_t number, uint64_t first_version, const std::vector<Read>& reads,
                            torture::Instant end) {
  ++applied_;
  Know(number, first_version);
  See(&commits_[number], end);
  for (const Read& read : reads) {
    if (read.version == 0 || !lives_->AreOfOneLife(read.version, first_version)) continue;
    if (read.version >= first_version) {
      Accuse(fmt::format("a Commit of version {} rests on version {} of key {}", first_version,
                         read.version, read.key));
      continue;
    }
    const auto& stored = stored_[read.key];
    const auto later = std::find_if(
        stored.upper_bound(read.version), stored.lower_bound(first_version),
        [&](uint64_t version) { return lives_->AreOfOneLife(version, first_version); });
    if (later == stored.lower_bound(first_version)) continue;
    Accuse(fmt::format("a Commit of version {} rests on version {} of key {}, which had {} by then",
                       first_version, read.version, read.key, *later));
  }
}

void CommitChecker::Saw(uint64_t key, torture::ValueId value, uint64_t version,
                        torture::Instant start, torture::Instant end) {
  stored_[key].insert(version);
  if (const auto place = of_value_.find(value); place != of_value_.end()) {
    Know(place->second.commit, version - place->second.index);
  }
  for (const auto& [of, number] : of_key_[key]) {
    if (!lives_->AreOfOneLife(of, version)) continue;
    Commit& commit = commits_[number];
    if (of <= version) {
      See(&commit, end);
    } else if (commit.seen_at < start) {
      Accuse(fmt::format(
          "key {} had version {} from {} to {}, and a Commit that gives it {} was seen at {}", key,
          version, start, end, of, commit.seen_at));
    }
  }
}

void CommitChecker::SawTogether(const std::vector<Read>& reads) {
  std::map<size_t, std::pair<bool, bool>> found;  // by Commit: with it, and without it
  for (const Read& read : reads) {
    if (read.version == 0) continue;
    for (const auto& [of, number] : of_key_[read.key]) {
      if (!lives_->AreOfOneLife(of, read.version)) continue;
      (of <= read.version ? found[number].first : found[number].second) = true;
    }
  }
  for (const auto& [number, is] : found) {
    if (!is.first || !is.second) continue;
    Accuse(fmt::format("a Snapshot has a part of the Commit of version {}",
                       commits_[number].first_version));
  }
}

}  // namespace plov::sim
