#include "client/python/client.h"

#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <new>
#include <utility>

#include "client/python/arguments.h"
#include "client/python/errors.h"

namespace py = pybind11;

namespace plov::python {

namespace {

std::atomic<uint64_t> forks = 0;

constexpr auto kClosed = "this Client is closed";
constexpr auto kForked =
    "this Client was connected before fork(): connect another one in the child";
constexpr auto kOtherThread =
    "this Client belongs to another thread: one Client per thread. Connect another one here, or "
    "call adopt() here to take it over";
constexpr auto kBusy = "this Client is in another call: one Client per thread, one call at a time";

}  // namespace

void CountForks() {
  ::pthread_atfork(nullptr, nullptr, [] { forks.fetch_add(1, std::memory_order_relaxed); });
}

uint64_t Forks() { return forks.load(std::memory_order_relaxed); }

PyClient::PyClient(plov::Client client, std::string uri, const ClientOptions& options)
    : client_(std::move(client)), uri_(std::move(uri)), options_(options), forks_(Forks()) {}

PyClient::~PyClient() {
  const py::error_scope kept;                     // of whoever drops the last reference
  if (_Py_IsFinalizing() != 0) ClearCallbacks();  // what they need may be gone
  try {
    Close();
  } catch (py::error_already_set& error) {
    error.discard_as_unraisable("a plov callback");
  }
}

void PyClient::Check() const {
  if (!client_) RaiseUsage(kClosed);
  if (forks_ != Forks()) RaiseUsage(kForked);
  if (is_busy_) RaiseUsage(kBusy);
  if (thread_ != PyThread_get_thread_ident()) RaiseUsage(kOtherThread);
}

PyClient::Call::Call(PyClient* client) : client_(client) {
  client->Check();
  client->is_busy_ = true;
}

// Of a forked parent's client nothing can be ended: it shares its connection with the parent, which
// goes on.
void PyClient::Close() {
  if (!client_) return;
  if (forks_ != Forks()) {
    new plov::Client(std::move(*client_));  // forgotten
    client_.reset();
    return;
  }
  if (is_busy_) RaiseUsage(kBusy);
  client_.reset();
  Deliver();
}

void PyClient::Adopt() {
  if (!client_) RaiseUsage(kClosed);
  if (forks_ != Forks()) RaiseUsage(kForked);
  if (is_busy_) RaiseUsage(kBusy);
  thread_ = PyThread_get_thread_ident();
}

PyClient::Place PyClient::Add(py::bytes key, py::bytes value, py::object done) {
  if (PyCallable_Check(done.ptr()) == 0) {
    PyErr_SetString(PyExc_TypeError, "done is something to call");
    throw py::error_already_set();
  }
  ended_.reserve(operations_.size() + 1);
  operations_.push_back({std::move(key), std::move(value), std::move(done)});
  return std::prev(operations_.end());
}

void PyClient::StartGet(py::handle key, py::object done) {
  const Call call(this);
  const Place operation = Add(AsBytes(key, "a key"), {}, std::move(done));
  call->StartGet(operation->key_view(), Noting(operation));
}

void PyClient::StartPut(py::handle key, py::handle value, PutOptions options, py::object done) {
  const Call call(this);
  py::bytes expected = options.expected_value ? ToBytes(*options.expected_value) : py::bytes();
  const Place operation = Add(AsBytes(key, "a key"), AsBytes(value, "a value"), std::move(done));
  operation->expected = std::move(expected);
  if (options.expected_value) options.expected_value = operation->expected_view();
  call->StartPut(operation->key_view(), operation->value_view(), options, Noting(operation));
}

void PyClient::StartIncrement(py::handle key, int64_t delta, const IncrementOptions& options,
                              py::object done) {
  const Call call(this);
  const Place operation = Add(AsBytes(key, "a key"), {}, std::move(done));
  operation->number_mode = options.mode;
  call->StartIncrement(operation->key_view(), delta, options, Noting(operation));
}

void PyClient::StartTouch(py::handle key, Lifetime ttl, Version expected_version, py::object done) {
  const Call call(this);
  const Place operation = Add(AsBytes(key, "a key"), {}, std::move(done));
  call->StartTouch(operation->key_view(), ttl, expected_version, Noting(operation));
}

void PyClient::StartUpdateVector(py::handle key, const VectorUpdate& update, py::object done) {
  const Call call(this);
  const VectorOperand& given = update.operand;
  const Place operation = Add(AsBytes(key, "a key"), ToBytes(given.bytes()), std::move(done));
  const VectorOperand kept(given.type(), operation->value_view());
  call->StartUpdateVector(operation->key_view(), update.function, kept, update.options,
                          Noting(operation));
}

void PyClient::StartDelete(py::handle key, Version expected_version, py::object done) {
  const Call call(this);
  const Place operation = Add(AsBytes(key, "a key"), {}, std::move(done));
  call->StartDelete(operation->key_view(), expected_version, Noting(operation));
}

void PyClient::StartFlush(std::chrono::seconds delay, py::object done) {
  const Call call(this);
  const Place operation = Add({}, {}, std::move(done));
  call->StartFlush(delay, Noting(operation));
}

size_t PyClient::Poll() {
  {
    const Call call(this);
    const py::gil_scoped_release release;
    call->Poll();
  }
  Deliver();
  return operations_.size();
}

// Callbacks may start operations and end others, so each is taken out before it is called.
void PyClient::Deliver() {
  std::optional<py::error_already_set> first;
  const auto ended = std::exchange(ended_, {});
  ended_.reserve(operations_.size());
  for (const Place place : ended) {
    std::list<Operation> told;
    told.splice(told.begin(), operations_, place);
    try {
      told.front().Tell();
    } catch (const py::error_already_set& error) {
      if (!first) first.emplace(error);
    } catch (const std::bad_alloc&) {
      PyErr_NoMemory();
      first.emplace();
    }
  }
  if (first) throw std::move(*first);
}

double PyClient::next_poll_seconds() {
  const Call call(this);
  return ended_.empty() ? std::chrono::duration<double>(call->next_poll()).count() : 0;
}

int PyClient::Traverse(visitproc visit, void* arg) const {
  for (const Operation& operation : operations_) Py_VISIT(operation.done.ptr());
  return 0;
}

void PyClient::ClearCallbacks() {
  std::vector<py::object> dropped;  // all at once: whose end they are may call this client
  for (Operation& operation : operations_) dropped.push_back(std::move(operation.done));
}

}  // namespace plov::python
