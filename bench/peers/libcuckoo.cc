// libcuckoo's cuckoohash_map of strings, with plov's hash, looked up by string_view; find copies
// the value out, as plov's GET does.

#include <libcuckoo/cuckoohash_map.hh>

#include "bench/peers/peer.h"
#include "verify/seal.h"

namespace plov::bench {

namespace {

// A fast one: it has no hostile clients.
struct Hash {
  size_t operator()(std::string_view key) const {
    return verify::Checksum(key.data(), key.size(), 0);
  }
};
using Map = libcuckoo::cuckoohash_map<std::string, std::string, Hash, std::equal_to<>>;

class Libcuckoo final : public Peer {
 public:
  explicit Libcuckoo(const Work& work) : Peer(work), map_(work.count()) {
    std::string key;
    std::string value;
    for (uint64_t number = 0; number < work.count(); ++number) {
      work.items().FillKey(number, &key);
      work.items().FillValue(number, key, &value);
      map_.insert(key, value);
    }
  }

  bool Can(Way way) const override { return way == Way::kGet; }

  std::expected<void, Error> Do(Way, Range range) override {
    for (const std::string_view key : keys(range)) {
      if (!map_.find(key, value_) || !work().IsRight(key, value_)) return work().Wrong(key);
    }
    return {};
  }

 private:
  Map map_;
  std::string value_;
};

}  // namespace

StartedPeer StartLibcuckoo(const Work& work, const PeerPlace&) {
  return std::make_unique<Libcuckoo>(work);
}

}  // namespace plov::bench
