#include "cluster/configuration_register.h"

#include <algorithm>
#include <cassert>
#include <utility>

#include "fabric/random.h"

namespace plov::cluster {

namespace {

// How often what is lost or old is asked for again at once: it is rare, and a coordinator that does not answer takes
// its whole deadline each time.
constexpr int kTries = 4;
constexpr int kReadTries = 16;
constexpr Revision kAnyRevision = -1;

}  // namespace

ConfigurationRegister::ConfigurationRegister(Coordinator* coordinator, uint32_t number,
                                             uint64_t cluster_id)
    : coordinator_(coordinator),
      path_("shards/" + std::to_string(number)),
      cluster_id_(cluster_id) {}

std::expected<Held, Error> ConfigurationRegister::Create(Shard shard) {
  shard.cluster_id = cluster_id_;
  shard.epoch = 1;
  shard.proposal = fabric::RandomId();
  const std::string data = Encode(shard);
  if (const auto sense = DecodeShard(data); !sense) return std::unexpected(sense.error());
  bool is_unknown = false;
  for (int i = 0; i < kTries; ++i) {
    const auto created = coordinator_->Create(path_, data, Lifetime::kPersistent);
    if (created) return Held{shard, *created, data};
    if (created.error().code == Code::kExists && is_unknown) {
      const auto held = Read();
      if (!held || held->shard.proposal == shard.proposal) return held;
    }
    if (created.error().code != Code::kUnknown) return std::unexpected(created.error());
    is_unknown = true;
  }
  return Fail(Code::kUnknown, path_ + ": it is not known whether it was created: try again");
}

std::expected<Held, Error> ConfigurationRegister::Read() { return ReadAbove(kAnyRevision); }

Outcome ConfigurationRegister::Propose(const Held& base, Shard next) {
  assert(!open_);
  epoch_ = std::max(epoch_, base.shard.epoch);
  next.cluster_id = cluster_id_;
  next.epoch = base.shard.epoch + 1;
  next.proposal = fabric::RandomId();
  const std::string data = Encode(next);
  if (const auto sense = DecodeShard(data); !sense) {
    return {Verdict::kRefused, base, "the proposal makes no sense: " + sense.error().message};
  }
  const auto set = coordinator_->Set(path_, data, base.revision);
  if (set) {
    epoch_ = std::max(epoch_, next.epoch);
    return {Verdict::kAccepted, Held{next, *set, data}, ""};
  }
  if (set.error().code == Code::kVersionMismatch) {
    return Refused(base.revision, set.error().message);
  }
  if (set.error().code != Code::kUnknown) {
    return {Verdict::kRefused, std::nullopt, set.error().message};
  }
  open_ = Open{base, next.proposal};
  return Settle();
}

Outcome ConfigurationRegister::Settle() {
  assert(open_);
  Error last{Code::kUnknown, ""};
  for (int i = 0; i < kTries && last.code == Code::kUnknown; ++i) {
    const auto killed = coordinator_->Set(path_, open_->base.data, open_->base.revision);
    if (killed) {
      Held held = open_->base;
      held.revision = *killed;
      return Closed({Verdict::kRefused, held, "its reply was lost, and it was killed"});
    }
    if (killed.error().code == Code::kVersionMismatch) return Compare();
    last = killed.error();
  }
  return StillOpen(last);
}

Outcome ConfigurationRegister::Compare() {
  const auto held = ReadAbove(open_->base.revision);
  if (!held) return StillOpen(held.error());
  const uint64_t epoch = open_->base.shard.epoch;
  if (held->shard.epoch > epoch + 1) {
    return Closed({Verdict::kPassed, *held, "later epochs have followed"});
  }
  if (held->shard.proposal == open_->proposal) return Closed({Verdict::kAccepted, *held, ""});
  return Closed({Verdict::kRefused, *held, "another proposal was accepted, or none"});
}

Outcome ConfigurationRegister::Refused(Revision revision, std::string why) {
  const auto held = ReadAbove(revision);
  if (held) return {Verdict::kRefused, *held, std::move(why)};
  return {Verdict::kRefused, std::nullopt, why + "; " + held.error().message};
}

Outcome ConfigurationRegister::Closed(Outcome outcome) {
  open_.reset();
  return outcome;
}

Outcome ConfigurationRegister::StillOpen(const Error& error) const {
  return {Verdict::kOpen, std::nullopt,
          path_ + ": it is not known yet whether the proposal was accepted: " + error.message};
}

std::expected<Held, Error> ConfigurationRegister::ReadAbove(Revision revision) {
  Error last{Code::kTimeout, path_ + ": the coordinator goes on returning old data"};
  for (int i = 0; i < kReadTries; ++i) {
    const auto value = coordinator_->Get(path_);
    if (!value) return std::unexpected(value.error());
    if (value->revision <= revision) continue;
    auto held = Decoded(*value);
    if (!held) return held;
    const auto is_known = CheckEpoch(held->shard, epoch_);
    if (is_known) {
      epoch_ = held->shard.epoch;
      return held;
    }
    last = {is_known.error().code, path_ + ": " + is_known.error().message};
  }
  return std::unexpected(last);
}

std::expected<Held, Error> ConfigurationRegister::Decoded(const Value& value) const {
  const auto shard = DecodeShard(value.data);
  const auto is_ours =
      shard ? CheckCluster(shard->cluster_id, cluster_id_) : std::unexpected(shard.error());
  if (!is_ours) return Fail(is_ours.error().code, path_ + ": " + is_ours.error().message);
  return Held{*shard, value.revision, value.data};
}

}  // namespace plov::cluster
