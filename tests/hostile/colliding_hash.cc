// HashKey of a plovd and a client of their own: all keys that begin with "collide" have one hash. Nobody
// knows such keys of the hash itself.
#include "cuckoo/hash.h"
#include "cuckoo/key_hash.h"

namespace plov::cuckoo {

uint64_t HashKey(std::string_view key, uint64_t hash_seed) {
  constexpr std::string_view kColliding = "collide";
  if (key.starts_with(kColliding)) key = kColliding;
  return KeyHash<AesRoundByTable>(key, hash_seed);
}

}  // namespace plov::cuckoo
