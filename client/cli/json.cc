#include "client/cli/json.h"

#include <fmt/core.h>

#include <array>
#include <cstdint>

namespace plov::cli {

namespace {

constexpr std::string_view kDigits =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

void AddAbout(const Item& item, program::Json* object) {
  (*object)["version"] = item.version;
  (*object)["flags"] = item.flags;
  (*object)["expiry"] = item.expiry;
}

}  // namespace

std::string Base64(std::string_view bytes) {
  std::string text;
  text.reserve((bytes.size() + 2) / 3 * 4);
  for (size_t i = 0; i < bytes.size(); i += 3) {
    const std::string_view group = bytes.substr(i, 3);
    uint32_t bits = 0;
    for (size_t j = 0; j < 3; ++j) {
      bits = bits << 8 | (j < group.size() ? static_cast<uint8_t>(group[j]) : 0u);
    }
    for (size_t j = 0; j < 4; ++j) {
      text += j <= group.size() ? kDigits[bits >> (18 - 6 * j) & 63] : '=';
    }
  }
  return text;
}

bool AppendBase64(std::string_view text, std::string* bytes) {
  if (text.size() % 4 != 0) return false;
  const size_t padding = text.ends_with("==") ? 2 : text.ends_with('=') ? 1 : 0;
  text.remove_suffix(padding);
  uint32_t bits = 0;
  uint32_t count = 0;  // of bits that are no byte yet
  for (const char c : text) {
    const size_t digit = kDigits.find(c);
    if (digit == kDigits.npos) return false;
    bits = bits << 6 | static_cast<uint32_t>(digit);
    count += 6;
    if (count < 8) continue;
    count -= 8;
    *bytes += static_cast<char>(bits >> count & 0xff);
  }
  return (bits & ((1u << count) - 1)) == 0;
}

void AddBytes(std::string_view name, std::string_view bytes, program::Json* object) {
  if (program::IsUtf8(bytes)) {
    (*object)[std::string(name)] = bytes;
  } else {
    (*object)[fmt::format("{}_base64", name)] = Base64(bytes);
  }
}

program::Json JsonOf(std::string_view key, const Item& item) {
  program::Json object = program::Json::object();
  AddBytes("key", key, &object);
  AddBytes("value", item.value, &object);
  AddAbout(item, &object);
  return object;
}

program::Json JsonOfKey(std::string_view key, const Item& item) {
  program::Json object = program::Json::object();
  AddBytes("key", key, &object);
  AddAbout(item, &object);
  return object;
}

program::Json JsonOfWrite(std::string_view key, Version version) {
  program::Json object = program::Json::object();
  AddBytes("key", key, &object);
  object["version"] = version;
  return object;
}

}  // namespace plov::cli
