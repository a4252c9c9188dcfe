#include "server/daemon.h"

#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <spdlog/spdlog.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <vector>

#include "service/notifier.h"

namespace plov::server {

using service::Notifier;

namespace {

// Of the watchdog's time: so a turn may take three quarters of it, and a look that comes late is no end.
constexpr int kWatchParts = 4;
constexpr std::chrono::seconds kStatusEvery{5};
constexpr std::chrono::milliseconds kDrainEvery{50};
constexpr std::chrono::hours kDrainMax{24};
constexpr std::chrono::seconds kLeaveMax{5};
constexpr std::chrono::milliseconds kLeaveEvery{10};

std::string Counted(uint64_t clients) {
  return fmt::format("{} {}", clients, clients == 1 ? "client" : "clients");
}

}  // namespace

// What `plov config` and `plov drain` say.
const Daemon::Verb Daemon::kVerbs[] = {
    {"config", false, &Daemon::OnConfig}, {"set", true, &Daemon::OnSet},
    {"drain", true, &Daemon::OnDrain},    {"resume", true, &Daemon::OnResume},
    {"status", false, &Daemon::OnStatus},
};

Daemon::Daemon(Server* server, Settings* settings, service::LogOutput* output)
    : server_(server),
      settings_(settings),
      output_(output),
      watch_every_(Notifier::watchdog() / kWatchParts) {}

void Daemon::Run(int signal_fd) {
  std::vector<pollfd> poll_fds = {{signal_fd, POLLIN, 0}, {server_->commands()->fd(), POLLIN, 0}};
  ClusterService* const cluster = server_->cluster();
  ClusterReplicas* const replicas = server_->replicas();
  poll_fds.push_back({cluster == nullptr ? -1 : cluster->fd(), POLLIN, 0});
  poll_fds.push_back({replicas == nullptr ? -1 : replicas->fd(), POLLIN, 0});
  const size_t first = poll_fds.size();
  for (const auto& listener : server_->listeners()) poll_fds.push_back({listener->fd(), POLLIN, 0});
  while (!ends_) {
    const Clock::time_point now = Clock::now();
    const Clock::time_point due = DoDue(now);
    const auto wait = std::chrono::ceil<std::chrono::milliseconds>(due - now).count();
    const int wait_ms =
        due == Clock::time_point::max() ? -1 : static_cast<int>(std::max<int64_t>(wait, 0));
    if (ends_ || ::poll(poll_fds.data(), poll_fds.size(), wait_ms) <= 0) continue;  // or EINTR
    if (poll_fds[0].revents != 0) TakeSignals(signal_fd);
    if (poll_fds[1].revents != 0) AnswerCommands();
    if (poll_fds[2].revents != 0) cluster->HandleEvents();
    if (poll_fds[3].revents != 0) replicas->HandleEvents();
    for (size_t i = first; i < poll_fds.size(); ++i) {
      if (poll_fds[i].revents != 0) TakeNotices(server_->listeners()[i - first].get());
    }
  }
}

void Daemon::TakeSignals(int signal_fd) {
  signalfd_siginfo signal{};
  if (::read(signal_fd, &signal, sizeof(signal)) != sizeof(signal)) return;
  if (signal.ssi_signo == SIGHUP) return Reload();
  End();
}

void Daemon::End() {
  ClusterReplicas* const replicas = server_->replicas();
  if (replicas == nullptr || leave_by_) {
    ends_ = true;
    return;
  }
  replicas->Leave();
  leave_by_ = Clock::now() + kLeaveMax;
}

void Daemon::Reload() {
  Notifier::Reloading();
  output_->Reopen();
  settings_->Reload();
  Notifier::Ready(status_ = StatusLine());
}

void Daemon::TakeNotices(fabric::Listener* listener) {
  listener->HandleEvents();
  while (true) {
    const std::string notice = listener->TakeNotice();
    if (notice.empty()) return;
    spdlog::warn("{}", notice);
  }
}

std::string Daemon::StatusLine() const {
  const Server::Facts facts = server_->facts();
  return fmt::format("{} {} items, {} MiB used, {} clients",
                     drain_.state() == Drain::State::kServing ? "serving" : "draining", facts.items,
                     facts.memory_used_bytes >> 20, facts.clients);
}

void Daemon::AnswerCommands() {
  for (const auto& command : server_->commands()->Take()) {
    server_->commands()->Answer(command.get(), AnswerOne(*command));
  }
}

Daemon::Answer Daemon::AnswerOne(const Command& command) {
  for (const Verb& verb : kVerbs) {
    if (command.name != verb.name) continue;
    if (!verb.changes || command.may_change) return (this->*verb.run)(command.argument);
    return Fail(Code::kPermission, "only root and the server's user may change how it runs");
  }
  return Fail(Code::kInvalidArgument,
              "the server knows no such command: use the same release of both");
}

Daemon::Answer Daemon::OnConfig(const std::string& argument) { return settings_->Get(argument); }

Daemon::Answer Daemon::OnSet(const std::string& argument) {
  const size_t space = argument.find(' ');
  const std::string name = argument.substr(0, space);
  const std::string value = space == std::string::npos ? "" : argument.substr(space + 1);
  if (auto set = settings_->Set(name, value); !set) return std::unexpected(set.error());
  return settings_->Get(name);
}

Daemon::Answer Daemon::OnDrain(const std::string& argument) {
  int64_t limit_ms = -1;
  const char* end = argument.data() + argument.size();
  const auto [rest, failure] = std::from_chars(argument.data(), end, limit_ms);
  const std::chrono::milliseconds limit(limit_ms);
  if (failure != std::errc() || rest != end || limit_ms < 0 || limit > kDrainMax) {
    return Fail(Code::kInvalidArgument, "a drain takes 0 milliseconds to 24 hours");
  }
  const uint64_t clients = server_->facts().clients;
  server_->SetDraining(true);
  drain_.Begin(limit, Clock::now());
  drain_told_ = clients;
  spdlog::info("draining: no new client is let in; {} left, for {:.1f} s at most", Counted(clients),
               static_cast<double>(limit_ms) / 1e3);
  return OnStatus({});
}

Daemon::Answer Daemon::OnResume(const std::string&) {
  if (drain_.state() == Drain::State::kDrained) {
    return Fail(Code::kUnavailable, "the server is drained and ends");
  }
  if (drain_.state() == Drain::State::kDraining) spdlog::info("the drain was cancelled: serving");
  server_->SetDraining(false);
  drain_.Cancel();
  return OnStatus({});
}

Daemon::Answer Daemon::OnStatus(const std::string&) {
  const Clock::time_point now = Clock::now();
  LookAtDrain(now);
  return drain_.Tell(server_->facts().clients, now);
}

void Daemon::LookAtDrain(Clock::time_point now) {
  if (drain_.state() != Drain::State::kDraining) return;
  const uint64_t clients = server_->facts().clients;
  if (drain_.Look(clients, now) == Drain::State::kDrained) {
    spdlog::info("drained: {}", clients == 0
                                    ? "all clients have gone"
                                    : fmt::format("{} did not go in time", Counted(clients)));
  } else if (clients <= drain_told_ / 2) {
    spdlog::info("draining: {} left", Counted(clients));
    drain_told_ = clients;
  }
}

Daemon::Clock::time_point Daemon::DoDue(Clock::time_point now) {
  Clock::time_point next = Clock::time_point::max();
  if (drain_.state() != Drain::State::kServing) {
    LookAtDrain(now);
    if (!leave_by_ && drain_.IsOver(server_->facts().administrators, now)) End();
    next = now + kDrainEvery;
  }
  if (leave_by_) {
    ends_ = ends_ || now >= *leave_by_ || server_->replicas()->has_left();
    next = std::min(next, now + kLeaveEvery);
  }
  if (watch_every_ > Clock::duration()) {
    if (now >= watch_at_) {
      watch_at_ = now + watch_every_;
      if (server_->IsAlive()) Notifier::Alive();
    }
    next = std::min(next, watch_at_);
  }
  if (Notifier::is_on()) {
    if (now >= status_at_) {
      status_at_ = now + kStatusEvery;
      std::string status = StatusLine();
      if (status != status_) Notifier::Status(status_ = std::move(status));
    }
    next = std::min(next, status_at_);
  }
  return next;
}

}  // namespace plov::server
