// Worker: a thread with its own event loop, its own libplov Client, and a share of the connections.
//
// A turn: events come (libevent); connections that have some receive and take requests; GETs of all of them
// become one batch; what ends lets requests start that waited for it, until nothing moves; replies go out. Over
// shared memory a GET ends within the turn in which its bytes came.
//
// Threads: Add, Stop and the counters any; everything else in its own.
#pragma once

#include <event2/event.h>
#include <event2/event_struct.h>
#include <plov/client.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <expected>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <unordered_set>
#include <vector>

#include "door/budget.h"
#include "door/connection.h"
#include "door/counters.h"
#include "door/mailbox.h"
#include "door/protocol.h"
#include "door/request.h"
#include "fabric/os.h"

namespace plov::door {

struct Limits {
  Budget* budget;
  Admission* admission;
};

class Worker {
 public:
  // What a connection receives in one turn.
  static constexpr size_t kInputAtOnce = size_t{32} << 10;

  // Connects to the server. Errors: Client::Connect's; kSystem.
  static std::expected<std::unique_ptr<Worker>, Error> Create(const std::string& server,
                                                              const ClientOptions& options,
                                                              Limits limits);
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;
  // After Stop.
  ~Worker();

  void Begin();
  // Takes a client over, which Admission has let in and which speaks what the factory makes.
  void Add(fabric::Fd fd, const ProtocolFactory* factory);
  // Answers what was taken, as far as that is possible within `longest`, and ends.
  void Stop(std::chrono::milliseconds longest);

  const Counters& counts() const { return counters_; }

  // For connections and requests.
  event_base* base() { return base_.get(); }
  Client& client() { return client_; }
  // For threads that end a request of this worker's.
  const SharedMailbox& mailbox() const { return mailbox_; }
  // The time at the server of this key, in Unix microseconds: without a connection to it as it went on from when
  // there was one last.
  int64_t ServerUs(std::string_view key);
  Budget* budget() { return limits_.budget; }
  const Admission& admission() const { return *limits_.admission; }
  Counters& counters() { return counters_; }
  // The connection takes part in this turn.
  void Touch(Connection* connection);
  // Something has ended, so something may start.
  void Progress() { has_progressed_ = true; }
  void AddRead(Request* request) { reads_.push_back(request); }
  // Memory for input until the end of the turn, of which as much is used as was received.
  std::span<char> InputMemory();
  void UseInputMemory(size_t bytes) { input_used_ += bytes; }
  // Memory for output, with its capacity, and back.
  std::string TakeBuffer();
  void GiveBuffer(std::string* buffer);

 private:
  struct BaseFree {
    void operator()(event_base* base) const { event_base_free(base); }
  };
  struct Arrival {
    fabric::Fd fd;
    const ProtocolFactory* factory;
  };

  Worker(Client client, Limits limits, event_base* base, fabric::Fd wake, SharedMailbox mailbox);
  void Run();
  void WaitForEvents();
  void TakeArrivals();
  void Turn();
  void RunReads();
  void ReadMany(std::span<Request* const> batch);
  bool ReadOne(Request* request);
  void StartRead(Request* request);
  void EndTurn();
  void EndInput();
  void Free(Connection* connection);
  bool is_over() const;

  std::unique_ptr<event_base, BaseFree> base_;
  Client client_;
  Limits limits_;
  Counters counters_;
  fabric::Fd wake_;
  SharedMailbox mailbox_;
  event woken_;
  event mail_came_;
  event client_moved_;
  event timer_;

  std::mutex mutex_;
  std::vector<Arrival> arrivals_;  // under mutex_
  // When Stop's time is over, on the monotonic clock; 0: it goes on. Release by Stop, acquire by the thread.
  std::atomic<int64_t> stop_at_ns_ = 0;
  bool is_stopping_ = false;

  std::unordered_set<Connection*> connections_;
  std::vector<Connection*> touched_;
  bool has_progressed_ = false;
  bool goes_on_ = false;     // there is work without an event
  size_t client_left_ = 0;   // operations that libplov has under way
  int64_t server_ahead_us_;  // of this host's monotonic clock
  std::vector<Request*> reads_;
  std::vector<Request*> batch_;
  std::vector<std::string_view> keys_;

  // Chunks of input memory; those up to input_chunk_ are used in this turn.
  std::vector<std::unique_ptr<char[]>> input_chunks_;
  size_t input_chunk_ = 0;
  size_t input_used_ = 0;  // of that chunk
  std::vector<std::string> buffers_;
  std::thread thread_;
};

}  // namespace plov::door
