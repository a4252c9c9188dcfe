// JSON of items, whose bytes need not be text.
#pragma once

#include <plov/client.h>

#include <string>
#include <string_view>

#include "program/json.h"

namespace plov::cli {

std::string Base64(std::string_view bytes);
// Appends what Base64 made a text of; false when it has not made it.
bool AppendBase64(std::string_view text, std::string* bytes);

// Adds `bytes` as NAME when they are UTF-8, else as NAME_base64.
void AddBytes(std::string_view name, std::string_view bytes, program::Json* object);

// {"key":...,"value":...,"version":...,"flags":...,"expiry":...}
program::Json JsonOf(std::string_view key, const Item& item);
// The same without the value.
program::Json JsonOfKey(std::string_view key, const Item& item);

// What a write of the key prints.
program::Json JsonOfWrite(std::string_view key, Version version);

// What one shard says of itself, "name value\n" lines; what is none is passed over.
program::Json ShardStats(std::string_view text);

}  // namespace plov::cli
