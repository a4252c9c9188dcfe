#include "door/memcached/base64.h"

#include <array>
#include <cstdint>

namespace plov::door::memcached {

namespace {

constexpr std::string_view kAlphabet =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

uint32_t Byte(char c) { return static_cast<unsigned char>(c); }

struct Group {
  std::array<uint32_t, 4> digits{};
  size_t count = 0;
  size_t padding = 0;
};

}  // namespace

std::string EncodeBase64(std::string_view bytes) {
  std::string text;
  text.reserve((bytes.size() + 2) / 3 * 4);
  for (; !bytes.empty(); bytes.remove_prefix(std::min<size_t>(3, bytes.size()))) {
    const uint32_t second = bytes.size() > 1 ? Byte(bytes[1]) : 0;
    const uint32_t third = bytes.size() > 2 ? Byte(bytes[2]) : 0;
    const uint32_t bits = Byte(bytes[0]) << 16 | second << 8 | third;
    text += kAlphabet[bits >> 18];
    text += kAlphabet[bits >> 12 & 63];
    text += bytes.size() > 1 ? kAlphabet[bits >> 6 & 63] : '=';
    text += bytes.size() > 2 ? kAlphabet[bits & 63] : '=';
  }
  return text;
}

std::optional<std::string> DecodeBase64(std::string_view text) {
  size_t known = 0;
  for (const char c : text) known += kAlphabet.find(c) != kAlphabet.npos || c == '=' ? 1 : 0;
  if (known == 0 || known % 4 != 0) return std::nullopt;
  std::string bytes;
  Group group;
  for (const char c : text) {
    const size_t digit = kAlphabet.find(c);
    if (digit == kAlphabet.npos && c != '=') continue;
    if (c == '=') ++group.padding;
    group.digits[group.count++] = c == '=' ? 0 : static_cast<uint32_t>(digit);
    if (group.count < group.digits.size()) continue;
    const uint32_t bits =
        group.digits[0] << 18 | group.digits[1] << 12 | group.digits[2] << 6 | group.digits[3];
    bytes += static_cast<char>(bits >> 16);
    bytes += static_cast<char>(bits >> 8);
    bytes += static_cast<char>(bits);
    group.count = 0;
    if (group.padding == 0) continue;
    if (group.padding > 2) return std::nullopt;
    bytes.resize(bytes.size() - group.padding);
    break;
  }
  if (bytes.empty()) return std::nullopt;
  return bytes;
}

}  // namespace plov::door::memcached
