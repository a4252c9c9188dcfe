#include "cluster/kept_history.h"

#include <algorithm>

namespace plov::cluster {

bool KeptHistory::Take(const Append& kept) {
  if (!tail_) {
    if (!kept.is_first) return true;
    begin_ = kept.before;
    tail_.emplace(kept.before);
    incarnation_ = kept.to;
  }
  if (kept.to != incarnation_) return false;
  const auto fit = kept.is_first ? tail_->Replace(kept.before, kept.entries)
                                 : tail_->Append(kept.before, kept.entries);
  if (fit != Tail::Fit::kFits) return false;
  if (kept.held) held_ = kept.held;
  while (!tail_->empty() && tail_->published().number < kept.published) {
    if (!publish_(tail_->Publish())) return false;
  }
  return true;
}

std::optional<Replica::Memory> KeptHistory::MemoryOf(const std::string& server) const {
  if (!tail_ || !held_) return std::nullopt;
  const auto& members = held_->shard.in_sync;
  const bool is_member = std::ranges::find(members, Member{server, incarnation_}) != members.end();
  if (!is_member) return std::nullopt;
  return Replica::Memory{*tail_, *held_};
}

}  // namespace plov::cluster
