// Dialer: connects to one other server of the cluster, in a thread of its own, because a host that is gone answers
// nobody for a while.
//
// Threads: any, but for what it does itself.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <expected>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "fabric/fabric.h"

namespace plov::server {

class Dialer {
 public:
  using Connector = std::function<std::expected<std::unique_ptr<fabric::Connection>, Error>(
      std::string_view uri, const fabric::ConnectOptions& options)>;

  // name: of the server, for the log, which hears why it cannot be reached. uris: tried in their order. wake: called in
  // the dialer's thread when there is something to Take.
  Dialer(std::string name, std::vector<std::string> uris, std::function<void()> wake,
         Connector connector = fabric::Connection::Connect);

  // Where it is from now on.
  void SetUris(std::vector<std::string> uris);
  // A connection to what the server exposes under this number is wanted: it is tried once, soon.
  void Ask(uint32_t shard);
  // Null: there is none yet. Whoever takes it is its thread.
  std::unique_ptr<fabric::Connection> Take(uint32_t shard);
  // Whether nobody answered when this was tried last.
  bool IsAway(uint32_t shard);

 private:
  void Run(const std::stop_token& stop);
  // Under the mutex: one that is due, or when the next is.
  std::optional<uint32_t> NextDue(fabric::Clock::time_point* next) const;
  // Under the lock, which it gives up meanwhile.
  void Try(uint32_t shard, std::unique_lock<std::mutex>* lock);
  // is_away: nobody answers at any of them.
  std::unique_ptr<fabric::Connection> Connect(const std::vector<std::string>& uris, uint32_t shard,
                                              bool* is_away);

  const std::string name_;
  const std::function<void()> wake_;
  const Connector connector_;
  std::mutex mutex_;
  std::vector<std::string> uris_;
  std::condition_variable_any asked_;
  std::map<uint32_t, fabric::Clock::time_point> wanted_;  // and not before
  struct Tried {
    fabric::Clock::time_point at;
    bool is_away;
  };
  std::map<uint32_t, Tried> tried_;
  std::map<uint32_t, std::unique_ptr<fabric::Connection>> dialled_;
  std::string trouble_;  // that the log has heard of; of the thread
  std::jthread thread_;  // the last, so that it ends first
};

}  // namespace plov::server
