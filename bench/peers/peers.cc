#include <algorithm>

#include "bench/peers/peer.h"

namespace plov::bench {

namespace {

constexpr auto kPeerKinds = std::to_array<PeerKind>({
    {"memory", "the memory itself", "", StartMemory},
});

}  // namespace

std::span<const PeerKind> PeerKinds() { return kPeerKinds; }

const PeerKind* FindPeerKind(std::string_view name) {
  const auto found = std::ranges::find(kPeerKinds, name, &PeerKind::name);
  return found == kPeerKinds.end() ? nullptr : &*found;
}

}  // namespace plov::bench
