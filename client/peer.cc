#include "client/peer.h"

#include <algorithm>
#include <utility>

namespace plov {

using fabric::Clock;

namespace {

constexpr std::chrono::microseconds kBackoffMin = std::chrono::milliseconds(1);
constexpr std::chrono::microseconds kBackoffMax = std::chrono::milliseconds(100);
// A host that does not answer costs so much of the time of the others. One that is far away or busy may need more: up to
// half of what an operation may take, within these.
constexpr std::chrono::microseconds kAttemptFirst = std::chrono::milliseconds(50);
constexpr std::chrono::microseconds kAttemptLastMin = std::chrono::milliseconds(200);
constexpr std::chrono::microseconds kAttemptLastMax = std::chrono::seconds(1);

}  // namespace

Peer::Peer(Target target, uint32_t first_shard, const ClientOptions& options, OathLinks* oath_links,
           Callbacks* callbacks)
    : target_(std::move(target)),
      first_shard_(first_shard),
      options_(options),
      oath_links_(oath_links),
      callbacks_(callbacks),
      life_(std::make_unique<Life>(target_, options, oath_links, callbacks)),
      attempt_max_(kAttemptFirst) {}

void Peer::MoveTo(const Target& target) {
  if (target_ == target) return;
  target_ = target;
  next_attempt_ = {};
  backoff_ = {};
  is_silent_ = false;
}

// Memory may run out before anything has changed.
void Peer::TakeDown() {
  down_ = {Code::kUnavailable, "the server went away"};
  is_up_ = false;
  next_attempt_ = {};
  for (const auto& link : life_->links()) link->LeaveOaths();
}

std::expected<std::unique_ptr<Life>, Error> Peer::Attempt(Deadline deadline) {
  const uint64_t incarnation = life_->incarnation(), epoch = life_->epoch();
  std::unique_ptr<Life> next;
  auto connected = life_->Connect(target_, deadline);
  if (connected && !*connected) {
    next = std::make_unique<Life>(target_, options_, oath_links_, callbacks_);
    connected = next->Connect(target_, deadline);
  }
  if (!connected) {
    OnFailed(&connected.error());
    return std::unexpected(std::move(connected.error()));
  }
  backoff_ = {};
  is_silent_ = false;
  if (next != nullptr) return next;
  // The next primary of a shard of a cluster has all that the former one has acknowledged.
  const bool is_other = incarnation != 0 && life_->incarnation() != incarnation;
  if (is_other && life_->epoch() == epoch) OnOtherLife();
  is_up_ = true;
  return nullptr;
}

void Peer::OnOtherLife() {
  restart_puts_ = puts();
  ++lives_;
}

void Peer::Begin(std::unique_ptr<Life> life) {
  life_->AddTo(&former_);
  life_ = std::move(life);
  OnOtherLife();
  is_up_ = true;
}

// Of a shard of a cluster nothing was sent by an attempt, so there is nothing that may be applied yet.
void Peer::OnFailed(Error* error) {
  is_silent_ = error->code == Code::kTimeout;
  if (is_silent_) {
    const auto last = std::clamp(options_.timeout / 2, kAttemptLastMin, kAttemptLastMax);
    attempt_max_ = std::min(attempt_max_ * 2, last);
  }
  if (error->code == Code::kNoShard) error->code = Code::kUnavailable;  // it may come back
  if (target_.part) {
    if (error->code == Code::kTimeout) error->code = Code::kUnavailable;
    error->message =
        "shard " + std::to_string(target_.part->shard) + " of the cluster: " + error->message;
  }
  down_ = *error;
  backoff_ = std::clamp(backoff_ * 2, kBackoffMin, kBackoffMax);
  next_attempt_ = Clock::now() + backoff_;
}

bool Peer::EndSync() {
  const bool is_lost = restart_puts_ > synced_puts_;
  synced_puts_ = syncing_puts_;  // one that ended meanwhile is told of by the next
  return is_lost;
}

void Peer::AddTo(ClientStats* stats) const {
  stats->puts += former_.puts;
  stats->lives += lives_;
  stats->late_reads += former_.late_reads;
  stats->refreshes += former_.refreshes;
  life_->AddTo(stats);
}

}  // namespace plov
