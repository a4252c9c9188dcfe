// ReplicaRules: a replica by hand, for what only certain orders of events show, which a simulation meets too rarely.
#pragma once

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "cluster/replica.h"
#include "tests/cluster/values.h"

namespace plov::test {

using cluster::Ack;
using cluster::Append;
using cluster::Held;
using cluster::Member;
using cluster::Outcome;
using cluster::Position;
using cluster::Replica;
using cluster::Shard;
using cluster::Tail;
using cluster::Verdict;

inline const Member kA{"a", 0xa}, kB{"b", 0xb}, kC{"c", 0xc};

inline Held HeldOf(uint64_t epoch, const std::string& primary, std::vector<Member> in_sync) {
  Shard shard = ShardOf(primary, std::move(in_sync));
  shard.epoch = epoch;
  return {shard, static_cast<cluster::Revision>(epoch), ""};
}

inline Outcome Accepted(const Held& held) { return {Verdict::kAccepted, held, ""}; }

// Keeps what it is told.
class KeepingHost : public cluster::ReplicaHost {
 public:
  void ShowOath(uint64_t epoch) override { oath = epoch; }
  void ShowSafeTime(uint64_t us) override { safe_us = us; }
  void Send(const std::string& server, const cluster::StreamMessage& message) override {
    if (const auto* append = std::get_if<Append>(&message)) appends.push_back(*append);
    if (const auto* ack = std::get_if<Ack>(&message)) acks.emplace_back(server, *ack);
    if (const auto* one = std::get_if<cluster::HandOver>(&message)) hand_over = *one;
    if (const auto* one = std::get_if<cluster::Join>(&message)) joins.push_back(*one);
  }
  void CloseReaders() override { oath_at_close = oath; }
  bool CanPropose() const override { return can_propose; }
  void Propose(const Held&, const Shard& next) override { proposed = next; }
  void ReadConfiguration() override { ++reads; }
  void Keep(const Append& held) override { kept.push_back(held); }
  bool Publish(const cluster::Entry& entry) override {
    if (is_full) return false;
    published = entry.at;
    return true;
  }
  void CatchUp(const Member&, const Position&) override {}
  void Deposed() override { is_deposed = true; }
  uint64_t ComeBack(const char* /*why*/, const std::vector<cluster::Entry>& entries) override {
    dropped = entries;
    return ++incarnation;
  }
  void StartAnew(const char* why) override { given_up = why; }

  uint64_t oath = 0, safe_us = 0;
  std::vector<Append> appends, kept;
  std::vector<cluster::Entry> dropped;
  std::vector<std::pair<std::string, Ack>> acks;
  std::vector<cluster::Join> joins;
  std::optional<cluster::HandOver> hand_over;
  std::optional<uint64_t> oath_at_close;
  std::optional<Shard> proposed;
  int reads = 0;
  bool can_propose = true;
  bool is_full = false;
  bool is_deposed = false;
  Position published;
  std::string given_up;
  uint64_t incarnation = 0x100;  // of the last that came back
};

class ReplicaRules : public ::testing::Test {
 protected:
  Replica Make(const Member& self, const Held& held) {
    return Replica(self, settings_, Replica::Memory{Tail({}), held}, &host_, 0);
  }

  // b takes over from a, with c: proposed at 1000, accepted at 1100.
  Replica Primary() {
    Replica b = Make(kB, HeldOf(1, "a", {kA, kB, kC}));
    b.Receive(First(1, "a", kB), 10);
    b.Tick(1000);
    b.Heard(Accepted(HeldOf(2, "b", {kB, kC})), 1100);
    return b;
  }

  static Ack AckOf(uint64_t epoch, uint64_t end, uint64_t sent_us) {
    Ack ack;
    ack.epoch = epoch;
    ack.from = kC.incarnation;
    ack.follows = true;
    ack.end = end;
    ack.sent_us = sent_us;
    return ack;
  }

  static Append Beat(uint64_t epoch, const std::string& from, const Member& to) {
    Append append;
    append.epoch = epoch;
    append.from = from;
    append.to = to.incarnation;
    return append;
  }
  static Append First(uint64_t epoch, const std::string& from, const Member& to) {
    Append append = Beat(epoch, from, to);
    append.is_first = true;
    return append;
  }

  KeepingHost host_;
  cluster::ReplicaSettings settings_ = {.lease_us = 1000,
                                        .detect_us = 300,
                                        .drop_us = 100'000,
                                        .beat_us = 25,
                                        .rate_error_ppm = 100'000,
                                        .min_replicas = 1};
};

}  // namespace plov::test
