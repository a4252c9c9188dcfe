// JSON of items, whose bytes need not be text.
#pragma once

#include <plov/client.h>

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace plov::cli {

using Json = nlohmann::ordered_json;

// How many bytes the well-formed UTF-8 character has that `bytes` begin with; 0 when it is none.
size_t CharacterBytes(std::string_view bytes);
bool IsUtf8(std::string_view bytes);
std::string Base64(std::string_view bytes);
// Appends what Base64 made a text of; false when it has not made it.
bool AppendBase64(std::string_view text, std::string* bytes);

// Adds `bytes` as NAME when they are UTF-8, else as NAME_base64.
void AddBytes(std::string_view name, std::string_view bytes, Json* object);

// {"key":...,"value":...,"version":...,"flags":...,"expiry":...}
Json JsonOf(std::string_view key, const Item& item);

// What one shard says of itself, "name value\n" lines; what is none is passed over.
Json ShardStats(std::string_view text);

// One line. Never throws: bytes that are not UTF-8 in what is no item are replaced.
std::string LineOf(const Json& json);

}  // namespace plov::cli
