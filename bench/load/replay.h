// Replay: requests from a file.
//
// A line is a request, in one of two forms:
//   get KEY | put KEY BYTES | insert, add, replace, modify, cas as put | delete KEY
//   timestamp,key,key size,value size,client id,operation,TTL     of Twitter's public cache traces
// Lines that are empty or begin with # count for nothing.
//
// Threads: constant once read.
// Source:  https://github.com/twitter/cache-trace describes the second form.
#pragma once

#include <cstddef>
#include <cstdint>
#include <expected>
#include <istream>
#include <string>
#include <string_view>
#include <vector>

#include "bench/load/operation.h"
#include "verify/error.h"

namespace plov::bench {

class Replay {
 public:
  static constexpr size_t kKeyBytesMax = 1024;
  static constexpr uint64_t kValueBytesMax = uint64_t{16} << 20;

  struct Request {
    Kind kind;
    uint32_t value_bytes;
    std::string_view key;
  };

  // kInvalidArgument with one line that names `name` and the number of the line that is wrong;
  // kSystem: it cannot be read.
  static std::expected<Replay, Error> Read(const std::string& path);
  static std::expected<Replay, Error> Parse(std::istream* lines, const std::string& name);

  size_t size() const { return lines_.size(); }
  Request operator[](size_t index) const;
  uint32_t value_bytes_most() const { return value_bytes_most_; }
  // Of key and value where they are written, in the mean.
  double item_bytes() const;
  double part(Kind kind) const;

 private:
  struct Line {
    size_t key_offset;
    uint32_t value_bytes;
    uint16_t key_bytes;
    Kind kind;
  };

  std::string AddLine(std::string_view line);
  std::string AddCommand(std::string_view line);
  std::string AddTraceLine(std::string_view line);
  std::string Add(Kind kind, std::string_view key, std::string_view value_bytes);

  std::string keys_;
  std::vector<Line> lines_;
  uint32_t value_bytes_most_ = 0;
  uint64_t written_bytes_ = 0;  // of keys and values, each time
};

}  // namespace plov::bench
