// HTML: what every page needs.
#pragma once

#include <string>
#include <string_view>

namespace plov::program {

// The text as it stands in HTML or SVG, also within the quotes of an attribute.
std::string Escaped(std::string_view text);

}  // namespace plov::program
