#include "cluster/coordinator.h"

#include "cluster/static_coordinator.h"
#include "cluster/zk/zk.h"

namespace plov::cluster {

std::expected<std::unique_ptr<Coordinator>, Error> Open(const std::string& uri,
                                                        const Options& options) {
  constexpr std::string_view kStatic = "static:", kZk = "zk://";
  if (uri.starts_with(kZk)) return OpenZk(uri.substr(kZk.size()), options);
  if (uri.starts_with(kStatic) && uri.size() > kStatic.size()) {
    return OpenStatic(uri.substr(kStatic.size()));
  }
  return Fail(Code::kInvalidArgument,
              "\"" + uri + "\" names no coordinator: zk://HOST[:PORT],.../ROOT or static:FILE");
}

}  // namespace plov::cluster
