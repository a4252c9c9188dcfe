// Inline commands: a line of words, with quotes and escapes as Redis has them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace plov::door::redis {

// Adds the words of the line. False: a quote is not closed, or something stands right behind one.
bool SplitInline(std::string_view line, std::vector<std::string>* words);

}  // namespace plov::door::redis
