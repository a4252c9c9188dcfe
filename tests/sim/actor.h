// Actor: one client of a run, on a host of its own, and the operations that it has under way.
//
// It lives in a fiber: its calls - blocking ones, the asynchronous form, scans - rest where they
// wait, and the schedule goes on with others. It does with its memory what a caller may do: keys
// and values are gone once their operation has ended, and the buffer of a GetInto is filled with
// something else, or freed.
#pragma once

#include <plov/client.h>

#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tests/sim/commit_checker.h"
#include "tests/sim/fiber.h"
#include "tests/sim/history_checker.h"
#include "tests/sim/random.h"
#include "tests/sim/scenario.h"
#include "tests/sim/virtual_host.h"
#include "torture/modified.h"

namespace plov::sim {

class Actor;

// What all actors of a run share.
struct Stage {
  VirtualHost* host;
  Random* random;
  const Scenario* scenario;
  HistoryChecker* checker;
  torture::Instant instant = 1;  // counts events; two events have two instants
  bool in_trouble = false;       // errors that trouble explains are no defects
  uint64_t next_value = 0;
  // Items with an expiry, by their values: when they end.
  struct Expiry {
    uint64_t key;
    uint64_t at_us;               // not before that time
    torture::Instant passed = 0;  // the instant that came after; 0: not yet
    bool is_settled = false;      // the store has ended
    uint64_t version = 0;         // and stored this; 0: nobody knows
    LifeSet lives = 0;            // in one of these
  };
  std::map<torture::ValueId, Expiry> expiries = {};
  // And the times between which they can end, also of those that have.
  struct ExpirySpan {
    uint64_t key;
    uint64_t from_us;
    uint64_t until_us = UINT64_MAX;
  };
  std::map<torture::ValueId, ExpirySpan> expiry_spans = {};
  std::vector<std::string> names = {};  // of the keys
  // Keys from this number on are in every life of every server from its beginning, for good.
  uint64_t first_steady_key = UINT64_MAX;
  uint64_t scans = 0;  // that saw a whole table
  // Flushes that have ended well, and when each value was stored at the latest: what was stored before one is not found after
  // it.
  struct Flushed {
    torture::Instant start;
    torture::Instant end;
  };
  std::vector<Flushed> flushes = {};
  uint32_t flushes_begun = 0;
  std::map<torture::ValueId, torture::Instant> stored_at = {};
  torture::Plan plan = {};  // of the items that servers modify, where there are any
  std::unique_ptr<torture::ModifiedState> modified = {};
  CommitChecker commits{checker};
  uint64_t snapshots = 0;      // of keys
  uint64_t modifications = 0;  // that have ended
  uint64_t syncs = 0;          // that told that all is durable
  uint32_t restarts = 0;       // of a server with a log
  bool forgets = false;        // one began with a snapshot, and knows only who wrote since
  Actor* running = nullptr;    // whose turn it is

  // How many keys there are, with those stored at the beginning.
  uint32_t key_count() const { return scenario->keys + scenario->fillers; }
};

class Actor {
 public:
  Actor(Stage* stage, uint32_t process);
  Actor(const Actor&) = delete;
  Actor& operator=(const Actor&) = delete;
  // Leaves first, at once: no server is asked.
  ~Actor();

  // A turn.
  void Step();
  // Begins `count` more operations in this schedule.
  void Assign(uint32_t count) { assigned_ += count; }
  // Begins a GET of every key, with time for it.
  void Audit();
  bool is_done() const { return assigned_ == 0 && under_way_ == 0; }
  // A client that dies between two calls: what it has under way is fed as unknown.
  void Leave() { is_leaving_ = true; }
  bool has_left() const { return fiber_.ended(); }
  // Its client got a connection to this life of a server.
  void OnConnected(uint32_t life) { connected_to_.push_back(life); }
  ClientStats stats() const { return client_ ? client_->stats() : stats_; }
  // What is under way, for people.
  std::string Pending() const;

 private:
  struct Attempt {
    bool is_free = true;
    torture::Operation operation;
    std::string key;
    std::string value;
    uint64_t started_us = 0;
    uint64_t ttl_seconds = 0;
    uint32_t until = 0;      // in place of it; 0: none
    size_t connections = 0;  // that the client had had, with the one it began on
    uint32_t restarts = 0;   // before it
    uint64_t number = 0;     // a write's, in the order in which they begin
  };

  void Live();
  void Connect();
  void BeginSome();
  void Begin();
  void BeginStarted();
  void Call();
  void CallGet();
  void CallGetInto();
  void CallGetMany();
  void CallWrite();
  void CallPutMany();
  void CallScan();
  void CallSync();
  void CallModified();
  void CallFlush();
  void CallSnapshot();
  void CallCommit();
  bool MayComeLate(const Attempt& scan, const Item& item) const;
  bool MayTakeEffectLate(const Attempt& attempt, torture::Outcome outcome) const;
  Attempt* Take();
  void Draw(Attempt* attempt, std::optional<bool> is_get);
  bool DrawUntil(Attempt* attempt);
  void DrawStore(Attempt* attempt);
  static PutOptions OptionsOf(const Attempt& attempt);
  void OnGet(Attempt* attempt, Client::GetResult result);
  bool IsFlushed(torture::ValueId value, torture::Instant found) const;
  void OnItem(Attempt* attempt, const Item& item, torture::Outcome outcome = torture::Outcome::kOk);
  void OnWrite(Attempt* attempt, Client::PutResult result);
  void OnDelete(Attempt* attempt, Client::DeleteResult result);
  void OnError(Attempt* attempt, const Error& error);
  bool IsExcused(const Attempt& attempt, const Error& error) const;
  bool MayBeForgotten(const Attempt& attempt) const;
  torture::Instant MustPrecede(const Attempt& attempt) const;
  void End(Attempt* attempt, torture::Outcome outcome);
  void SettleExpiry(const Attempt& attempt, torture::Outcome outcome);
  void SharpenExpiry(const Attempt& attempt, Stage::Expiry* expiry);
  LifeSet LivesSince(size_t connections) const;
  void PoisonBuffer();
  void CheckBuffer();

  Stage* stage_;
  uint32_t process_;
  HostClock clock_;
  std::chrono::microseconds timeout_;
  std::vector<std::unique_ptr<Attempt>> attempts_;
  std::vector<uint64_t> last_version_;  // by key: seen last
  std::vector<uint32_t> connected_to_;  // lives, in the order of the connections
  std::vector<std::byte> buffer_;       // of the last GetInto
  uint64_t writes_ = 0;                 // begun
  uint32_t restarts_told_ = 0;          // when the last Sync that told anything began
  bool met_restart_ = false;            // a write that has ended since then
  bool may_be_answered_ = false;  // a write that ended without an answer, since a Sync was right
  torture::Instant unknown_until_ = 0;  // what came before may be lost, a Sync has told
  // With a log: what was stored, by key, in the order in which that began.
  struct Store {
    uint64_t number;
    torture::ValueId value;
  };
  std::vector<std::vector<Store>> stores_;
  uint32_t assigned_ = 0;
  uint32_t under_way_ = 0;
  bool is_audit_ = false;
  bool is_leaving_ = false;
  bool is_dying_ = false;
  ClientStats stats_;  // at its end
  std::optional<torture::Modified> modified_;
  std::optional<Client> client_;
  Fiber fiber_;  // last: it uses all of the above
};

}  // namespace plov::sim
