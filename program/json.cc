#include "program/json.h"

#include <fmt/core.h>

#include <array>
#include <cstdint>

namespace plov::program {

namespace {

// How many bytes a character has that starts with `lead`, and what its second byte may be, so that
// neither surrogates nor overlong forms nor more than U+10FFFF pass. Source: RFC 3629, section 4.
struct Form {
  uint8_t lead_min;
  uint8_t lead_max;
  uint8_t second_min;
  uint8_t second_max;
  uint8_t bytes;
};
constexpr auto kForms = std::to_array<Form>({{0x00, 0x7f, 0, 0, 1},
                                             {0xc2, 0xdf, 0x80, 0xbf, 2},
                                             {0xe0, 0xe0, 0xa0, 0xbf, 3},
                                             {0xe1, 0xec, 0x80, 0xbf, 3},
                                             {0xed, 0xed, 0x80, 0x9f, 3},
                                             {0xee, 0xef, 0x80, 0xbf, 3},
                                             {0xf0, 0xf0, 0x90, 0xbf, 4},
                                             {0xf1, 0xf3, 0x80, 0xbf, 4},
                                             {0xf4, 0xf4, 0x80, 0x8f, 4}});

}  // namespace

size_t CharacterBytes(std::string_view bytes) {
  const auto at = [bytes](size_t i) { return static_cast<uint8_t>(bytes[i]); };
  for (const Form& form : kForms) {
    if (at(0) < form.lead_min || at(0) > form.lead_max) continue;
    if (bytes.size() < form.bytes) return 0;
    if (form.bytes > 1 && (at(1) < form.second_min || at(1) > form.second_max)) return 0;
    for (size_t i = 2; i < form.bytes; ++i) {
      if ((at(i) & 0xc0) != 0x80) return 0;
    }
    return form.bytes;
  }
  return 0;
}

bool IsUtf8(std::string_view bytes) {
  while (!bytes.empty()) {
    const size_t count = CharacterBytes(bytes);
    if (count == 0) return false;
    bytes.remove_prefix(count);
  }
  return true;
}

std::string LineOf(const Json& json) {
  return fmt::format("{}\n", json.dump(-1, ' ', false, Json::error_handler_t::replace));
}

}  // namespace plov::program
