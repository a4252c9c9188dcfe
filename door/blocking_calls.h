// BlockingCalls: a thread with a libplov Client of its own, for calls of it that have no asynchronous form. They are
// made one after the other, so that no worker waits for them.
//
// The thread begins with the first call, and is connected only while there are calls: an idle Client would keep
// memory of a table that has grown.
//
// Threads: any.
#pragma once

#include <plov/client.h>

#include <condition_variable>
#include <deque>
#include <expected>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>

namespace plov::door {

class BlockingCalls {
 public:
  // Gets the client, or why there is none.
  using Call = std::move_only_function<void(std::expected<Client*, Error>)>;

  // on_idle: called in the thread about every second that it has nothing to do, as long as it returns true, from the
  // last call on.
  BlockingCalls(
      std::string server, const ClientOptions& options,
      std::function<bool()> on_idle = [] { return false; })
      : server_(std::move(server)), options_(options), on_idle_(std::move(on_idle)) {}
  BlockingCalls(const BlockingCalls&) = delete;
  BlockingCalls& operator=(const BlockingCalls&) = delete;
  // Waits for the call that has begun; the others are dropped.
  ~BlockingCalls();

  void Add(Call call);

 private:
  void Run();
  void Make(Call* call, std::optional<Client>* client) const;

  const std::string server_;
  const ClientOptions options_;
  const std::function<bool()> on_idle_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Call> calls_;    // under mutex_
  bool is_stopping_ = false;  // under mutex_
  std::thread thread_;        // under mutex_ until is_stopping_
};

}  // namespace plov::door
