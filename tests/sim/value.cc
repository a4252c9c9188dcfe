#include "tests/sim/value.h"

#include <cstring>

#include "tests/sim/random.h"

namespace plov::sim {

void MakeValue(torture::ValueId id, uint64_t key, size_t bytes, std::string* value) {
  value->resize(bytes);
  std::memcpy(value->data(), &id, sizeof(id));
  Random pattern(id ^ (key << 32) ^ bytes);
  for (size_t at = sizeof(id); at < bytes; at += sizeof(uint64_t)) {
    const uint64_t word = pattern.Next();
    std::memcpy(value->data() + at, &word, std::min(sizeof(word), bytes - at));
  }
}

std::optional<torture::ValueId> WriterOf(std::string_view value, uint64_t key) {
  torture::ValueId id;
  if (value.size() < sizeof(id)) return std::nullopt;
  std::memcpy(&id, value.data(), sizeof(id));
  thread_local std::string expected;
  MakeValue(id, key, value.size(), &expected);
  if (value != expected) return std::nullopt;
  return id;
}

}  // namespace plov::sim
