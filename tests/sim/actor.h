// Actor: one client of a run, and the operations it has under way.
#pragma once

#include <plov/client.h>

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tests/sim/judge.h"
#include "tests/sim/random.h"
#include "tests/sim/scenario.h"
#include "tests/sim/virtual_host.h"

namespace plov::sim {

// What all actors of a run share.
struct Stage {
  VirtualHost* host;
  Random* random;
  const Scenario* scenario;
  Judge* judge;
  torture::Instant instant = 1;  // counts events; two events have two instants
  bool in_trouble = false;       // errors that trouble explains are no defects
  uint64_t next_value = 0;
  // Items with an expiry, by their values: when they end.
  struct Expiry {
    uint64_t key;
    uint64_t at_us;               // not before, by virtual time
    torture::Instant passed = 0;  // the instant that came after; 0: not yet
    bool is_settled = false;      // the store has ended
    uint64_t version = 0;         // and stored this; 0: nobody knows
  };
  std::map<torture::ValueId, Expiry> expiries = {};
  std::vector<std::string> names = {};  // of the keys

  // How many keys there are, with those stored at the beginning.
  uint32_t key_count() const { return scenario->keys + scenario->fillers; }
};

class Actor {
 public:
  // Connects, or not: see client().
  Actor(Stage* stage, uint32_t process);
  Actor(const Actor&) = delete;
  Actor& operator=(const Actor&) = delete;
  // A client that dies: what it has under way is fed as unknown.
  ~Actor();

  bool connected() const { return client_.has_value(); }
  // Lets the client make progress.
  void Poll();
  // Begins `count` more operations in this schedule.
  void Assign(uint32_t count) { assigned_ += count; }
  // Begins a GET of every key.
  void Audit();
  // Starts one of them, if it may.
  bool Start();
  bool is_done() const { return assigned_ == 0 && under_way_ == 0; }
  ClientStats stats() const { return client_ ? client_->stats() : ClientStats{}; }
  // What is under way, for people.
  std::string Plight() const;

 private:
  struct Attempt {
    bool is_free = true;
    torture::Operation operation;
    std::string key;
    std::string value;
    uint64_t started_us = 0;
    uint64_t ttl_seconds = 0;
  };

  void Draw(Attempt* attempt);
  void DrawStore(Attempt* attempt);
  void Send(Attempt* attempt);
  void OnGet(Attempt* attempt, Client::GetResult result);
  void OnWrite(Attempt* attempt, Client::PutResult result);
  void OnDelete(Attempt* attempt, Client::DeleteResult result);
  void OnError(Attempt* attempt, const Error& error);
  void End(Attempt* attempt, torture::Outcome outcome);

  Stage* stage_;
  uint32_t process_;
  std::vector<std::unique_ptr<Attempt>> attempts_;
  std::vector<uint64_t> last_version_;  // by key: seen last
  uint32_t assigned_ = 0;
  bool is_audit_ = false;
  uint32_t under_way_ = 0;
  bool dying_ = false;
  std::optional<Client> client_;
};

}  // namespace plov::sim
