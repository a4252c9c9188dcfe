// Base64 as memcached's meta commands have keys in it (flag b).
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace plov::door::memcached {

std::string EncodeBase64(std::string_view bytes);
// As memcached reads it: characters that are none of the alphabet are passed over, and what comes after the padding.
// nullopt: it is not a number of groups of four, or wrongly padded, or empty.
std::optional<std::string> DecodeBase64(std::string_view text);

}  // namespace plov::door::memcached
