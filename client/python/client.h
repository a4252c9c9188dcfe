// Client: what Python holds: a plov::Client, the thread that it belongs to, and the operations that
// were started on it.
//
// Threads: a Client belongs to the thread that connected it, until another one calls Adopt. That
//          and whether a call is under way are looked at with the GIL held, so that no misuse
//          passes unnoticed, as it could if only overlapping calls were found.
// GIL:     all of it is called with the GIL held. A lone GET keeps it while nobody has to be waited
//          for, which takes less than a microsecond: when it gave it up, GETs beside a thread that
//          computes took 1.5 times as long, and alone as long as before. Everything else gives it up.
// fork:    the child has memory of the client, and no client: it can only forget it.
#pragma once

#include <plov/client.h>
#include <pybind11/pybind11.h>

#include <chrono>
#include <cstdint>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "client/python/operation.h"

namespace plov::python {

class PyClient {
 public:
  PyClient(plov::Client client, std::string uri, const ClientOptions& options);
  PyClient(const PyClient&) = delete;
  PyClient& operator=(const PyClient&) = delete;
  ~PyClient();

  // One call of the client, from its constructor on, which raises UsageError where the rules are
  // broken.
  class Call {
   public:
    explicit Call(PyClient* client);
    Call(const Call&) = delete;
    Call& operator=(const Call&) = delete;
    ~Call() { client_->is_busy_ = false; }

    plov::Client* operator->() const { return &*client_->client_; }

   private:
    PyClient* client_;
  };

  // Ends what was started. Closing twice does nothing.
  void Close();
  // What another client of the same server needs.
  const std::string& uri() const { return uri_; }
  const ClientOptions& options() const { return options_; }
  // The calling thread owns the client from now on.
  void Adopt();

  // The asynchronous form: `done(result, None)` or `done(None, exception)` is called from Poll, or
  // Close.
  void StartGet(pybind11::handle key, pybind11::object done);
  // Keeps a copy of the value that the options expect.
  void StartPut(pybind11::handle key, pybind11::handle value, PutOptions options,
                pybind11::object done);
  void StartIncrement(pybind11::handle key, int64_t delta, const IncrementOptions& options,
                      pybind11::object done);
  void StartTouch(pybind11::handle key, Lifetime ttl, Version expected_version,
                  pybind11::object done);
  struct VectorUpdate {
    VectorFunction function;
    VectorOperand operand;
    VectorOptions options;
  };
  // Keeps a copy of the operand.
  void StartUpdateVector(pybind11::handle key, const VectorUpdate& update, pybind11::object done);
  void StartDelete(pybind11::handle key, Version expected_version, pybind11::object done);
  void StartFlush(std::chrono::seconds delay, pybind11::object done);
  // Returns how many are left. Throws the first exception of a `done`, after all of them.
  size_t Poll();
  double next_poll_seconds();

  // For the collector of cycles: a `done` may refer to this client.
  int Traverse(visitproc visit, void* arg) const;
  void ClearCallbacks();

 private:
  void Check() const;  // raises
  using Place = std::list<Operation>::iterator;
  Place Add(pybind11::bytes key, pybind11::bytes value, pybind11::object done);
  // What notes how the operation ends.
  auto Noting(Place place) {
    return [this, place](const auto& result) {
      place->Note(result);
      ended_.push_back(place);
    };
  }
  // Calls the callbacks of what has ended.
  void Deliver();

  std::optional<plov::Client> client_;
  std::string uri_;
  ClientOptions options_;
  unsigned long thread_ = PyThread_get_thread_ident();
  uint64_t forks_;
  bool is_busy_ = false;
  std::list<Operation> operations_;  // changed with the GIL only
  std::vector<Place> ended_;         // of them; changed by who is in a call. Has room for all
};

// Counts the forks that lead to this process.
void CountForks();
uint64_t Forks();

}  // namespace plov::python
