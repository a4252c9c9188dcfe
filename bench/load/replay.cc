#include "bench/load/replay.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <fstream>

namespace plov::bench {

namespace {

constexpr size_t kFieldsAfterKey = 5;  // of a line of a trace

// The words of a line, at most one more than there may be.
std::vector<std::string_view> Words(std::string_view line) {
  std::vector<std::string_view> words;
  while (words.size() < 4) {
    line.remove_prefix(std::min(line.find_first_not_of(" \t"), line.size()));
    if (line.empty()) break;
    const size_t end = std::min(line.find_first_of(" \t"), line.size());
    words.push_back(line.substr(0, end));
    line.remove_prefix(end);
  }
  return words;
}

}  // namespace

std::expected<Replay, Error> Replay::Read(const std::string& path) {
  std::ifstream file(path);
  if (!file) return FailErrno("cannot read " + path, errno);
  auto replay = Parse(&file, path);
  if (replay && file.bad()) return FailErrno("cannot read " + path, errno);
  return replay;
}

std::expected<Replay, Error> Replay::Parse(std::istream* lines, const std::string& name) {
  Replay replay;
  size_t number = 0;
  for (std::string line; std::getline(*lines, line);) {
    ++number;
    if (line.ends_with('\r')) line.pop_back();
    if (line.find_first_not_of(" \t") == std::string::npos || line.starts_with('#')) continue;
    if (const std::string problem = replay.AddLine(line); !problem.empty()) {
      return Fail(Code::kInvalidArgument, fmt::format("{}:{}: {}", name, number, problem));
    }
  }
  if (replay.size() == 0) return Fail(Code::kInvalidArgument, name + " has no requests");
  return replay;
}

// Each returns what is wrong with the line, nothing when it was added.
std::string Replay::AddLine(std::string_view line) {
  // A key of a trace may have spaces, and a command's key commas.
  const bool is_command = KindNamed(line.substr(0, line.find_first_of(" \t"))).has_value();
  return is_command || line.find(',') == line.npos ? AddCommand(line) : AddTraceLine(line);
}

std::string Replay::AddCommand(std::string_view line) {
  const auto words = Words(line);
  const auto kind = KindNamed(words[0]);
  if (!kind) {
    return fmt::format("no operation '{}': write get KEY, put KEY BYTES, or a line of a trace",
                       words[0]);
  }
  const size_t wanted = Writes(*kind) ? 3 : 2;
  if (words.size() != wanted) {
    return fmt::format("write {} KEY{}", words[0], wanted == 3 ? " BYTES" : "");
  }
  return Add(*kind, words[1], wanted == 3 ? words[2] : "0");
}

// From both ends, for the key is whatever stands between.
std::string Replay::AddTraceLine(std::string_view line) {
  std::array<std::string_view, kFieldsAfterKey> fields;
  const size_t key_at = line.find(',') + 1;
  for (size_t i = kFieldsAfterKey; i-- > 0;) {
    const size_t comma = line.rfind(',');
    if (comma == line.npos || comma < key_at) {
      return "a line of a trace is timestamp,key,key size,value size,client id,operation,TTL";
    }
    fields[i] = line.substr(comma + 1);
    line = line.substr(0, comma);
  }
  const auto& [key_size, value_size, client, operation, ttl] = fields;
  const auto kind = KindOfMemcached(operation);
  if (!kind) return fmt::format("no operation '{}'", operation);
  return Add(*kind, line.substr(key_at), value_size);
}

std::string Replay::Add(Kind kind, std::string_view key, std::string_view value_bytes) {
  if (key.empty() || key.size() > kKeyBytesMax) {
    return fmt::format("a key has 1 to {} bytes, this one {}", kKeyBytesMax, key.size());
  }
  uint64_t bytes = 0;
  const char* end = value_bytes.data() + value_bytes.size();
  const auto [rest, failure] = std::from_chars(value_bytes.data(), end, bytes);
  if (failure != std::errc() || rest != end || bytes > kValueBytesMax) {
    return fmt::format("'{}' is not the size of a value, 0 to {}", value_bytes, kValueBytesMax);
  }
  if (!Writes(kind)) bytes = 0;
  lines_.push_back({.key_offset = keys_.size(),
                    .value_bytes = static_cast<uint32_t>(bytes),
                    .key_bytes = static_cast<uint16_t>(key.size()),
                    .kind = kind});
  keys_ += key;
  value_bytes_most_ = std::max(value_bytes_most_, static_cast<uint32_t>(bytes));
  if (Writes(kind)) written_bytes_ += key.size() + bytes;
  return {};
}

Replay::Request Replay::operator[](size_t index) const {
  const Line& line = lines_[index];
  return {.kind = line.kind,
          .value_bytes = line.value_bytes,
          .key = std::string_view(keys_).substr(line.key_offset, line.key_bytes)};
}

double Replay::item_bytes() const {
  const auto writes =
      std::ranges::count_if(lines_, [](const Line& line) { return Writes(line.kind); });
  return writes == 0 ? 0 : static_cast<double>(written_bytes_) / static_cast<double>(writes);
}

double Replay::part(Kind kind) const {
  return static_cast<double>(std::ranges::count(lines_, kind, &Line::kind)) /
         static_cast<double>(lines_.size());
}

}  // namespace plov::bench
