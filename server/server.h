// Server: shards, the threads that serve them, and the listeners that bring them clients.
#pragma once

#include <chrono>
#include <cstdint>
#include <expected>
#include <memory>
#include <string>
#include <vector>

#include "fabric/fabric.h"
#include "server/durable_log.h"
#include "server/shard.h"
#include "server/shard_threads.h"
#include "server/warm_start.h"
#include "verify/counters.h"

namespace plov::server {

// No write is slow.
inline constexpr auto kSlowWriteOff = std::chrono::microseconds::max();

struct ServerOptions {
  std::vector<std::string> uris = {"shm:default"};
  uint32_t shards = 1;
  uint32_t threads = 0;                   // at most; 0: fewer than processors, and one at least
  size_t memory_bytes = size_t{1} << 30;  // of all shards together
  uint32_t bucket_bytes = 0;              // 0: each growth of a table chooses
  uint32_t value_bytes_max = verify::kValueBytesMax;
  uint32_t spin_us = 50;
  HugePages huge_pages = HugePages::kAuto;
  std::chrono::microseconds slow_write = std::chrono::milliseconds(10);  // kept, and those above
  uint64_t clients_max = 10'000;
  uint64_t clients_per_user_max = 0;             // 0: no limit
  fabric::Access access = {};                    // who may write
  fabric::shm::PassedSockets* passed = nullptr;  // sockets that listen already; used by Create
  LogOptions log = {};
  std::string given = {};      // lines that say what the operator chose, for the counters' text
  std::string warm_path = {};  // the file of shard 0; shard N's has ".N" appended
};

// Threads: created, run and destroyed by one thread; ReadCounters by any.
class Server {
 public:
  // kNoSpace, kInUse, kPermission, kInvalidArgument, kSystem.
  static std::expected<std::unique_ptr<Server>, Error> Create(const ServerOptions& options);
  ~Server();

  // Starts the shards' threads; from here on clients are served while HandleEvents is called.
  void Start();

  // Clients come here: HandleEvents of each, when its fd is readable.
  const std::vector<std::unique_ptr<fabric::Listener>>& listeners() const { return listeners_; }
  // And commands of operators here.
  CommandQueue* commands() { return commands_.get(); }

  // Whether every thread that serves shards is; see ShardThread::IsAlive.
  bool IsAlive() { return threads_->IsAlive(); }
  struct Facts {
    uint64_t clients = 0;
    uint64_t administrators = 0;
    uint64_t items = 0;
    uint64_t memory_used_bytes = 0;
    uint64_t memory_committed_bytes = 0;
  };
  Facts facts() const;

  // Live settings. They are as good as the same options of a start.
  void SetSpin(uint32_t spin_us);
  void KeepSlow(std::chrono::microseconds threshold);
  void SetClientLimits(const fabric::Admission::Limits& limits) { admission_->SetLimits(limits); }
  void SetDraining(bool draining) { admission_->SetDraining(draining); }
  void SetSnapshots(const log::Snapshots::Options& options);
  // Of all shards together. kInvalidArgument: less than it is, more than what was mapped at the start, or
  // memory that was taken whole.
  std::expected<void, Error> RaiseMemory(size_t bytes);

  // The file of a shard's warm memory.
  static std::string WarmPathOf(const ServerOptions& options, uint32_t shard);

  // What the shards tell of themselves, as clients READ it; costs their threads nothing. Any thread.
  std::vector<verify::Counters> ReadCounters() const;

 private:
  Server() = default;
  std::expected<void, Error> Open(const ServerOptions& options);
  std::expected<void, Error> OpenLog(const ServerOptions& options);
  std::expected<void, Error> OpenStores(const ServerOptions& options);
  std::expected<void, Error> RestoreFromLog(log::CommitMode mode);

  // Destroyed in reverse: threads first, then listeners and their ports, then the memory.
  std::shared_ptr<fabric::Admission> admission_;
  std::vector<WarmStart> warm_;           // of each shard, with --warm and --log
  std::vector<std::string> without_log_;  // the memory files of a server without a log
  std::unique_ptr<DurableLog> log_;       // ended by ~Server, before the shards that it wakes
  size_t memory_bytes_ = 0;               // of all shards
  std::unique_ptr<CommandQueue> commands_;
  std::vector<std::unique_ptr<Shard>> shards_;
  std::vector<std::unique_ptr<fabric::Listener>> listeners_;
  std::unique_ptr<ShardThreads> threads_;
};

}  // namespace plov::server
