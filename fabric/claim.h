// Claim: how a client that comes back shows that its id is its own, where no kernel vouches for a
// user: over a network that others can listen on.
//
// With each connection a client says the hash of a secret that it keeps (next), and shows the secret
// whose hash it said with the one before (proof; zeros at first). The server takes a known id up
// again for the proof alone, so what others have heard is of no use to them: the secret that they
// would need has not been sent yet. Source: one-time passwords from a one-way function, Lamport,
// Communications of the ACM 24(11), 1981.
//
// A client whose connection did not come about says the same claim again, since the server may have
// taken it. So the same is taken twice, but only until the connection has spoken: an honest client
// speaks as soon as it is connected, and whoever repeats its claim in between is ended by its next
// proof. This does not stop an attacker who changes messages on their way.
#pragma once

#include <array>
#include <cstdint>
#include <mutex>
#include <unordered_map>

namespace plov::fabric {

// A secret, or the hash of one.
using Secret = std::array<uint8_t, 16>;

struct Claim {
  bool operator==(const Claim&) const = default;

  Secret proof{};
  Secret next{};
};

// 128 bits of SHA-256. Zeros where plov is built without RDMA, and no fabric asks.
Secret OneWay(const Secret& secret);

// A client's claims to one id at one shard of one server.
class Claimant {
 public:
  Claimant() { Draw(); }

  // To connect with, until a connection has come about.
  const Claim& claim() const { return claim_; }
  void OnConnected() {
    claim_.proof = secret_;
    Draw();
  }

 private:
  void Draw();

  Secret secret_;  // that claim_.next is the hash of
  Claim claim_;
};

// What a shard has been told, by client id. Threads: any.
class Claims {
 public:
  enum class Outcome {
    kNew,    // the id was not known
    kOwner,  // who had it has it again
    kOther,  // nothing was taken
  };

  Outcome Take(uint64_t client_id, const Claim& claim);
  // Who made this claim has spoken. Nothing where another claim was taken since: what was on its way from a former
  // connection is not the next one's.
  void OnSpoken(uint64_t client_id, const Claim& claim);
  void Forget(uint64_t client_id);
  void ForgetAll();

 private:
  struct Taken {
    Claim claim;
    bool has_spoken = false;
  };

  std::mutex mutex_;
  std::unordered_map<uint64_t, Taken> taken_;  // under mutex_
};

// The claim that let a connection in.
struct TakenClaim {
  // The connection has spoken.
  void OnSpoken() const {
    if (claims != nullptr) claims->OnSpoken(client_id, claim);
  }

  Claims* claims = nullptr;  // null: no claim was asked for
  uint64_t client_id = 0;
  Claim claim = {};
};

}  // namespace plov::fabric
