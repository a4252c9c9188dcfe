// Engine: what is behind a Client - the peers that it is connected to, GETs and writes under way, and
// turns in which they move on.
//
// Pump makes a turn and does not wait but for an attempt to reconnect a peer; the blocking calls are loops
// over Pump and Idle. Threads: one at a time.
#pragma once

#include <plov/client.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <deque>
#include <expected>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "client/callbacks.h"
#include "client/controls.h"
#include "client/flushes.h"
#include "client/gets.h"
#include "client/peers.h"
#include "client/reports.h"
#include "client/scan.h"
#include "client/started.h"
#include "client/transactions.h"
#include "client/writes.h"
#include "fabric/fabric.h"
#include "fabric/os.h"
#include "fabric/spin.h"

namespace plov {

class Engine {
 public:
  static std::expected<std::unique_ptr<Engine>, Error> Connect(std::string_view uri,
                                                               const ClientOptions& options);
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;
  // Tells whoever waits that the client is closed.
  ~Engine();

  // Blocking.
  // deadline: of the call that this is part of; else the options' from now on.
  Client::GetResult Get(std::string_view key, std::optional<std::span<std::byte>> into,
                        std::optional<Deadline> deadline = {});
  // Does not block: std::nullopt when Get would.
  std::optional<Client::GetResult> TryGet(std::string_view key);
  std::expected<std::chrono::microseconds, Error> Age(std::string_view key);
  std::expected<ServerTime, Error> Time(std::string_view key);
  void GetMany(std::span<const std::string_view> keys,
               void (*done)(void*, size_t, Client::GetResult), void* context,
               std::span<Evidence> evidence = {});
  Transactions& transactions() { return transactions_; }
  WriteResult DoWrite(Write write, std::optional<Deadline> deadline = {});
  // The item as it is then, with its new expiry; nullopt: there is none. The bytes as of Get.
  Client::GetResult GetAndTouch(std::string_view key, Lifetime ttl);
  // `make` gives the write of an index.
  void WriteMany(size_t count, const std::function<Write(size_t)>& make,
                 const std::function<void(size_t, WriteResult)>& done);
  // Asks all shards at once, or one.
  Controls::Result Control(const verify::Request& request, Controls::To to = Controls::To::kAll);
  Controls::Result Control(verify::Operation operation, Controls::To to = Controls::To::kAll) {
    return Control(verify::Request{.operation = operation}, to);
  }
  std::expected<void, Error> Sync();
  Client::FlushResult Flush(std::chrono::seconds delay);
  std::expected<std::vector<std::string>, Error> ServerStats(Freshness freshness);
  std::expected<std::vector<SlowWrite>, Error> SlowWrites();
  // Of everything, or once round from a random place.
  std::expected<ScanSummary, Error> Scan(ScanCallback* item, std::optional<uint64_t> from = {});

  // Asynchronous. May throw std::bad_alloc; then `done` is as it was. `convert` makes of a result what it is told.
  void StartGet(std::string_view key, Client::GetCallback&& done) {
    started_.Start(std::make_unique<Started::StartedGet>(key, DeadlineFromNow(), std::move(done)));
  }
  template <typename Callback, typename Result>
  void StartWrite(Write write, Callback&& done, Result (*convert)(WriteResult)) {
    write.deadline = DeadlineFromNow();
    started_.Start(
        std::make_unique<Started::Told<Callback, Result>>(write, std::move(done), convert));
  }
  void StartCommit(EncodedCommit&& commit, Client::PutCallback&& done) {
    started_.Start(std::make_unique<Started::StartedCommit>(std::move(commit), DeadlineFromNow(),
                                                            std::move(done)));
  }
  void StartFlush(std::chrono::seconds delay, Client::FlushCallback&& done) {
    flushes_.Start(delay, std::move(done));
  }
  size_t Poll();
  // Operations that have not ended.
  size_t started() const { return started_.count() + flushes_.count(); }
  int fd() const { return epoll_.get(); }
  // fd() is readable when the other's is, too.
  void Watch(const Engine& other) { Watch(other.fd()); }
  std::chrono::microseconds next_poll() const;

