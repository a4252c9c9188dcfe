// Program: what the main function of a program does that serves, whatever it serves.
//
// Threads: the main thread.
#pragma once

#include <expected>
#include <memory>
#include <string>
#include <utility>

#include "metrics/exporter.h"
#include "verify/error.h"

namespace plov::service {

class Program {
 public:
  static constexpr int kExitUsage = 2;
  static constexpr int kExitCannotServe = 3;

  // The name is the beginning of what it writes.
  explicit Program(std::string name) : name_(std::move(name)) {}

  // SIGTERM, SIGINT and SIGHUP come as bytes to read from the descriptor that is returned; neither a client's
  // death nor a limit kills the program. Before any thread is started.
  static int BlockSignals();

  // To standard error. Returns the exit status.
  int Complain(const Error& error, int exit_status) const;
  // To standard output. Returns the exit status: a text that nobody could read was not shown.
  int Show(const std::string& text) const;

  // At no place nothing is served. `source`: as an exporter's. Errors: Exporter::Listen's.
  template <typename Source>
  std::expected<std::unique_ptr<metrics::Exporter>, Error> ServeMetrics(const std::string& place,
                                                                        Source source) const {
    if (place.empty()) return nullptr;
    auto exporter = metrics::Exporter::Listen(place, std::move(source));
    if (exporter) Announce(**exporter);
    return exporter;
  }

 private:
  void Announce(const metrics::Exporter& exporter) const;

  const std::string name_;
};

}  // namespace plov::service
