#include <nettle/sha2.h>

#include "fabric/claim.h"

namespace plov::fabric {

Secret OneWay(const Secret& secret) {
  sha256_ctx state;
  ::sha256_init(&state);
  ::sha256_update(&state, secret.size(), secret.data());
  Secret hash;
  ::sha256_digest(&state, hash.size(), hash.data());
  return hash;
}

}  // namespace plov::fabric
