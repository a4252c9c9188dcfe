// Value: bytes that prove which store wrote them, and for which key.
//
//   0  8  ValueId
//   8  8  seal: a function of id, key and length
//  16  .  pattern: every word a function of id, key, length and its place
//
// So every byte behind the id follows from the id: a mixture of two values, a value of another key,
// a value cut short or shifted by a word does not prove itself.
#pragma once

#include <cstddef>
#include <cstdint>
#include <expected>
#include <span>
#include <string>
#include <string_view>

#include "torture/history.h"

namespace plov::torture {

inline constexpr size_t kValueBytesMin = 16;

// value: at least kValueBytesMin bytes, of which all are written.
void WriteValue(ValueId id, uint64_t key, std::span<char> value);

// Returns the id, or one clause that says what is wrong with the bytes.
std::expected<ValueId, std::string> ReadValue(std::string_view value, uint64_t key);

}  // namespace plov::torture
