// In place of the exporter where prometheus-cpp was not there when plov was built.

#include "metrics/exporter.h"

namespace plov::metrics {

namespace {

std::unexpected<Error> Absent() {
  return Fail(Code::kInvalidArgument,
              "this plov was built without metrics for Prometheus: install prometheus-cpp-dev, and "
              "build it anew");
}

}  // namespace

struct Exporter::Http {};

Exporter::~Exporter() = default;

std::expected<void, Error> Exporter::Check(const std::string&) { return Absent(); }

std::expected<std::unique_ptr<Exporter>, Error> Exporter::Listen(const std::string&, Source) {
  return Absent();
}

std::expected<std::unique_ptr<Exporter>, Error> Exporter::Listen(const std::string&, SampleSource) {
  return Absent();
}

}  // namespace plov::metrics
