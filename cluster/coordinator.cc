#include "cluster/coordinator.h"

#include "cluster/static_coordinator.h"
#include "cluster/zk/zk.h"

namespace plov::cluster {

std::expected<void, Error> Put(Coordinator* coordinator, const std::string& path,
                               const std::string& data) {
  const auto value = coordinator->Get(path);
  if (value && value->data == data) return {};
  if (!value && value.error().code != Code::kNotFound) return std::unexpected(value.error());
  const auto written = value ? coordinator->Set(path, data, value->revision)
                             : coordinator->Create(path, data, Lifetime::kPersistent);
  if (!written) return std::unexpected(written.error());
  return {};
}

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
