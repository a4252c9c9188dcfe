// Globs as Redis matches them: * ? [a-z] [^a-z] and \ before what is meant as it stands.
#pragma once

#include <string_view>

namespace plov::door::redis {

// In time that is bounded by the product of both lengths.
bool MatchesGlob(std::string_view glob, std::string_view text);

}  // namespace plov::door::redis
