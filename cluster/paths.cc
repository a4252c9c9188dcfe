#include "cluster/paths.h"

#include <algorithm>
#include <ranges>

#include "cluster/coordinator.h"

namespace plov::cluster {

namespace {

bool IsNameByte(char byte) {
  return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') ||
         (byte >= '0' && byte <= '9') || byte == '.' || byte == '_' || byte == '-';
}

}  // namespace

bool IsName(std::string_view name) {
  return !name.empty() && name.size() <= kNameBytesMax && name != "." && name != ".." &&
         std::ranges::all_of(name, IsNameByte);
}

std::expected<void, Error> CheckPath(const std::string& path) {
  const auto is_name = [](auto part) { return IsName(std::string_view(part)); };
  if (!path.empty() && std::ranges::all_of(path | std::views::split('/'), is_name)) return {};
  return Fail(
      Code::kInvalidArgument,
      "\"" + path + "\" is not a path: names of 1 to 64 letters, digits, . _ - between slashes");
}

std::expected<void, Error> CheckData(const std::string& path, const std::string& data) {
  if (data.size() <= kDataBytesMax) return {};
  return Fail(Code::kTooLarge, path + ": " + std::to_string(data.size()) +
                                   " bytes are too many for a coordinator, which takes " +
                                   std::to_string(kDataBytesMax));
}

bool IsBelow(std::string_view path, std::string_view above) {
  if (above.empty() || path == above) return true;
  return path.starts_with(above) && path[above.size()] == '/';
}

std::set<std::string> WatchedAbove(const std::set<std::string>& watched, std::string_view path) {
  std::set<std::string> above;
  while (true) {
    if (const auto found = watched.find(std::string(path)); found != watched.end()) {
      above.insert(*found);
    }
    if (path.empty()) return above;
    const size_t slash = path.rfind('/');
    path = path.substr(0, slash == std::string_view::npos ? 0 : slash);
  }
}

}  // namespace plov::cluster
