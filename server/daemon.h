// Daemon: the main thread of plovd once it serves: signals, connections, commands of operators, and what is due
// by time - the watchdog, the status, a drain - until it is to end.
//
// Threads: one. Nothing here waits for a shard: a thread that is stuck is noticed, and the watchdog not fed.
#pragma once

#include <chrono>
#include <expected>
#include <optional>
#include <string>

#include "server/command_queue.h"
#include "server/drain.h"
#include "server/server.h"
#include "server/settings.h"
#include "service/log_output.h"

namespace plov::server {

class Daemon {
 public:
  // All outlive it.
  Daemon(Server* server, Settings* settings, service::LogOutput* output);

  // Serves until a signal or a drain ends it. signal_fd: a signalfd of SIGTERM, SIGINT and SIGHUP.
  void Run(int signal_fd);

  // How the server is, in a line.
  std::string StatusLine() const;

 private:
  using Clock = std::chrono::steady_clock;
  using Answer = std::expected<std::string, Error>;
  struct Verb {
    const char* name;
    bool changes;  // only for who may change the server
    Answer (Daemon::*run)(const std::string& argument);
  };
  static const Verb kVerbs[];

  void TakeSignals(int signal_fd);
  void TakeNotices(fabric::Listener* listener);
  void Reload();
  void AnswerCommands();
  Answer AnswerOne(const Command& command);
  Answer OnConfig(const std::string& argument);
  Answer OnSet(const std::string& argument);
  Answer OnDrain(const std::string& argument);
  Answer OnResume(const std::string& argument);
  Answer OnStatus(const std::string& argument);
  void LookAtDrain(Clock::time_point now);
  // Ends it, once others have what it had replicas of; at once where it is asked again.
  void End();
  // Does what is due; returns when it is to be called again, Clock::time_point::max() for never.
  Clock::time_point DoDue(Clock::time_point now);

  Server* server_;
  Settings* settings_;
  service::LogOutput* output_;
  Drain drain_;
  uint64_t drain_told_ = 0;  // clients left, in the log
  bool ends_ = false;
  std::optional<Clock::time_point> leave_by_;  // once it waits for others to take over
  Clock::duration watch_every_;                // zero: there is no watchdog
  Clock::time_point watch_at_;
  Clock::time_point status_at_;
  std::string status_;  // as it was said last
};

}  // namespace plov::server
