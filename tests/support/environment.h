// What the environment asks a test for.
#pragma once

#include <cstdint>
#include <cstdlib>

namespace plov::test {

// A number from the environment.
inline uint64_t NumberFrom(const char* variable, uint64_t otherwise) {
  const char* text = std::getenv(variable);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

}  // namespace plov::test
