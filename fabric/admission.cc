#include "fabric/admission.h"

#include <sys/resource.h>

#include <algorithm>
#include <bit>
#include <numeric>

namespace plov::fabric {

namespace {

constexpr auto kIdOfAnother =
    "its client id belongs to another client, and it has not shown that it is that client";

constexpr auto kDraining =
    "the server takes no new clients: it was told to end once those it has are gone (plov drain)";

// A client has a connection to every shard, but for one that comes or goes.
uint64_t MostOf(const std::map<uint32_t, uint64_t>& by_shard) {
  uint64_t most = 0;
  for (const auto& [shard, count] : by_shard) most = std::max(most, count);
  return most;
}

std::string Numbered(uint64_t limit, const char* what) { return std::to_string(limit) + what; }

}  // namespace

std::string RefusalText(uint32_t refusal, uint64_t limit) {
  switch (static_cast<RefusalReason>(refusal)) {
    case RefusalReason::kClients:
      return "the server takes no more than " +
             Numbered(limit, " clients: end some, or raise its --max-clients");
    case RefusalReason::kClientsOfUser:
      return "the server takes no more than " +
             Numbered(limit, " clients of one user: end some, or raise its --max-clients-per-user");
    case RefusalReason::kDescriptors:
      return "the server has no file descriptor left: raise its limit of open files, which is " +
             Numbered(limit, " (ulimit -n, LimitNOFILE= of its unit)");
    case RefusalReason::kAllDescriptors:
      return "the server's system has no file descriptor left: raise sysctl fs.file-max";
    case RefusalReason::kIdOfAnother:
      return kIdOfAnother;
    case RefusalReason::kDraining:
      return kDraining;
    case RefusalReason::kOther:
      break;
  }
  return "the server cannot set up the connection: its log says why";
}

Admission::Limits Admission::limits() const {
  const std::lock_guard lock(mutex_);
  return limits_;
}

void Admission::SetLimits(const Limits& limits) {
  const std::lock_guard lock(mutex_);
  limits_ = limits;
}

void Admission::SetDraining(bool draining) {
  const std::lock_guard lock(mutex_);
  draining_ = draining;
}

uint64_t Admission::clients() const {
  const std::lock_guard lock(mutex_);
  return MostOf(of_shard_);
}

uint64_t Admission::administrators() const {
  const std::lock_guard lock(mutex_);
  return MostOf(administrators_);
}

std::expected<Admission::Place, RefusalReason> Admission::Admit(uint32_t shard,
                                                                std::optional<uid_t> user,
                                                                Role role) {
  const std::lock_guard lock(mutex_);
  if (role == Role::kAdministrator && administrators_[shard] < kAdministratorsMax) {
    ++administrators_[shard];
    return Place(this, shard, user, role);
  }
  if (draining_) return std::unexpected(RefusalReason::kDraining);
  uint64_t& in_all = of_shard_[shard];
  if (limits_.clients != 0 && in_all >= limits_.clients) {
    return std::unexpected(RefusalReason::kClients);
  }
  if (user) {
    const auto of_user = of_user_.find({shard, *user});
    const uint64_t count = of_user == of_user_.end() ? 0 : of_user->second;
    if (limits_.clients_per_user != 0 && count >= limits_.clients_per_user) {
      return std::unexpected(RefusalReason::kClientsOfUser);
    }
    ++of_user_[{shard, *user}];
  }
  ++in_all;
  return Place(this, shard, user, Role::kClient);
}

void Admission::Leave(const Place& place) {
  const std::lock_guard lock(mutex_);
  if (place.role_ == Role::kAdministrator) {
    --administrators_[place.shard_];
    return;
  }
  --of_shard_[place.shard_];
  if (!place.user_) return;
  const auto of_user = of_user_.find({place.shard_, *place.user_});
  if (--of_user->second == 0) of_user_.erase(of_user);
}

uint64_t Admission::LimitOf(RefusalReason refusal) const {
  const std::lock_guard lock(mutex_);
  return LimitUnderLock(refusal);
}

uint64_t Admission::LimitUnderLock(RefusalReason refusal) const {
  rlimit files{};
  switch (refusal) {
    case RefusalReason::kClients:
      return limits_.clients;
    case RefusalReason::kClientsOfUser:
      return limits_.clients_per_user;
    case RefusalReason::kDescriptors:
      ::getrlimit(RLIMIT_NOFILE, &files);
      return files.rlim_cur;
    default:
      return 0;
  }
}

std::string Admission::CountRefusal(RefusalReason refusal, std::optional<uid_t> user,
                                    const std::string& cause) {
  const std::lock_guard lock(mutex_);
  const uint64_t count = ++refused_[static_cast<uint32_t>(refusal)];
  if (!std::has_single_bit(count)) return {};
  return "refused a client" + (user ? " of user " + std::to_string(*user) : std::string()) + ": " +
         (refusal != RefusalReason::kOther
              ? RefusalText(static_cast<uint32_t>(refusal), LimitUnderLock(refusal))
              : cause) +
         " (" + std::to_string(count) + " so far)";
}

uint64_t Admission::refused() const {
  const std::lock_guard lock(mutex_);
  return std::accumulate(refused_.begin(), refused_.end(), uint64_t{0});
}

}  // namespace plov::fabric
