// Servers with a log: how they are started, and snapshots of them.
//
// Threads: StartLogged the main one, while there is no other; TakeSnapshot the client's.
#pragma once

#include <plov/client.h>
#include <sys/types.h>

#include <cstdint>
#include <expected>
#include <string>
#include <string_view>
#include <thread>

#include "program/own_server.h"
#include "verify/error.h"

namespace plov::bench {

struct LogOptions {
  std::string folder = {};  // empty: no log
  std::string_view commit = "strict";
  uint64_t segment_bytes = uint64_t{64} << 20;
  bool takes_snapshots = true;  // else those that come by themselves take for ever
};

// Starts it, with what lies in the folder, and waits until it serves. Errors: OwnServer::Start's.
std::expected<void, Error> StartLogged(program::OwnServer* server, const LogOptions& log);

// Waits until a server has its files of zeros ready, which it makes beside its work: that is over soon, and no
// part of what is measured. Errors: kTimeout.
std::expected<void, Error> AwaitSpares(const LogOptions& log);

// Lets the server take a snapshot, and waits until it is there. Errors: the client's; kSystem: it failed.
std::expected<void, Error> TakeSnapshot(Client* client);

// Snapshots of a server, one after the other, from now on and for as long as this lives. Its end waits for the
// last of them.
class SnapshotLoop {
 public:
  // client: another one uses the server meanwhile. It outlives this.
  SnapshotLoop(Client* client, pid_t server);

  // The end. Errors: TakeSnapshot's.
  std::expected<void, Error> Finish();
  // After Finish.
  uint64_t taken() const { return taken_; }
  uint64_t memory_bytes_most() const { return memory_bytes_most_; }

 private:
  std::expected<void, Error> outcome_;
  uint64_t taken_ = 0;
  uint64_t memory_bytes_most_ = 0;
  std::jthread thread_;
};

// Memory of the process' own, without what it shares with clients. 0: it has ended.
uint64_t OwnMemoryBytes(pid_t process);

}  // namespace plov::bench
