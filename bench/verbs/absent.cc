// In place of the measurements where rdma-core was not there when plov was built.

#include "bench/verbs/measure.h"

namespace plov::bench {

namespace {

std::unexpected<Error> Absent() {
  return Fail(Code::kUnavailable,
              "this plov was built without RDMA: install libibverbs-dev and librdmacm-dev, and "
              "build it anew");
}

}  // namespace

std::expected<DeviceName, Error> FindDevice(const WantedDevice&) { return Absent(); }

std::expected<std::unique_ptr<Measurer>, Error> Measurer::Create(const WantedDevice&, fabric::Fd) {
  return Absent();
}

std::expected<void, Error> Serve(const WantedDevice&, fabric::Fd) { return Absent(); }

}  // namespace plov::bench
