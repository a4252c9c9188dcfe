#include "server/access_list.h"

#include <grp.h>
#include <pwd.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <string>

namespace plov::server {

namespace {

std::optional<uint32_t> NumberOf(std::string_view text) {
  uint32_t number = 0;
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (failure != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

// At the start, where there is one thread.
std::optional<uid_t> UserOf(const std::string& name) {
  if (const auto number = NumberOf(name)) return number;
  const passwd* user = ::getpwnam(name.c_str());
  return user == nullptr ? std::nullopt : std::optional(user->pw_uid);
}

std::optional<gid_t> GroupOf(const std::string& name) {
  if (const auto number = NumberOf(name)) return number;
  const group* found = ::getgrnam(name.c_str());
  return found == nullptr ? std::nullopt : std::optional(found->gr_gid);
}

}  // namespace

std::expected<fabric::AccessList, Error> ParseAccessList(std::string_view text) {
  fabric::AccessList list;
  for (size_t begin = 0; begin <= text.size();) {
    const size_t end = std::min(text.find(',', begin), text.size());
    const std::string name(text.substr(begin, end - begin));
    begin = end + 1;
    if (name.starts_with('@')) {
      const auto found = GroupOf(name.substr(1));
      if (!found) return Fail(Code::kInvalidArgument, "there is no group '" + name.substr(1) + "'");
      list.groups.push_back(*found);
    } else {
      const auto found = UserOf(name);
      if (!found) return Fail(Code::kInvalidArgument, "there is no user '" + name + "'");
      list.users.push_back(*found);
    }
  }
  return list;
}

}  // namespace plov::server
