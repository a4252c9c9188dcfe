// ShardThreads: all threads that serve shards, and which of them serves which.
//
// A shard that is served by a thread of its own sleeps between two messages unless it has many, and
// to be woken takes a thread longer than a hundred PUTs. So shards share threads: the first thread
// has all of them at first. One that is busy and whose shards have work at the same time gives half
// of it to a thread that has little; one that has had little for a while gives all to another that
// has little, too, and sleeps. Neither changes what a client sees, but how long it takes.
//
// Threads: one creates, starts and destroys it, adds shards and removes them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <expected>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "server/shard_thread.h"

namespace plov::server {

class ShardThreads {
 public:
  // kSystem.
  static std::expected<std::unique_ptr<ShardThreads>, Error> Create(size_t count);
  // Ends all threads, each after its turn.
  ~ShardThreads();

  void Start();
  // One more shard, which has all its ports and stays until this ends or it was removed; before or after Start. Needs a
  // thread. kSystem: it is not served.
  std::expected<void, Error> Add(Shard* shard);
  // It has no turns any more. After Start.
  void Remove(Shard* shard);
  // Any thread.
  void SetSpin(uint32_t spin_us);
  // Whether each of them is; see ShardThread::IsAlive.
  bool IsAlive();
  // How many shards each thread serves. Any thread.
  std::vector<size_t> shard_counts() const;

 private:
  struct Member {
    std::unique_ptr<ShardThread> thread;
    fabric::Clock::time_point little_since{};  // its own: since when it has had little to do
  };

  ShardThreads() = default;
  void Balance(Member* member, const ThreadLoad::Window& window);
  void Share(ShardThread* thread, double busy);
  void Join(ShardThread* thread, double busy);

  std::vector<Member> members_;
  std::mutex mutex_;  // held while shards change threads
  std::vector<std::jthread> threads_;
};

}  // namespace plov::server
