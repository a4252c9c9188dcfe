#include "torture/fleet.h"

#include <thread>

namespace plov::torture {

namespace {

using std::chrono::milliseconds;

// Far more than a call of a client takes, whatever the server does.
constexpr std::chrono::seconds kWaitMax{60};

std::string NameOf(size_t index) { return "client " + std::to_string(index); }

}  // namespace

std::expected<program::Process, Error> Fleet::Launch(size_t index) {
  auditor_->Open(index);
  return program::Process::Start({program::OwnPath(), "worker", std::to_string(mapping_->fd()),
                                  std::to_string(index), std::to_string(next_process_++)},
                                 {.inherited = mapping_->fd()});
}

std::expected<void, Error> Fleet::Start(size_t clients) {
  for (size_t i = 0; i < clients; ++i) {
    auto process = Launch(i);
    if (!process) return std::unexpected(process.error());
    processes_.push_back(std::move(*process));
  }
  return {};
}

// Takes over what a process that has ended leaves.
void Fleet::Retire(size_t index) {
  auditor_->Close(index);
  ClientReport& report = mapping_->memory()->reports[index];
  for (size_t i = 0; i < kCounts; ++i) {
    former_[i] += report.counts[i].exchange(0, std::memory_order_relaxed);
  }
  if (report.is_lie.exchange(false, std::memory_order_acquire)) {
    lies_.emplace_back(report.lie.data());
  }
  report.connected.store(false, std::memory_order_relaxed);
  report.parked_at.store(0, std::memory_order_relaxed);
}

std::expected<void, Error> Fleet::Replace(size_t index) {
  processes_[index].Kill();
  Retire(index);
  auto process = Launch(index);
  if (!process) return std::unexpected(process.error());
  processes_[index] = std::move(*process);
  return {};
}

void Fleet::Park() {
  auto& barrier = mapping_->memory()->barrier;
  const uint64_t now = barrier.load(std::memory_order_relaxed);
  if (now % 2 == 0) barrier.store(now + 1, std::memory_order_release);
}

std::optional<std::string> Fleet::AwaitParked() {
  const uint64_t barrier = mapping_->memory()->barrier.load(std::memory_order_relaxed);
  const auto end = std::chrono::steady_clock::now() + kWaitMax;
  for (size_t i = 0; i < processes_.size(); ++i) {
    // Pairs with Worker::AwaitRun: what the client did before is in its ring.
    const auto& parked_at = mapping_->memory()->reports[i].parked_at;
    while (parked_at.load(std::memory_order_acquire) != barrier) {
      if (processes_[i].HasEnded()) return NameOf(i) + " ended: " + processes_[i].ending();
      if (std::chrono::steady_clock::now() > end) return NameOf(i) + " hangs in a call for 60 s";
      std::this_thread::sleep_for(milliseconds(1));
    }
  }
  return std::nullopt;
}

void Fleet::Release() {
  auto& barrier = mapping_->memory()->barrier;
  const uint64_t now = barrier.load(std::memory_order_relaxed);
  if (now % 2 == 1) barrier.store(now + 1, std::memory_order_release);
}

std::optional<std::string> Fleet::UnexpectedExit() {
  for (size_t i = 0; i < processes_.size(); ++i) {
    if (processes_[i].HasEnded()) return NameOf(i) + " ended: " + processes_[i].ending();
  }
  return std::nullopt;
}

std::optional<std::string> Fleet::Stop() {
  std::optional<std::string> wrong;
  // Before any of them can end: a process that looks for its leaks at its end waits for a SIGSTOP of
  // its own, which SIGCONT takes back.
  for (program::Process& process : processes_) process.Continue();
  mapping_->memory()->stop.store(true, std::memory_order_relaxed);
  for (size_t i = 0; i < processes_.size(); ++i) {
    if (!processes_[i].Await(kWaitMax)) wrong = NameOf(i) + " hangs in a call for 60 s";
    processes_[i].Kill();
    if (!wrong && processes_[i].ending() != "exit status 0") {
      wrong = NameOf(i) + " ended: " + processes_[i].ending();
    }
    Retire(i);
  }
  processes_.clear();
  return wrong;
}

Counts Fleet::counts() const {
  Counts counts = former_;
  for (size_t client = 0; client < processes_.size(); ++client) {
    const ClientReport& report = mapping_->memory()->reports[client];
    for (size_t i = 0; i < kCounts; ++i) {
      counts[i] += report.counts[i].load(std::memory_order_relaxed);
    }
  }
  return counts;
}

bool Fleet::has_lie() const {
  const auto& reports = mapping_->memory()->reports;
  bool any = !lies_.empty();
  for (size_t i = 0; i < processes_.size(); ++i) {
    any = any || reports[i].is_lie.load(std::memory_order_acquire);
  }
  return any;
}

}  // namespace plov::torture
