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
  if (kept.to != incarnation_) {
    if (!kept.is_first) return false;
    incarnation_ = kept.to;  // it came back
  }
  const auto fit = kept.is_first ? tail_->Replace(kept.before, kept.entries)
                                 : tail_->Append(kept.before, kept.entries);
  if (fit != Tail::Fit::kFits) return false;
  if (kept.held) held_ = kept.held;
  const Member self{server_, incarnation_};
  is_whole_ |= kept.held && std::ranges::count(kept.held->shard.in_sync, self) > 0;
  while (!tail_->empty() && tail_->published().number < kept.published) {
    if (!publish_(tail_->Publish())) return false;
    tail_->TrimPast(0, 1);
  }
  return true;
}

std::optional<Replica::Memory> KeptHistory::memory() const {
  if (!tail_ || !held_ || !is_whole_) return std::nullopt;
  return Replica::Memory{*tail_, *held_};
}

}  // namespace plov::cluster
