#include "client/oaths.h"

#include <chrono>
#include <thread>

#include "client/attempts.h"
#include "client/server_clock.h"

namespace plov {

using fabric::Clock;
using fabric::Deadline;

namespace {

constexpr auto kAnotherEpoch = "its servers hold another configuration than this client knows";
// Of a lease, after which it is renewed.
constexpr uint64_t kRenewalParts = 2;

}  // namespace

std::expected<Oaths, Error> Oaths::Connect(uint32_t shard, const std::vector<Expected>& expected,
                                           uint64_t lease_us, OathLinks* links, Deadline deadline) {
  Oaths oaths;
  oaths.shard_ = shard;
  oaths.lease_us_ = lease_us;
  for (size_t i = 0; i < expected.size(); ++i) {
    auto link = links->Connect(expected[i].uris, NextAttemptEnd(deadline, expected.size() - i));
    if (!link) return std::unexpected(std::move(link.error()));
    oaths.members_.push_back({std::move(*link), expected[i].oath});
  }
  return oaths;
}

std::expected<void, Error> Oaths::See(OathLinks* links, Deadline deadline) const {
  if (loads())
    return Stand() ? std::expected<void, Error>() : Fail(Code::kUnavailable, kAnotherEpoch);
  const uint64_t round = links->round();
  Want(round);
  while (true) {
    links->Look();
    links->Collect();
    switch (SeenSince(round)) {
      case Seen::kStand:
        return {};
      case Seen::kBroken:
        return Fail(Code::kUnavailable, kAnotherEpoch);
      case Seen::kNotYet:
        break;
    }
    if (Clock::now() >= deadline) {
      return Fail(Code::kTimeout, "a server of its configuration does not answer READs in time");
    }
    std::this_thread::yield();
  }
}

void Oaths::Want(uint64_t round) const {
  for (const Member& member : members_) member.link->Want(shard_, round);
}

uint64_t Oaths::Begin(uint64_t round) const {
  if (lease_us_ == 0) {
    Want(round);
    return round;
  }
  uint64_t since_us = UINT64_MAX;
  for (const Member& member : members_) {
    const bool stands = member.link->Seen(shard_) == member.oath;
    since_us = std::min(since_us, stands ? member.link->seen_since_us() : 0);
  }
  const uint64_t age_us = BootUs() - since_us;
  if (age_us >= lease_us_ / kRenewalParts) Want(round);
  return age_us < lease_us_ ? 0 : round;
}

Oaths::Seen Oaths::SeenSince(uint64_t round) const {
  Seen seen = Seen::kStand;
  for (const Member& member : members_) {
    if (!member.link->alive()) return Seen::kBroken;
    if (member.link->seen() < std::max<uint64_t>(round, 1)) {
      seen = Seen::kNotYet;
    } else if (member.link->Seen(shard_) != member.oath) {
      return Seen::kBroken;
    }
  }
  return seen;
}

}  // namespace plov
