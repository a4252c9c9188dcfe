// Compiled for AVX2 (verify/CMakeLists.txt), and so without headers that have inline functions: the linker might take
// those for the whole program.
#include "verify/avx2_digest.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace plov::verify {

uint64_t ChecksumAvx2(const void* data, size_t bytes, uint64_t seed) {
  return XXH3_64bits_withSeed(data, bytes, seed);
}

void UpdateDigestAvx2(void* state, const void* data, size_t bytes) {
  XXH3_64bits_update(static_cast<XXH3_state_t*>(state), data, bytes);
}

}  // namespace plov::verify
