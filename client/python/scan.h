// Scan: an iterator over all items, which Client::Scan, who calls back, is not.
//
//   a thread with a client of its own ──► items, up to kAheadBytes ──► next()
//
// The client of its own lets the program get and put while it iterates.
#pragma once

#include <plov/client.h>
#include <pybind11/pybind11.h>

#include <deque>
#include <memory>
#include <optional>
#include <string>

#include "client/python/calls.h"
#include "client/python/operation.h"

namespace plov::python {

class PyScan {
 public:
  // Connects. Throws what Raise does.
  explicit PyScan(PyClient* client);
  PyScan(const PyScan&) = delete;
  PyScan& operator=(const PyScan&) = delete;
  ~PyScan();

  // The next key and item; raises StopIteration, or what ended the scan. One thread at a time, else
  // UsageError.
  pybind11::tuple Next();
  // Once the scan has ended by itself.
  const std::optional<ScanSummary>& summary() const { return summary_; }
  void Close();

  struct Found {
    std::string key;
    OwnItem item;
  };

 private:
  struct Worker;  // what both threads see

  void Check() const;  // raises
  // Waits, without the GIL, for the next items; false at the end.
  bool Await();

  std::unique_ptr<Worker> worker_;  // none once the scan has ended
  std::deque<Found> taken_;
  std::optional<ScanSummary> summary_;
  bool is_busy_ = false;  // in Await
  uint64_t forks_;
};

void DefineScan(pybind11::module_* module, ClientType* type);

}  // namespace plov::python
