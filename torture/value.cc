#include "torture/value.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "program/random.h"

namespace plov::torture {

namespace {

constexpr size_t kWordBytes = sizeof(uint64_t);
constexpr uint64_t kFactor = 0xbf58476d1ce4e5b9;  // one of Mix's

uint64_t SeedOf(ValueId id, uint64_t key, size_t bytes) {
  return program::Mix(id + program::kGoldenStep) ^ program::Mix(key * program::kGoldenStep + bytes);
}

// The word at `index` of the value, the id being the first.
uint64_t WordAt(uint64_t seed, size_t index) {
  const uint64_t word = seed + index * program::kGoldenStep;
  return (word ^ (word >> 29)) * kFactor;
}

uint64_t Load(const char* from, size_t bytes = kWordBytes) {
  uint64_t word = 0;
  std::memcpy(&word, from, bytes);
  return word;
}

std::string Refusal(std::string_view value, size_t at, size_t wrong_words) {
  return fmt::format(
      "{} of {} words are not what value {:#x} of {} bytes has, the first at byte {}", wrong_words,
      (value.size() + kWordBytes - 1) / kWordBytes, Load(value.data()), value.size(), at);
}

}  // namespace

void WriteValue(ValueId id, uint64_t key, std::span<char> value) {
  const uint64_t seed = SeedOf(id, key, value.size());
  std::memcpy(value.data(), &id, kWordBytes);
  for (size_t at = kWordBytes; at < value.size(); at += kWordBytes) {
    const uint64_t word = WordAt(seed, at / kWordBytes);
    std::memcpy(value.data() + at, &word, std::min(kWordBytes, value.size() - at));
  }
}

std::expected<ValueId, std::string> ReadValue(std::string_view value, uint64_t key) {
  if (value.size() < kValueBytesMin) {
    return std::unexpected(fmt::format("{} bytes are fewer than any value has", value.size()));
  }
  const ValueId id = Load(value.data());
  const uint64_t seed = SeedOf(id, key, value.size());
  const size_t whole = value.size() / kWordBytes * kWordBytes;
  uint64_t difference = 0;
  for (size_t at = kWordBytes; at < whole; at += kWordBytes) {
    difference |= Load(value.data() + at) ^ WordAt(seed, at / kWordBytes);
  }
  const auto tail = [&](uint64_t word) {
    return word & ((uint64_t{1} << (value.size() - whole) * 8) - 1);
  };
  const uint64_t last =
      whole == value.size() ? 0 : Load(value.data() + whole, value.size() - whole);
  difference |= tail(last ^ WordAt(seed, whole / kWordBytes));
  if (difference == 0) return id;
  size_t first = value.size();
  size_t wrong_words = 0;
  for (size_t at = value.size(); at > kWordBytes;) {
    at = (at - 1) / kWordBytes * kWordBytes;
    uint64_t word = WordAt(seed, at / kWordBytes);
    if (at == whole) word = tail(word);
    if (Load(value.data() + at, std::min(kWordBytes, value.size() - at)) == word) continue;
    first = at;
    ++wrong_words;
  }
  return std::unexpected(Refusal(value, first, wrong_words));
}

}  // namespace plov::torture
