// What somebody who mistyped a word may have meant.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace plov::program {

// ": did you mean 'stats'?" for "stat"; empty where no name is near.
std::string DidYouMean(std::string_view word, std::span<const std::string> names);

}  // namespace plov::program
