// Operation: what one request of a load does.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace plov::bench {

enum class Kind : uint8_t {
  kGet,
  kPut,      // of an item that others may have put before
  kInsert,   // a PUT of the next new item
  kAdd,      // only where the key is absent
  kReplace,  // only where it is present
  kDelete,
  kModify,     // a GET, then a PUT whatever happened between
  kSwap,       // a GET, then a PUT over the version that it saw
  kIncrement,  // by 1, at the server
};

inline constexpr auto kKindNames = std::to_array<std::string_view>(
    {"get", "put", "insert", "add", "replace", "delete", "modify", "cas", "increment"});
inline constexpr size_t kKinds = kKindNames.size();

constexpr std::string_view NameOf(Kind kind) { return kKindNames[static_cast<size_t>(kind)]; }

constexpr std::optional<Kind> KindNamed(std::string_view name) {
  for (size_t i = 0; i < kKinds; ++i) {
    if (kKindNames[i] == name) return static_cast<Kind>(i);
  }
  return std::nullopt;
}

// Whether it carries a value.
constexpr bool Writes(Kind kind) {
  return kind != Kind::kGet && kind != Kind::kDelete && kind != Kind::kIncrement;
}

// The operation that plov has for a command of memcached's, as traces and the table of Twitter's
// clusters name them: gets is a GET; append, prepend, incr and decr read, and write what they saw.
constexpr std::optional<Kind> KindOfMemcached(std::string_view command) {
  if (command == "gets") return Kind::kGet;
  if (command == "set") return Kind::kPut;
  for (const std::string_view name : {"append", "prepend", "incr", "decr"}) {
    if (command == name) return Kind::kSwap;
  }
  for (const Kind kind : {Kind::kGet, Kind::kAdd, Kind::kReplace, Kind::kDelete, Kind::kSwap}) {
    if (NameOf(kind) == command) return kind;
  }
  return std::nullopt;
}

struct Operation {
  Kind kind = Kind::kGet;
  uint64_t number = 0;  // of the item; none in a replay
  std::string key;
  std::string value;  // of those that write
};

}  // namespace plov::bench
