// Peer: what a client is connected to, and loses, as one: a server of its own with all its shards, or one
// shard of a cluster. It has a fate of its own: whether it is up, when it is tried again, and which life
// of it this client knows.
//
// Threads: the client's.
#pragma once

#include <plov/client.h>

#include <chrono>
#include <cstdint>
#include <expected>
#include <memory>

#include "client/life.h"

namespace plov {

class Peer {
 public:
  // first_shard: the number of its first shard among the client's.
  Peer(Target target, uint32_t first_shard, const ClientOptions& options, OathLinks* oath_links,
       Callbacks* callbacks);

  const Target& target() const { return target_; }
  uint32_t first_shard() const { return first_shard_; }
  uint32_t shard_count() const { return static_cast<uint32_t>(life_->writes().size()); }
  // Where it is from now on; a connection that is there stays.
  void MoveTo(const Target& target);

  Life& life() { return *life_; }
  const Life& life() const { return *life_; }

  bool is_up() const { return is_up_; }
  // Needs is_up().
  bool alive() const { return life_->alive(); }
  // Why it is not up.
  const Error& down() const { return down_; }
  // It is not up from now on, and is tried again at once.
  void TakeDown();

  Deadline next_attempt() const { return next_attempt_; }
  // Of its server another attempt has told when the next is worth it.
  void TryNext(Deadline when) { next_attempt_ = when; }
  // The last attempt got no answer.
  bool is_silent() const { return is_silent_; }
  // Tries to connect, and takes no longer than the deadline says. nullptr: it is up in the life that it
  // had. A life: another one answers; it is up once that has begun. An error: it is tried again later.
  std::expected<std::unique_ptr<Life>, Error> Attempt(Deadline deadline);
  void Begin(std::unique_ptr<Life> life);
  // How long an attempt may take beside others that are up: longer from one that was too short on.
  std::chrono::microseconds attempt_max() const { return attempt_max_; }

  // A server with a log, or the same again, can vouch only for what it has acknowledged itself. Around
  // the request of a Sync; EndSync tells whether something was acknowledged by one that has ended, and
  // no Sync has told of it.
  void BeginSync() { syncing_puts_ = puts(); }
  bool EndSync();

  void AddTo(ClientStats* stats) const;

 private:
  uint64_t puts() const { return former_.puts + life_->answered(); }
  void OnFailed(Error* error);
  void OnOtherLife();

  Target target_;
  uint32_t first_shard_;
  ClientOptions options_;
  OathLinks* oath_links_;
  Callbacks* callbacks_;
  std::unique_ptr<Life> life_;
  bool is_up_ = false;
  Error down_{Code::kUnavailable, "not connected"};
  Deadline next_attempt_{};
  bool is_silent_ = false;
  std::chrono::microseconds backoff_{};
  std::chrono::microseconds attempt_max_;
  ClientStats former_;         // of lives that are over
  uint64_t synced_puts_ = 0;   // of puts(), those that the last Sync has told of
  uint64_t syncing_puts_ = 0;  // that this one is to tell of
  uint64_t restart_puts_ = 0;  // that a server answered that has ended
  uint64_t lives_ = 0;         // after the first, that may lack them
};

}  // namespace plov
