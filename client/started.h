// Started: the asynchronous operations under way, in the order of each key.
//
// GETs are served by READs and writes by messages, so an operation that was started later could
// overtake one of the same key. It waits instead until those of the other kind have ended; GETs of
// one key go together, and so do writes, which their queue keeps in order. Keys are told apart by a
// hash, so seldom one waits for another; and in a cluster by their shard, so that none waits for one whose
// server is away.
#pragma once

#include <plov/client.h>

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "client/gets.h"
#include "client/writes.h"

namespace plov {

class Started {
 public:
  Started(Gets* gets, Writes* writes, Callbacks* callbacks)
      : gets_(gets), writes_(writes), callbacks_(callbacks) {}
  Started(const Started&) = delete;
  Started& operator=(const Started&) = delete;

  // Before the first operation.
  void Attach(const Peers* peers) { peers_ = peers; }

  // May throw std::bad_alloc; then `done` is as it was.
  void StartGet(std::string_view key, Deadline deadline, Client::GetCallback&& done);
  void StartWrite(Write write, Deadline deadline, WriteCallback&& done);

  // Whether an operation of the key, or of one with the same hash, is under way.
  bool Has(std::string_view key) const;
  // Operations that have not ended.
  size_t count() const { return count_; }
  // From now on operations end at once with this error.
  void Close(const Error& error) { closed_ = error; }

 private:
  struct Operation;
  struct Place {
    uint32_t running = 0;
    bool writes = false;         // those that run are
    Operation* first = nullptr;  // that waits
    Operation* last = nullptr;   // valid while there is a first
  };

  size_t PlaceOf(std::string_view key) const;
  size_t place_count() const;
  void Start(std::unique_ptr<Operation> operation);
  bool MayRun(const Place& place, const Operation& operation) const;
  void Run(std::unique_ptr<Operation> operation);
  void Queue(Operation* operation);
  static std::unique_ptr<Operation> Ended(void* context);

  const Peers* peers_ = nullptr;
  Gets* gets_;
  Writes* writes_;
  Callbacks* callbacks_;
  std::vector<Place> places_;  // made when the first operation is started
  size_t count_ = 0;
  std::optional<Error> closed_;
};

}  // namespace plov
