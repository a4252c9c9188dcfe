#include "torture/write_order.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

namespace plov::torture {

WriteOrder::WriteOrder() : keys_(kTransactionKeys), is_used_(kTransactionKeys, false) {
  for (auto& writes : keys_) writes.emplace(0, Write{});
}

std::optional<Contradiction> WriteOrder::Add(uint32_t key, Write write) {
  const auto [same, is_new] = by_version_.try_emplace(write.version, write.by);
  if (!is_new) {
    return Contradiction{fmt::format("version {} is that of two writes", write.version),
                         {same->second, write.by}};
  }
  const Write before = LastAt(key, write.version);
  const uint64_t version = write.version;
  const SharedRecord by = write.by;
  keys_[key].insert_or_assign(version, std::move(write));
  if (before.stands_until < version) return std::nullopt;
  return Contradiction{
      fmt::format("k{} was still at version {} for what came behind version {}, which wrote it",
                  key, before.version, version),
      {before.by, by, before.stands_by}};
}

WriteOrder::Write* WriteOrder::Find(uint32_t key, uint64_t version) {
  const auto at = keys_[key].find(version);
  return at == keys_[key].end() ? nullptr : &at->second;
}

WriteOrder::Write& WriteOrder::LastAt(uint32_t key, uint64_t version) {
  const auto after = keys_[key].upper_bound(version);
  // What was before the first that is kept cannot be asked for: then that one stands for it.
  return after == keys_[key].begin() ? after->second : std::prev(after)->second;
}

WriteOrder::Write* WriteOrder::Next(uint32_t key, uint64_t version) {
  const auto after = keys_[key].upper_bound(version);
  return after == keys_[key].end() ? nullptr : &after->second;
}

WriteOrder::Write* WriteOrder::NextAbsence(uint32_t key, uint64_t version) {
  for (auto at = keys_[key].upper_bound(version); at != keys_[key].end(); ++at) {
    if (at->second.is_absence()) return &at->second;
  }
  return nullptr;
}

void WriteOrder::Keep(Write* write, uint64_t until, const SharedRecord& by) {
  if (until <= write->stands_until) return;
  write->stands_until = until;
  write->stands_by = by;
}

// A write of unknown outcome that somebody can still find is its key's last one at `floor`, or later; the others of its
// commit are so near to it. So what is older than the oldest of all keys' last ones is settled.
std::vector<ValueId> WriteOrder::Retire(uint64_t floor) {
  uint64_t settled = floor;
  for (uint32_t key = 0; key < keys_.size(); ++key) {
    if (is_used_[key]) settled = std::min(settled, LastAt(key, floor).version);
  }
  settled -= std::min<uint64_t>(settled, kTransactionKeys);
  std::vector<ValueId> gone;
  for (auto& writes : keys_) {
    while (writes.size() > 1 && std::next(writes.begin())->first <= settled) {
      gone.push_back(writes.begin()->second.value);
      writes.erase(writes.begin());
    }
  }
  by_version_.erase(by_version_.begin(), by_version_.lower_bound(settled));
  return gone;
}

}  // namespace plov::torture
