// What a user who is typing a command may want to type next.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace plov::cli {

struct Completion {
  std::vector<std::string> names;  // commands or options that begin as the last word does
  std::string rest;                // what they all go on with; behind the only one also a blank
};

// before: what stands before the cursor.
Completion Complete(std::string_view before);

}  // namespace plov::cli
