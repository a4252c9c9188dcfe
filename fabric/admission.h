// Admission: how many connections each shard of a server has, in all and of one user, and who gets
// no more. A client has one connection for each shard, so these are clients.
//
// An operator who looks after the server has a few places of his own: he gets in where no client does,
// and is not waited for when clients are to go.
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
  kDraining = 7,     // the server ends when its clients have gone
};
inline constexpr uint32_t kRefusals = 7;

// Flags of a Hello, likewise; who says another speaks another protocol.
inline constexpr uint16_t kHelloAdministers = 1, kHelloReadsOnly = 2, kHelloNeverWrites = 4;
inline constexpr uint16_t kHelloFlags = kHelloAdministers | kHelloReadsOnly | kHelloNeverWrites;
constexpr bool ReadsOnly(uint16_t flags) { return (flags & kHelloReadsOnly) != 0; }
constexpr bool NeverWrites(uint16_t flags) { return (flags & kHelloNeverWrites) != 0; }
// Else it writes nothing, and needs neither an id nor memory for values.
constexpr bool MayWrite(uint16_t flags) { return !ReadsOnly(flags) && !NeverWrites(flags); }

// Whom it refuses and why, as the refused client says it.
std::string RefusalText(uint32_t refusal, uint64_t limit);

// One for all listeners of a server; outlives their connections. Threads: any.
class Admission {
 public:
  struct Limits {
    uint64_t clients = 0;  // 0: no limit
    uint64_t clients_per_user = 0;
  };

  enum class Role : uint8_t { kClient, kAdministrator };

  // What a connection has; it is given back with it.
  class Place {
   public:
    Place() = default;
    Place(Place&& other) noexcept { *this = std::move(other); }
    Place& operator=(Place&& other) noexcept {
      std::swap(admission_, other.admission_);
      std::swap(shard_, other.shard_);
      std::swap(user_, other.user_);
      std::swap(role_, other.role_);
      return *this;
    }
    ~Place() {
      if (admission_ != nullptr) admission_->Leave(*this);
    }

    bool is_administrators() const { return role_ == Role::kAdministrator; }

   private:
    friend Admission;
    Place(Admission* admission, uint32_t shard, std::optional<uid_t> user, Role role)
        : admission_(admission), shard_(shard), user_(user), role_(role) {}

    Admission* admission_ = nullptr;
    uint32_t shard_ = 0;
    std::optional<uid_t> user_;
    Role role_ = Role::kClient;
  };

  explicit Admission(const Limits& limits, Access access = {})
      : access_(std::move(access)), limits_(limits) {}

  const Access& access() const { return access_; }

  // Of who says in a Hello that he administers, and may.
  Role RoleOf(const Person& person, uint16_t hello_flags) const {
    const bool administers =
        (hello_flags & kHelloAdministers) != 0 && access_.MayAdminister(person);
    return administers ? Role::kAdministrator : Role::kClient;
  }

  // Those that are there stay, however low a limit is set.
  Limits limits() const;
  void SetLimits(const Limits& limits);
  // While it drains, no client gets in.
  void SetDraining(bool draining);
  // How many there are; administrators do not count.
  uint64_t clients() const;
  uint64_t administrators() const;

  // user: nullopt where it is not known, as over RDMA. An administrator beyond the places for these
  // is a client.
  std::expected<Place, RefusalReason> Admit(uint32_t shard, std::optional<uid_t> user,
                                            Role role = Role::kClient);
  // The limit that is behind a refusal.
  uint64_t LimitOf(RefusalReason refusal) const;
  // Counts it; returns what the log should say of it: the 1st, 2nd, 4th, 8th ... time, else
  // nothing, so that no client can fill the log. cause: of kOther.
  std::string CountRefusal(RefusalReason refusal, std::optional<uid_t> user,
                           const std::string& cause = {});
  uint64_t refused() const;

 private:
  static constexpr uint64_t kAdministratorsMax = 16;  // of each shard

  void Leave(const Place& place);
  uint64_t LimitUnderLock(RefusalReason refusal) const;

  const Access access_;
  mutable std::mutex mutex_;
  Limits limits_;
  bool draining_ = false;
  std::map<uint32_t, uint64_t> of_shard_;
  std::map<uint32_t, uint64_t> administrators_;  // by shard
  std::map<std::pair<uint32_t, uid_t>, uint64_t> of_user_;
  std::array<uint64_t, kRefusals + 1> refused_{};
};

}  // namespace plov::fabric
