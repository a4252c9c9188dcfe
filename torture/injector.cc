// Runner: the faults.

#include <algorithm>
#include <thread>

#include "torture/runner.h"

namespace plov::torture {

namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;

// What one round holds of each: a stop costs little, a full memory or a new life much.
struct Share {
  Fault fault;
  int times;
};
constexpr Share kRound[] = {
    {Fault::kStop, 4}, {Fault::kKillClient, 2}, {Fault::kFull, 1}, {Fault::kKillServer, 1}};
constexpr microseconds kBetweenMin = milliseconds(30);
constexpr microseconds kBetweenMax = milliseconds(150);
constexpr microseconds kStopMin{100};
constexpr microseconds kStopMax = milliseconds(40);
constexpr uint64_t kEmptyLifeOneIn = 3;

}  // namespace

microseconds Runner::Draw(microseconds least, microseconds most) {
  const auto range = static_cast<uint64_t>((most - least).count());
  return least + microseconds(static_cast<int64_t>(random_.Below(range + 1)));
}

// Rounds hold every fault, in any order, so that a short run has all of them.
void Runner::Schedule() {
  next_fault_ = Clock::now() + Draw(kBetweenMin, kBetweenMax);
  if (!round_.empty()) return;
  for (const Share& share : kRound) {
    for (int i = 0; i < share.times && options_.has(share.fault); ++i) {
      round_.insert(round_.begin() + static_cast<std::ptrdiff_t>(random_.Below(round_.size() + 1)),
                    share.fault);
    }
  }
}

std::expected<void, Error> Runner::Inject(Fault fault) {
  switch (fault) {
    case Fault::kStop:
      InjectStop();
      return {};
    case Fault::kKillClient:
      return fleet_.Replace(random_.Below(fleet_.size()));
    case Fault::kKillServer:
      // One in three, the first of them the second.
      if (++kills_ % kEmptyLifeOneIn == 2) return InjectEmptyLife();
      return InjectKillServer();
    case Fault::kFull:
      InjectFull();
      return {};
    case Fault::kPause:  // the clients' own
    case Fault::kDeadline:
    case Fault::kClock:
    case Fault::kGrowth:  // OpenKeys
      break;
  }
  return {};
}

void Runner::InjectStop() {
  const bool server = target_->is_own() && random_.Below(2) == 0;
  program::Process& process =
      server ? target_->process() : fleet_.process(random_.Below(fleet_.size()));
  process.Stop();
  std::this_thread::sleep_for(Draw(kStopMin, kStopMax));
  process.Continue();
}

// The next life goes on with the memory, and the history goes on.
std::expected<void, Error> Runner::InjectKillServer() {
  target_->Kill();
  std::this_thread::sleep_for(Draw(microseconds(0), kStopMax));
  ++evidence_.server_lives;
  return target_->Restart(program::Life::kWarm);
}

// No operation may be in both lives: the other one begins when all have ended. Only standing items
// are got meanwhile.
std::expected<void, Error> Runner::InjectEmptyLife() {
  const bool fails_over = options_.servers > 1;
  if (fails_over) {
    if (auto started = target_->StartStandby(); !started) return started;
  }
  fleet_.Park();
  if (!fails_over) target_->Kill();
  if (!EndHistory()) return {};
  memory()->history.fetch_add(1, std::memory_order_relaxed);
  ++evidence_.server_lives;
  std::expected<void, Error> served;
  if (fails_over) {
    target_->FailOver();
    ++evidence_.fail_overs;
    std::this_thread::sleep_for(Draw(kStopMin, kStopMax));
  } else {
    served = target_->Restart(program::Life::kEmpty);
  }
  fleet_.Release();
  return served;
}

void Runner::InjectFull() {
  const uint32_t history = memory()->history.load(std::memory_order_relaxed);
  target_->Fill(history);
  std::this_thread::sleep_for(Draw(kStopMin, kStopMax));
  target_->Drain(history);
}

}  // namespace plov::torture
