#include "door/redis/glob.h"

#include <cstddef>
#include <utility>

namespace plov::door::redis {

namespace {

bool IsWithin(char c, char first, char last) {
  if (first > last) std::swap(first, last);
  return c >= first && c <= last;
}

// Of the set that begins behind glob[0], '['. Sets how long it is; one without an end goes to the glob's.
bool IsInSet(std::string_view glob, char c, size_t* length) {
  size_t at = 1;
  const bool is_inverted = at < glob.size() && glob[at] == '^';
  if (is_inverted) ++at;
  bool is_in = false;
  while (at < glob.size() && glob[at] != ']') {
    if (glob[at] == '\\' && at + 1 < glob.size()) {
      is_in = is_in || glob[at + 1] == c;
      at += 2;
    } else if (at + 2 < glob.size() && glob[at + 1] == '-') {
      is_in = is_in || IsWithin(c, glob[at], glob[at + 2]);
      at += 3;
    } else {
      is_in = is_in || glob[at] == c;
      ++at;
    }
  }
  *length = at < glob.size() ? at + 1 : at;
  return is_in != is_inverted;
}

// Whether one character matches what the glob begins with, which is no '*'.
bool MatchesOne(std::string_view glob, char c, size_t* length) {
  *length = 1;
  if (glob[0] == '?') return true;
  if (glob[0] == '[') return IsInSet(glob, c, length);
  if (glob[0] != '\\' || glob.size() < 2) return glob[0] == c;
  *length = 2;
  return glob[1] == c;
}

}  // namespace

// Only the last '*' is tried again: what the ones before it match can stay as short as it is.
bool MatchesGlob(std::string_view glob, std::string_view text) {
  size_t at = 0;
  size_t star = glob.npos;
  size_t star_text = 0;
  for (size_t i = 0; i < text.size();) {
    size_t length = 0;
    if (at < glob.size() && glob[at] == '*') {
      star = ++at;
      star_text = i;
    } else if (at < glob.size() && MatchesOne(glob.substr(at), text[i], &length)) {
      at += length;
      ++i;
    } else if (star != glob.npos) {
      at = star;
      i = ++star_text;
    } else {
      return false;
    }
  }
  while (at < glob.size() && glob[at] == '*') ++at;
  return at == glob.size();
}

}  // namespace plov::door::redis
