// Admission: how many connections each shard of a server has, in all and of one user, and who gets
// no more. A client has one connection for each shard, so these are clients.
#pragma once

#include <sys/types.h>

#include <array>
#include <cstdint>
#include <expected>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "fabric/access.h"

namespace plov::fabric {

// Why a client is refused that may come at another time. Numbers are part of the protocol.
enum class RefusalReason : uint32_t {
  kClients = 1,         // --max-clients
  kClientsOfUser = 2,   // --max-clients-per-user
  kDescriptors = 3,     // the process's limit of open files
  kAllDescriptors = 4,  // the system's
  kOther = 5,
  kIdOfAnother = 6,  // see fabric/claim.h
};
inline constexpr uint32_t kRefusals = 6;

// Whom it refuses and why, as the refused client says it.
std::string RefusalText(uint32_t refusal, uint64_t limit);

// One for all listeners of a server; outlives their connections. Threads: any.
class Admission {
 public:
  struct Limits {
    uint64_t clients = 0;  // 0: no limit
    uint64_t clients_per_user = 0;
  };

  // What a connection has; it is given back with it.
  class Place {
   public:
    Place() = default;
    Place(Place&& other) noexcept { *this = std::move(other); }
    Place& operator=(Place&& other) noexcept {
      std::swap(admission_, other.admission_);
      std::swap(shard_, other.shard_);
      std::swap(user_, other.user_);
      return *this;
    }
    ~Place() {
      if (admission_ != nullptr) admission_->Leave(shard_, user_);
    }

   private:
    friend Admission;
    Place(Admission* admission, uint32_t shard, std::optional<uid_t> user)
        : admission_(admission), shard_(shard), user_(user) {}

    Admission* admission_ = nullptr;
    uint32_t shard_ = 0;
    std::optional<uid_t> user_;
  };

  explicit Admission(const Limits& limits, Access access = {})
      : limits_(limits), access_(std::move(access)) {}

  const Access& access() const { return access_; }

  // user: nullopt where it is not known, as over RDMA.
  std::expected<Place, RefusalReason> Admit(uint32_t shard, std::optional<uid_t> user);
  // The limit that is behind a refusal.
  uint64_t LimitOf(RefusalReason refusal) const;
  // Counts it; returns what the log should say of it: the 1st, 2nd, 4th, 8th ... time, else
  // nothing, so that no client can fill the log. cause: of kOther.
  std::string CountRefusal(RefusalReason refusal, std::optional<uid_t> user,
                           const std::string& cause = {});
  uint64_t refused() const;

 private:
  void Leave(uint32_t shard, std::optional<uid_t> user);

  const Limits limits_;
  const Access access_;
  mutable std::mutex mutex_;
  std::map<uint32_t, uint64_t> of_shard_;
  std::map<std::pair<uint32_t, uid_t>, uint64_t> of_user_;
  std::array<uint64_t, kRefusals + 1> refused_{};
};

}  // namespace plov::fabric
