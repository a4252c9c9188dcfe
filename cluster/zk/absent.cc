#include "cluster/zk/zk.h"

namespace plov::cluster {

std::expected<std::unique_ptr<Coordinator>, Error> OpenZk(const std::string& place,
                                                          const Options&) {
  return Fail(
      Code::kInvalidArgument,
      "zk://" + place +
          ": plov was built without ZooKeeper: install libzookeeper-mt-dev and build it again");
}

}  // namespace plov::cluster
