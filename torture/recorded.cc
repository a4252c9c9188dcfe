#include "torture/recorded.h"

#include <cerrno>
#include <fstream>
#include <iterator>

namespace plov::torture {

namespace {

// JSON's maps begin with a string, EDN's with a keyword.
bool LooksLikeJson(std::string_view text) {
  const size_t first = text.find_first_not_of(" \t\r\n[{");
  return first != std::string_view::npos && text[first] == '"';
}

}  // namespace

std::expected<Recorded, Error> ReadRecorded(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  const std::string text(std::istreambuf_iterator<char>(file), {});
  if (!file) return FailErrno("cannot read " + path, errno);
  auto recorded = LooksLikeJson(text) ? ParseJsonHistory(text) : ParseEdnHistory(text);
  if (recorded) return recorded;
  return Fail(recorded.error().code, path + ":" + recorded.error().message);
}

}  // namespace plov::torture
