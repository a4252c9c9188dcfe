// In place of the verbs fabric where rdma-core was not there when plov was built.

#include "fabric/verbs/survey.h"
#include "fabric/verbs/verbs.h"

namespace plov::fabric::verbs {

namespace {

std::unexpected<Error> Absent() {
  return Fail(Code::kInvalidArgument,
              "this plov was built without RDMA: install libibverbs-dev, librdmacm-dev and "
              "nettle-dev, and build it anew");
}

}  // namespace

bool IsRdma(std::string_view uri) { return uri.starts_with("rdma:"); }

std::expected<void, Error> Check(std::string_view) { return Absent(); }

std::expected<std::unique_ptr<Connection>, Error> Connect(std::string_view, const ConnectOptions&) {
  return Absent();
}

std::expected<std::unique_ptr<Listener>, Error> Listen(std::string_view, const ListenOptions&) {
  return Absent();
}

Survey TakeSurvey() { return {}; }

}  // namespace plov::fabric::verbs
