#include "cluster/fields.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <limits>
#include <optional>

#include "cluster/coordinator.h"

namespace plov::cluster {

namespace {

constexpr size_t kIdDigits = 16;
const Json kNothing;

std::optional<uint64_t> ParseId(std::string_view text) {
  uint64_t id = 0;
  const char* end = text.data() + text.size();
  const auto [rest, failure] = std::from_chars(text.data(), end, id, 16);
  if (text.size() != kIdDigits || failure != std::errc() || rest != end) return std::nullopt;
  return id;
}

bool IsVisible(std::string_view text) {
  return std::ranges::all_of(text, [](char byte) { return byte > ' ' && byte < '\x7f'; });
}

}  // namespace

std::string IdText(uint64_t id) { return fmt::format("{:016x}", id); }

void Fields::Wrong(const std::string& name, const std::string& text) {
  if (wrong_->empty()) *wrong_ = within_ + name + ": " + text;
}

const Json& Fields::Find(const char* name) {
  if (!object_.is_object()) {
    Wrong(name, "what it should be in is not an object");
    return kNothing;
  }
  const auto found = object_.find(name);
  if (found != object_.end()) return *found;
  Wrong(name, "is missing");
  return kNothing;
}

uint64_t Fields::Number(const char* name, uint64_t min, uint64_t max) {
  const Json& value = Find(name);
  if (value.is_number_unsigned()) {
    const auto number = value.get<uint64_t>();
    if (number >= min && number <= max) return number;
  }
  Wrong(name, fmt::format("is not an integer of {} to {}", min, max));
  return 0;
}

uint32_t Fields::Number32(const char* name, uint32_t min, uint32_t max) {
  return static_cast<uint32_t>(Number(name, min, max));
}

std::chrono::milliseconds Fields::Milliseconds(const char* name, uint32_t min, uint32_t max) {
  return std::chrono::milliseconds(Number(name, min, max));
}

uint64_t Fields::Hex(const char* name) {
  const Json& value = Find(name);
  const auto id = value.is_string() ? ParseId(value.get_ref<const std::string&>()) : std::nullopt;
  if (!id) Wrong(name, "is not a text of 16 hex digits");
  return id.value_or(0);
}

uint64_t Fields::Id(const char* name) {
  const uint64_t id = Hex(name);
  if (id == 0) Wrong(name, "is 0");
  return id;
}

std::string Fields::Name(const char* name) {
  const Json& value = Find(name);
  if (value.is_string() && IsName(value.get_ref<const std::string&>())) return value;
  Wrong(name, "is no name of 1 to 64 letters, digits, . _ -");
  return {};
}

std::string Fields::NameOrNothing(const char* name) {
  const Json& value = Find(name);
  if (value.is_string() && value.get_ref<const std::string&>().empty()) return {};
  return Name(name);
}

std::vector<std::string> Fields::Texts(const char* name, size_t count_max, size_t bytes_max) {
  std::vector<std::string> texts;
  for (const Json& each : Array(name, 1, count_max)) {
    const bool is_text = each.is_string();
    const std::string text = is_text ? each.get<std::string>() : "";
    if (text.empty() || text.size() > bytes_max || !IsVisible(text)) {
      Wrong(name, fmt::format("has what is not a text of 1 to {} visible characters", bytes_max));
      return {};
    }
    texts.push_back(text);
  }
  return texts;
}

const Json& Fields::Array(const char* name, size_t min, size_t max) {
  static const Json kEmpty = Json::array();
  const Json& value = Find(name);
  if (value.is_array() && value.size() >= min && value.size() <= max) return value;
  Wrong(name, fmt::format("is not an array of {} to {} elements", min, max));
  return kEmpty;
}

}  // namespace plov::cluster
