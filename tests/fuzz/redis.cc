// Requests of Redis's protocol, as clients send them, in pieces: the first byte says how long they are.
//
// Property: what is read is the same in pieces and as a whole; what was taken is within what was there; a request
// of many bytes has them. An argument is what its bytes as a pattern match, each with a \ before it, and any pattern
// ends with any text.
#include <algorithm>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "door/redis/glob.h"
#include "door/redis/resp_reader.h"
#include "tests/fuzz/input.h"

namespace plov::fuzz {
namespace {

using door::redis::RespReader;

constexpr size_t kArgumentMax = 300;

struct Reading {
  std::vector<std::vector<std::string>> requests;
  std::string error;

  bool operator==(const Reading&) const = default;
};

void CheckGlobs(std::span<const std::string_view> arguments) {
  std::string_view last;
  for (const std::string_view argument : arguments) {
    std::string escaped;
    for (const char c : argument) escaped.append({'\\', c});
    Check(door::redis::MatchesGlob(escaped, argument), "a text matches itself");
    Check(door::redis::MatchesGlob('*' + escaped + '*', argument), "and with what may be nothing");
    static_cast<void>(door::redis::MatchesGlob(argument, last));
    last = argument;
  }
}

void AddRequest(const RespReader& reader, Reading* reading) {
  if (reader.refusal() != RespReader::Refusal::kNone) {
    reading->requests.push_back({"refused"});
    return;
  }
  CheckGlobs(reader.arguments());
  reading->requests.emplace_back(reader.arguments().begin(), reader.arguments().end());
}

// False: the connection cannot go on.
bool ReadKept(RespReader* reader, std::string* kept, Reading* reading) {
  while (!kept->empty()) {
    const auto result = reader->Read(*kept);
    Check(result.taken_bytes <= kept->size(), "what is taken was there");
    if (result.outcome == RespReader::Outcome::kBroken) {
      reading->error = reader->error();
      return false;
    }
    if (result.outcome == RespReader::Outcome::kRequest) {
      Check(result.taken_bytes > 0, "a request has bytes");
      AddRequest(*reader, reading);
    }
    if (result.taken_bytes == 0) return true;
    kept->erase(0, result.taken_bytes);
  }
  return true;
}

Reading Read(std::string_view input, size_t piece_bytes) {
  RespReader reader({.argument_bytes_max = kArgumentMax, .reserve = {}});
  Reading reading;
  std::string kept;
  while (!input.empty()) {
    const std::span<char> wanted = reader.wanted();
    const size_t bytes = std::min(input.size(), piece_bytes);
    if (!wanted.empty()) {
      const size_t filled = input.copy(wanted.data(), std::min(wanted.size(), bytes));
      reader.Filled(filled);
      input.remove_prefix(filled);
      continue;
    }
    kept += input.substr(0, bytes);
    input.remove_prefix(bytes);
    if (!ReadKept(&reader, &kept, &reading)) break;
  }
  return reading;
}

}  // namespace
}  // namespace plov::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const std::string input(data + 1, data + size);
  const size_t piece_bytes = size_t{data[0]} + 1;
  plov::fuzz::Check(
      plov::fuzz::Read(input, piece_bytes) == plov::fuzz::Read(input, input.size() + 1),
      "requests are the same in pieces");
  return 0;
}
