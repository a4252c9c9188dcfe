#include "client/cli/json_lines.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cstdint>

#include "client/cli/json.h"
#include "client/cli/report.h"
#include "verify/record.h"

namespace plov::cli {

namespace {

constexpr auto kMembers = std::to_array<std::string_view>(
    {"key", "key_base64", "value", "value_base64", "version", "flags", "expiry"});

std::string AppendBytes(const program::Json& object, const std::string& name, size_t bytes_max,
                        std::string* bytes) {
  const std::string in_base64 = name + "_base64";
  if (object.contains(name) == object.contains(in_base64)) {
    return fmt::format("there must be one of {} and {}", name, in_base64);
  }
  const program::Json& member = object.contains(name) ? object[name] : object[in_base64];
  if (!member.is_string()) return name + " is not a string";
  const auto& text = member.get_ref<const std::string&>();
  const size_t before = bytes->size();
  if (object.contains(name)) {
    bytes->append(text);
  } else if (!AppendBase64(text, bytes)) {
    return in_base64 + " is not base64";
  }
  const size_t count = bytes->size() - before;
  if (count <= bytes_max) return {};
  return fmt::format("the {} has {} bytes, at most {} are possible", name, count, bytes_max);
}

std::string TakeNumber(const program::Json& object, const std::string& name, uint32_t* number) {
  *number = 0;
  if (!object.contains(name)) return {};
  const program::Json& member = object[name];
  if (!member.is_number_unsigned() || member.get<uint64_t>() > UINT32_MAX) {
    return fmt::format("{} is not a number from 0 to {}", name, UINT32_MAX);
  }
  *number = member.get<uint32_t>();
  return {};
}

std::string AppendItem(const program::Json& object, std::string* bytes, ItemRef* item) {
  for (const auto& [name, value] : object.items()) {
    if (std::ranges::find(kMembers, name) == kMembers.end()) {
      return fmt::format("no item has a '{}'", Printable(name));
    }
  }
  std::string wrong = AppendBytes(object, "key", verify::kKeyBytesMax, bytes);
  item->key_bytes = bytes->size() - item->offset;
  if (wrong.empty() && item->key_bytes == 0) wrong = "the key is empty";
  if (wrong.empty()) wrong = AppendBytes(object, "value", verify::kValueBytesMax, bytes);
  item->value_bytes = bytes->size() - item->offset - item->key_bytes;
  if (wrong.empty()) wrong = TakeNumber(object, "flags", &item->flags);
  if (wrong.empty()) wrong = TakeNumber(object, "expiry", &item->expiry);
  return wrong;
}

}  // namespace

std::string ParseJsonLine(std::string_view text, std::string* bytes, ItemRef* item) {
  const program::Json object = program::Json::parse(text, nullptr, false);
  if (!object.is_object()) return "it is no JSON object";
  item->offset = bytes->size();
  std::string wrong = AppendItem(object, bytes, item);
  if (!wrong.empty()) bytes->resize(item->offset);
  return wrong;
}

}  // namespace plov::cli
