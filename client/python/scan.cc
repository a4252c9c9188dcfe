#include "client/python/scan.h"

#include <pthread.h>
#include <pybind11/stl.h>
#include <signal.h>

#include <chrono>
#include <condition_variable>
#include <expected>
#include <mutex>
#include <thread>
#include <utility>

#include "client/python/arguments.h"
#include "client/python/errors.h"

namespace py = pybind11;

namespace plov::python {

namespace {

// Bytes of keys and values that are found and not yet taken, as many again are taken and not yet
// returned, and one item more.
constexpr size_t kAheadBytes = size_t{1} << 20;
// How often a waiting thread looks for signals.
constexpr std::chrono::milliseconds kSignalsEvery{50};

plov::Client ConnectAnother(PyClient* client) {
  const PyClient::Call call(client);  // for its rules
  ClientOptions options = client->options();
  options.location_cache_bytes = 0;
  auto another = [&] {
    const py::gil_scoped_release release;
    return plov::Client::Connect(client->uri(), options);
  }();
  if (!another) Raise(another.error());
  return std::move(*another);
}

}  // namespace

struct PyScan::Worker {
  explicit Worker(plov::Client mine) : client(std::move(mine)) {
    // Python's signals belong to the threads of Python.
    sigset_t all;
    sigset_t before;
    ::sigfillset(&all);
    ::pthread_sigmask(SIG_SETMASK, &all, &before);
    thread = std::thread([this] { Run(); });
    ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  }
  ~Worker() {
    {
      const std::lock_guard lock(mutex);
      is_unwanted = true;
    }
    changed.notify_all();
    thread.join();
  }

  void Run() {
    auto scanned =
        client.Scan([this](std::string_view key, const Item& item) { return Add(key, item); });
    const std::lock_guard lock(mutex);
    outcome = std::move(scanned);
    changed.notify_all();
  }

  // False when nobody wants more.
  bool Add(std::string_view key, const Item& item) {
    Found one{std::string(key), {std::string(item.value), item.version, item.flags, item.expiry}};
    std::unique_lock lock(mutex);
    changed.wait(lock, [this] { return is_unwanted || bytes < kAheadBytes; });
    bytes += key.size() + item.value.size() + sizeof(Found);
    found.push_back(std::move(one));
    changed.notify_all();
    return !is_unwanted;
  }

  plov::Client client;  // the thread's
  std::mutex mutex;     // protects what follows
  std::condition_variable changed;
  bool is_unwanted = false;
  std::deque<Found> found;
  size_t bytes = 0;  // of `found`
  std::optional<std::expected<ScanSummary, Error>> outcome;
  std::thread thread;
};

PyScan::PyScan(PyClient* client)
    : worker_(std::make_unique<Worker>(ConnectAnother(client))), forks_(Forks()) {}

PyScan::~PyScan() { Close(); }

void PyScan::Check() const {
  if (forks_ != Forks()) RaiseUsage("this Scan was begun before fork()");
  if (is_busy_) RaiseUsage("this Scan is in another call: one thread at a time");
}

// The child of a fork has no such thread, and forgets it.
void PyScan::Close() {
  if (forks_ != Forks()) {
    static_cast<void>(worker_.release());
    return;
  }
  Check();
  auto worker = std::move(worker_);  // before another thread looks
  const py::gil_scoped_release release;
  worker.reset();
}

bool PyScan::Await() {
  struct Busy {
    explicit Busy(bool* is_busy) : is_busy_(is_busy) { *is_busy_ = true; }
    ~Busy() { *is_busy_ = false; }
    bool* is_busy_;
  };
  const Busy busy(&is_busy_);
  while (true) {
    {
      const py::gil_scoped_release release;
      std::unique_lock lock(worker_->mutex);
      worker_->changed.wait_for(lock, kSignalsEvery,
                                [this] { return !worker_->found.empty() || worker_->outcome; });
      taken_.swap(worker_->found);
      worker_->bytes = 0;
      worker_->changed.notify_all();
      if (!taken_.empty()) return true;
      if (worker_->outcome) return false;
    }
    if (PyErr_CheckSignals() != 0) throw py::error_already_set();
  }
}

py::tuple PyScan::Next() {
  Check();
  if (taken_.empty() && worker_ != nullptr && !Await()) {
    const auto outcome = std::move(*worker_->outcome);
    Close();
    if (!outcome) Raise(outcome.error());
    summary_ = *outcome;
  }
  if (taken_.empty()) throw py::stop_iteration();
  const Found one = std::move(taken_.front());
  taken_.pop_front();
  const OwnItem& item = one.item;
  return py::make_tuple(ToBytes(one.key),
                        ItemOf(item.value, item.version, item.flags, item.expiry));
}

void DefineScan(py::module_* module, ClientType* type) {
  py::class_<ScanSummary>(*module, "ScanSummary", py::custom_type_setup(&RefuseNew))
      .def_readonly("items", &ScanSummary::items)
      .def_readonly("unreadable", &ScanSummary::unreadable)
      .def_readonly("passes", &ScanSummary::passes)
      .def_readonly("settled", &ScanSummary::settled);
  py::class_<PyScan>(*module, "Scan", py::custom_type_setup(&RefuseNew))
      .def("__iter__", [](py::object self) { return self; })
      .def("__next__", &PyScan::Next)
      .def_property_readonly("summary", &PyScan::summary)
      .def("close", &PyScan::Close, "Ends the scan.")
      .def("__reduce__", &RefuseCopy)
      .def("__enter__", [](py::object self) { return self; })
      .def("__exit__", [](PyScan& self, const py::args&) { self.Close(); });
  type->def(
      "scan", [](PyClient& self) { return std::make_unique<PyScan>(&self); },
      "An iterator over all items, as (key, item), in no order.");
}

}  // namespace plov::python
