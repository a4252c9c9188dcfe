// Exporter: an HTTP server that Prometheus scrapes, http://HOST:PORT/metrics.
//
// A few threads of civetweb's serve it; they only read what `source` gives. Who is slow, silent or sends
// garbage is cut off after two seconds; who comes while others are served waits in the kernel, so it has
// less than 32 descriptors, whatever scrapers do.
#pragma once

#include <expected>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "metrics/samples.h"
#include "verify/counters.h"
#include "verify/error.h"

namespace plov::metrics {

class Exporter {
 public:
  // The counters of all shards; called in any thread, by several at once, until the exporter is gone.
  using Source = std::function<std::vector<verify::Counters>()>;
  // The same of a program that is no server.
  using SampleSource = std::function<std::vector<SampleFamily>()>;

  // place: HOST:PORT, with HOST a name or an IPv4 address of this host. PORT 0: any that is free.
  // kInvalidArgument: it is none, or this plov was built without prometheus-cpp.
  static std::expected<void, Error> Check(const std::string& place);

  // Threads: created and destroyed by one. Errors: as Check; kInUse, kSystem.
  static std::expected<std::unique_ptr<Exporter>, Error> Listen(const std::string& place,
                                                                Source source);
  static std::expected<std::unique_ptr<Exporter>, Error> Listen(const std::string& place,
                                                                SampleSource source);
  ~Exporter();

  const std::string& url() const { return url_; }
  // Whether it listens at an address that other hosts may reach.
  bool is_open() const { return is_open_; }

 private:
  struct Http;

  explicit Exporter(std::unique_ptr<Http> http);
  static std::expected<std::unique_ptr<Exporter>, Error> ListenWith(const std::string& place,
                                                                    std::unique_ptr<Http> http);

  std::unique_ptr<Http> http_;
  std::string url_;
  bool is_open_ = false;
};

}  // namespace plov::metrics
