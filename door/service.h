// Service: the door itself - listeners, workers, and the main thread's loop until a signal ends it.
//
// Threads: the main thread; the numbers any.
#pragma once

#include <event2/event.h>

#include <chrono>
#include <expected>
#include <memory>
#include <string>
#include <vector>

#include "door/blocking_calls.h"
#include "door/budget.h"
#include "door/counters.h"
#include "door/listener.h"
#include "door/memcached/users.h"
#include "door/options.h"
#include "door/protocol.h"
#include "door/redis/key_walks.h"
#include "door/totals.h"
#include "door/worker.h"
#include "verify/error.h"

namespace plov::door {

class Service {
 public:
  // Connects every thread to the server and listens everywhere. Errors: Client::Connect's, ListenAt's.
  static std::expected<std::unique_ptr<Service>, Error> Create(const Options& options);
  Service(const Service&) = delete;
  Service& operator=(const Service&) = delete;
  ~Service();

  // Where it listens, as clients name it.
  const std::vector<std::string>& names() const { return names_; }
  Totals totals() const;

  // Reads --memcached-auth-file again; who is connected stays. Errors: Users::Reload's, and who may come in stays.
  std::expected<void, Error> ReloadUsers();

  // Serves. `signals` is a signalfd with SIGTERM and SIGINT, which end it, and SIGHUP, which calls `on_hang_up`;
  // `on_tick` is called about every `tick`, if that is not 0.
  struct Loop {
    int signals = -1;
    std::function<void()> on_hang_up;
    std::chrono::microseconds tick{0};
    std::function<void()> on_tick;
  };
  void Run(const Loop& loop);

 private:
  Service(const Options& options, std::unique_ptr<memcached::Users> users);
  std::expected<void, Error> Connect();
  std::expected<void, Error> Listen(const std::vector<std::string>& places,
                                    const ProtocolFactory* factory);
  std::expected<void, Error> Listen(const std::string& place, const ProtocolFactory* factory);
  static void OnSignal(int fd, short what, void* self);

  const Options options_;
  const std::chrono::steady_clock::time_point started_at_;
  Budget budget_;
  Admission admission_;
  std::unique_ptr<event_base, void (*)(event_base*)> base_;
  const std::unique_ptr<memcached::Users>
      users_;  // of memcached's clients; nullptr: all may come in
  // Requests of the workers end by these.
  redis::KeyWalks walks_;
  BlockingCalls calls_;
  std::unique_ptr<const ProtocolFactory> memcached_;
  std::unique_ptr<const ProtocolFactory> redis_;
  std::vector<std::unique_ptr<Worker>> workers_;
  std::vector<std::unique_ptr<Listener>> listeners_;
  std::vector<std::string> names_;
  const Loop* loop_ = nullptr;
};

}  // namespace plov::door
