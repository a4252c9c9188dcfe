#include "cluster/tail.h"

#include <algorithm>
#include <cassert>
#include <iterator>
#include <utility>

namespace plov::cluster {

const Entry& Tail::Add(uint64_t epoch, std::string data) {
  return entries_.emplace_back(MakeEntry(end(), epoch, std::move(data)));
}

std::optional<Position> Tail::At(uint64_t number) const {
  if (number > end().number) return std::nullopt;
  return number <= published_.number ? past_.At(number)
                                     : entries_[number - published_.number - 1].at;
}

std::vector<Entry> Tail::After(uint64_t number, size_t past_bytes) const {
  assert(At(number));
  std::vector<Entry> entries;
  if (number < published_.number) {
    entries = past_.After(number, past_bytes);
    number = entries.back().at.number;
    if (number < published_.number) return entries;
  }
  const auto skipped = static_cast<std::ptrdiff_t>(number - published_.number);
  entries.insert(entries.end(), entries_.begin() + skipped, entries_.end());
  return entries;
}

bool Tail::Agrees(const Position& before, const std::vector<Entry>& entries, uint64_t last) const {
  const auto is_ours = [&](const Position& position) {
    const auto here = position.number <= last ? At(position.number) : std::nullopt;
    return !here || *here == position;
  };
  Position at = before;
  for (const Entry& entry : entries) {
    if (!is_ours(at) || !Follows(at, entry)) return false;
    at = entry.at;
  }
  return is_ours(at);
}

Tail::Fit Tail::Append(const Position& before, const std::vector<Entry>& entries) {
  if (before.number > end().number) return Fit::kGap;
  if (!Agrees(before, entries, end().number)) return Fit::kForeign;
  const uint64_t last = end().number;
  std::ranges::copy_if(entries, std::back_inserter(entries_),
                       [&](const Entry& entry) { return entry.at.number > last; });
  return Fit::kFits;
}

Tail::Fit Tail::Replace(const Position& before, const std::vector<Entry>& entries) {
  if (before.number > end().number) return Fit::kGap;
  const uint64_t last = entries.empty() ? before.number : entries.back().at.number;
  const uint64_t kept = std::max(before.number, published_.number);
  if (last < published_.number || !Agrees(before, entries, kept)) return Fit::kForeign;
  entries_.resize(kept - published_.number);
  return Append(before, entries);
}

const Entry& Tail::Publish() {
  past_.Add(std::move(entries_.front()));
  entries_.pop_front();
  published_ = past_.last().at;
  return past_.last();
}

}  // namespace plov::cluster
