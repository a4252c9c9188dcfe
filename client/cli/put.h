// What put shares with other commands that store a value.
#pragma once

#include <cstddef>
#include <expected>
#include <string>
#include <string_view>

#include "client/cli/commands.h"
#include "client/cli/options.h"
#include "program/output.h"

namespace plov::cli {

// All of standard input, or the first of it where that is over so many bytes: more than those.
std::expected<std::string, Error> ReadStandardInput(size_t bytes_max);

// Stores the value as put's options say, and prints what put does.
Outcome StoreValue(const Options& options, const std::string& key, std::string_view value,
                   program::Output* output);

}  // namespace plov::cli
