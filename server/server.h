// Server: shards, the workers that serve them, and the listeners that bring them clients.
#pragma once

#include <chrono>
#include <cstdint>
#include <expected>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "fabric/fabric.h"
#include "server/durable_log.h"
#include "server/shard.h"
#include "server/shard_thread.h"
#include "server/warm_start.h"

namespace plov::server {

// No write is slow.
inline constexpr auto kSlowWriteOff = std::chrono::microseconds::max();

struct ServerOptions {
  std::vector<std::string> uris = {"shm:default"};
  uint32_t shards = 1;
  uint32_t threads = 0;  // 0: one for each shard, but fewer than processors, and one at least
  size_t memory_bytes = size_t{1} << 30;  // of all shards together
  uint32_t bucket_bytes = 0;              // 0: each growth of a table chooses
  uint32_t value_bytes_max = verify::kValueBytesMax;
  uint32_t spin_us = 50;
  PageKind pages = PageKind::kNormal;
  std::chrono::microseconds slow_write = std::chrono::milliseconds(10);  // kept, and those above
  uint64_t clients_max = 10'000;
  uint64_t clients_per_user_max = 0;  // 0: no limit
  fabric::Access access = {};         // who may write
  LogOptions log = {};
  std::string given = {};      // lines that say what the operator chose, for the counters' text
  std::string warm_path = {};  // the file of shard 0; shard N's has ".N" appended
};

// Threads: created, run and destroyed by one thread; Stop from any.
class Server {
 public:
  // kNoSpace, kInUse, kPermission, kInvalidArgument, kSystem.
  static std::expected<std::unique_ptr<Server>, Error> Create(const ServerOptions& options);
  ~Server();

  // Starts the workers' threads; from here on clients are served while HandleEvents is called.
  void Start();

  // Waits until `stop_fd` is readable, handling connections.
  void ServeUntil(int stop_fd);

  const std::vector<std::unique_ptr<fabric::Listener>>& listeners() const { return listeners_; }

 private:
  Server() = default;
  std::expected<void, Error> Open(const ServerOptions& options);
  std::expected<void, Error> OpenLog(const ServerOptions& options);
  std::expected<void, Error> OpenStores(const ServerOptions& options);
  std::expected<void, Error> RestoreFromLog(log::CommitMode mode);
  std::expected<void, Error> CreateWorkers(const ServerOptions& options);

  // Destroyed in reverse: threads first, then listeners and their ports, then the memory.
  std::shared_ptr<fabric::Admission> admission_;
  std::vector<WarmStart> warm_;           // of each shard, with --warm and --log
  std::vector<std::string> without_log_;  // the memory files of a server without a log
  std::unique_ptr<DurableLog> log_;       // ended by ~Server, before the shards that it wakes
  std::vector<std::unique_ptr<Shard>> shards_;
  std::vector<std::unique_ptr<fabric::Listener>> listeners_;
  std::vector<std::unique_ptr<ShardThread>> workers_;
  std::vector<std::jthread> threads_;
};

}  // namespace plov::server
