// Paths of a coordinator, and the error of one that is none.
#pragma once

#include <expected>
#include <set>
#include <string>
#include <string_view>

#include "verify/error.h"

namespace plov::cluster {

std::expected<void, Error> CheckPath(const std::string& path);
std::expected<void, Error> CheckData(const std::string& path, const std::string& data);

// Whether `path` is `above` or lies below it; everything lies below "".
bool IsBelow(std::string_view path, std::string_view above);

// Those of `watched` that a change at `path` is told for.
std::set<std::string> WatchedAbove(const std::set<std::string>& watched, std::string_view path);

}  // namespace plov::cluster
