// RespReader: requests of Redis's protocol, RESP2 and RESP3, from the bytes of a connection: arrays of bulk strings,
// and lines of words ("inline commands"). It knows neither commands nor the store.
//
// A request that is whole in its input is views of it. One that is longer than kOwnedFrom, or has an argument that
// is, is received into memory of its own, for which `reserve` is asked first; what is too large is passed over, and
// the request says so.
//
// Source: Redis's networking.c, processInlineBuffer and processMultibulkBuffer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace plov::door::redis {

class RespReader {
 public:
  // A line that is longer and has no end is an error; Redis's PROTO_INLINE_MAX_SIZE.
  static constexpr size_t kLineMax = size_t{64} << 10;
  // Redis's proto-max-bulk-len.
  static constexpr int64_t kBulkMax = int64_t{512} << 20;
  static constexpr size_t kOwnedFrom = size_t{8} << 10;

  struct Limits {
    size_t argument_bytes_max = kBulkMax;
    std::function<bool(size_t bytes)> reserve;
  };
  enum class Outcome : uint8_t {
    kIncomplete,  // more bytes are needed; those that were taken are kept here
    kRequest,     // perhaps one without arguments, which is none
    kBroken,      // `error`; the connection cannot go on
  };
  struct Result {
    Outcome outcome;
    size_t taken_bytes;
  };
  enum class Refusal : uint8_t { kNone, kTooLarge, kNoMemory };

  explicit RespReader(Limits limits) : limits_(std::move(limits)) {}

  // Takes one request from the beginning of `input`, which is not empty.
  Result Read(std::string_view input);

  // Of the request; they stay until the next Read, as long as the input does where they are not owned.
  std::span<const std::string_view> arguments() const { return arguments_; }
  bool is_owned() const { return is_owned_; }
  // Makes them owned. False: there is no memory.
  bool Own();
  // Forgets the request, with its memory.
  void Clear();
  // kNone, or why the request is to be refused.
  Refusal refusal() const { return refusal_; }
  // Of what is broken: without "ERR " and the end of the line.
  const std::string& error() const { return error_; }

  // Where the next bytes go, of an argument that is received; else empty.
  std::span<char> wanted();
  void Filled(size_t bytes) { filled_bytes_ += bytes; }

  size_t bytes() const { return owned_bytes_ + arguments_.capacity() * sizeof(std::string_view); }

 private:
  enum class Step : uint8_t { kDone, kWaits, kBroken };

  Result Break(std::string error);
  Result ReadInline(std::string_view input);
  Result ReadCount(std::string_view input);
  Step ReadArgument(std::string_view input, size_t* at);
  Step ReadLength(std::string_view input, size_t* at);
  Step FillArgument(std::string_view input, size_t* at);
  Result Wait(std::string_view input, size_t at);
  void Copy();
  void BeginOwned();
  bool Reserve(size_t bytes);
  void EndOwned();

  const Limits limits_;
  std::vector<std::string_view> arguments_;
  bool is_owned_ = false;
  std::vector<std::string> owned_;
  size_t owned_bytes_ = 0;
  Refusal refusal_ = Refusal::kNone;
  std::string error_;

  size_t left_count_ = 0;                 // arguments that are to come
  std::optional<size_t> argument_bytes_;  // of the next one, when its length has been read
  size_t filled_bytes_ = 0;               // of that, if it is owned
};

}  // namespace plov::door::redis
