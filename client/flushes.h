// Flushes: those that a client has asked for - each a message to every shard, again and again until it is over there. All
// of them have the same name, by which a shard, or the next primary of a shard, knows what it was asked for before.
//
// Threads: the client's.
#pragma once

#include <plov/client.h>

#include <chrono>
#include <cstdint>
#include <deque>

#include "client/callbacks.h"
#include "client/controls.h"
#include "client/peers.h"

namespace plov {

class Flushes {
 public:
  Flushes(std::chrono::microseconds timeout, Callbacks* callbacks)
      : timeout_(timeout), callbacks_(callbacks) {}

  // May throw std::bad_alloc; then `done` is as it was.
  void Start(std::chrono::seconds delay, Client::FlushCallback&& done);
  size_t count() const { return flushes_.size(); }

  // Sends what is to be sent, and ends those that are over. Whether anything moved.
  bool Turn(const Peers& peers);
  // False when the reply belongs to somebody else.
  bool OnReply(uint32_t shard, const verify::Reply& reply);
  // A connection is gone, with what was asked on it: whoever is there next knows the name, or begins anew.
  void AskAgain();
  // Ends those that have not got on for the timeout.
  void Expire(const Peers& peers, Deadline now);
  void Close(const Error& error);
  Deadline NextEvent(Deadline otherwise) const;

 private:
  struct Flush {
    verify::Request request;
    Client::FlushCallback done;
    Deadline deadline = {};
    Deadline next_ask = {};
    bool is_asked = false;  // since then
    uint64_t steps = 0;     // that all shards have told of
    Controls controls = {};
  };

  // Of a flush whose shards have all replied; nullopt: it goes on.
  std::optional<Client::FlushResult> ResultOf(Flush* flush);
  void End(size_t index, Client::FlushResult result);

  std::chrono::microseconds timeout_;
  Callbacks* callbacks_;
  std::deque<Flush> flushes_;
};

}  // namespace plov
