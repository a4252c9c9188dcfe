// Value: bytes that prove which store wrote them, and for which key.
//
//   0  value id        torture/history.h
//   8  bytes that follow from id, key and length, to the end
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "torture/history.h"

namespace plov::sim {

inline constexpr size_t kValueBytesMin = 8;

// Fills `value` with `bytes` bytes, at least kValueBytesMin.
void MakeValue(torture::ValueId id, uint64_t key, size_t bytes, std::string* value);

// Who wrote it; nullopt when nobody did, for this key.
std::optional<torture::ValueId> WriterOf(std::string_view value, uint64_t key);

}  // namespace plov::sim
