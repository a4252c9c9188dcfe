// Markdown: a page as a section of a README, its charts and plots as pictures beside it.
#pragma once

#include <expected>
#include <string>

#include "bench/page/page.h"
#include "verify/error.h"

namespace plov::bench {

// Writes the section over the file, and the pictures over NAME-1.svg, NAME-2.svg, ... in its
// folder, where NAME is the file's without its extension. Errors: kSystem.
std::expected<void, Error> SaveMarkdown(const std::string& path, const Page& page);

}  // namespace plov::bench