  Deadline DeadlineFromNow() const { return fabric::Clock::now() + options_.timeout; }
  // Operations of these keys that were started end first.
  void AwaitStarted(std::span<const std::string_view> keys);
  uint32_t ShardOf(std::string_view key) const { return peers_->ShardOf(peers_->HashOf(key)); }
  void AddTo(ClientStats* stats) const;
  uint32_t shard_count() const { return peers_->shard_count(); }
  // Of a cluster, and of no single server of it.
  bool is_cluster() const { return peers_->is_cluster() && !peers_->is_member(); }
  Callbacks& callbacks() { return callbacks_; }
  // Memory ran out somewhere in a turn: ends the connections, so that what was under way begins
  // again, or is sent again, on new ones.
  void Reset() noexcept;

  // None of a single server of a cluster.
  bool has_items() const { return has_items_; }

  // One call at a time; see Client's thread rule. What enters names its thread. That is a load and
  // a store, since an atomic exchange would keep the processor from beginning one GET before the
  // last has ended (a fifth of a GET's time). Two threads that enter within the nanosecond between
  // are found out when they leave, and then no call enters any more.
  bool Enter() {
    if (entered_.load(std::memory_order_relaxed) != nullptr) return false;
    entered_.store(__builtin_thread_pointer(), std::memory_order_relaxed);
    return true;
  }
  void Leave() {
    const bool is_mine = IsEnteredByThisThread();
    entered_.store(is_mine ? nullptr : this, std::memory_order_relaxed);
  }
  bool IsEnteredByThisThread() const {
    return entered_.load(std::memory_order_relaxed) == __builtin_thread_pointer();
  }

 private:
  Engine(std::string_view uri, const ClientOptions& options);

  // Connects the next peer that is to be; whether one is up that was not.
  bool Reconnect();
  void BringUp(Peer* peer, std::unique_ptr<Life> next);
  void Attach(Peer* peer);
  void Watch(int fd);
  // Whether any peer was found dead; what it has answered before counts.
  bool TakeDead();
  void TakeDown(Peer* peer);
  // Until all have ended, which have deadlines of their own.
  void AwaitGets(Deadline deadline);
  std::expected<void, Error> AwaitShard(uint32_t shard, Deadline deadline);
  // READs the same pages of every shard, and gives each of them to `take`.
  std::expected<void, Error> ReadPages(
      uint64_t offset, uint32_t bytes,
      const std::function<std::expected<void, Error>(const Link&, std::span<const std::byte>)>&
          take);
  // Makes a turn; whether anything moved and another one may bring more.
  bool Pump();
  // Runs `body`; false, after a Reset, when memory ran out.
  bool HasMemory(auto&& body);
  void TakeReplies(const Peers::Live& one, bool* moved);
  void OnReply(const Peers::Live& one, const verify::Reply& reply);
  void Expire(Deadline now);
  Deadline NextEvent(Deadline otherwise) const;
  bool ArmAll();
  bool SleepForReply(fabric::Clock::duration left);
  bool OnServersCore();
  void Report(Link* link, Deadline now);
  // Polls a while, then sleeps until there is something to do or `until`.
  void Idle(Deadline until);
  void GoAlone(plov::Get* get);
  // Operations of a key that were started come before a blocking one.
  void AwaitStarted(std::string_view key);

  std::string uri_;
  ClientOptions options_;
  fabric::Fd epoll_;
  std::atomic<const void*> entered_ = nullptr;
  bool has_items_ = true;

  Callbacks callbacks_;
  std::unique_ptr<Peers> peers_;
  bool is_reset_ = false;  // until no connection of before is left
  Gets gets_;
  Writes writes_;
  Started started_;
  bool more_ = false;  // Poll stopped before it ran out of work

  Controls controls_;
  Flushes flushes_;
  fabric::Spin spin_;
  bool slept_for_reply_ = false;  // since something has moved
  uint32_t turns_ = 0;
  Reports reports_;
  Transactions transactions_{this};
  uint64_t reconnects_ = 0;
  uint64_t retries_ = 0;
};

}  // namespace plov
