// JSON as programs write it, and the UTF-8 that it needs.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace plov::program {

using Json = nlohmann::ordered_json;

// How many bytes the well-formed UTF-8 character has that `bytes` begin with; 0 when it is none.
size_t CharacterBytes(std::string_view bytes);
bool IsUtf8(std::string_view bytes);

// One line. Never throws: bytes that are not UTF-8 are replaced.
std::string LineOf(const Json& json);

}  // namespace plov::program
