#include "fabric/claim.h"

#include <cstring>

#include "fabric/random.h"

namespace plov::fabric {

void Claimant::Draw() {
  const std::array<uint64_t, 2> words = {RandomId(), RandomId()};
  std::memcpy(secret_.data(), words.data(), secret_.size());
  claim_.next = OneWay(secret_);
}

Claims::Outcome Claims::Take(uint64_t client_id, const Claim& claim) {
  const std::lock_guard lock(mutex_);
  const auto [it, is_new] = taken_.try_emplace(client_id);
  Taken& taken = it->second;
  const bool proves = OneWay(claim.proof) == taken.claim.next;
  const bool repeats = !taken.has_spoken && claim == taken.claim;
  if (!is_new && !proves && !repeats) return Outcome::kOther;
  taken = {claim, false};
  return is_new ? Outcome::kNew : Outcome::kOwner;
}

void Claims::OnSpoken(uint64_t client_id, const Claim& claim) {
  const std::lock_guard lock(mutex_);
  const auto it = taken_.find(client_id);
  if (it != taken_.end() && it->second.claim == claim) it->second.has_spoken = true;
}

void Claims::Forget(uint64_t client_id) {
  const std::lock_guard lock(mutex_);
  taken_.erase(client_id);
}

void Claims::ForgetAll() {
  const std::lock_guard lock(mutex_);
  taken_.clear();
}

}  // namespace plov::fabric
