#include "cuckoo/hash.h"

#include "cuckoo/key_hash.h"

namespace plov::cuckoo {

#if defined(PLOV_AES_TARGET)
namespace {

// Before it is set it is false, and the hash is the same.
const bool kHasAesInstruction = HasAesInstruction();

[[PLOV_AES_TARGET]] uint64_t HashByInstruction(std::string_view key, uint64_t hash_seed) {
  return KeyHash<AesRoundByInstruction>(key, hash_seed);
}

}  // namespace

uint64_t HashKey(std::string_view key, uint64_t hash_seed) {
  if (kHasAesInstruction) return HashByInstruction(key, hash_seed);
  return KeyHash<AesRoundByTable>(key, hash_seed);
}
#else
uint64_t HashKey(std::string_view key, uint64_t hash_seed) {
  return KeyHash<AesRoundByTable>(key, hash_seed);
}
#endif

}  // namespace plov::cuckoo
