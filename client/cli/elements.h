// The elements of vectors as text and as JSON.
#pragma once

#include <plov/client.h>

#include <array>
#include <expected>
#include <string>
#include <string_view>

#include "program/json.h"

namespace plov::cli {

// In the order of ElementType, whose first is 1.
inline constexpr auto kElementTypes = std::to_array<std::string_view>(
    {"int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float", "double"});

std::string_view TypeName(ElementType type);

// Appends the element's bytes. kInvalidArgument: the text is no number of that type.
std::expected<void, Error> AppendElement(ElementType type, std::string_view text,
                                         std::string* bytes);

// The shortest text that is read as the same element: digits, or nan, inf and -inf.
std::string ElementText(ElementType type, std::string_view bytes);

// A number with the same digits; nan, inf and -inf, which JSON has not, are strings.
program::Json ElementJson(ElementType type, std::string_view bytes);

// An array of all of them.
program::Json ElementsJson(ElementType type, std::string_view bytes);

}  // namespace plov::cli
