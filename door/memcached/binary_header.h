// The header of memcached's binary protocol: 24 bytes before every request and every reply, numbers in network order.
//
//    0      magic: 0x80 a request, 0x81 a reply
//    1      opcode
//    2-3    key_bytes
//    4      extras_bytes
//    5      data type: 0, and not looked at
//    6-7    of a reply its status; of a request nothing
//    8-11   body_bytes: of extras, key and value, which come after the header in this order
//   12-15   opaque: what the request has here the reply has, too
//   16-23   cas
//
// Source: memcached 1.6.18, protocol_binary.h and proto_bin.c.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace plov::door::memcached {

inline constexpr char kBinaryRequestMagic = '\x80';

enum class Opcode : uint8_t {
  kGet = 0x00,
  kSet = 0x01,
  kAdd = 0x02,
  kReplace = 0x03,
  kDelete = 0x04,
  kIncrement = 0x05,
  kDecrement = 0x06,
  kQuit = 0x07,
  kFlush = 0x08,
  kGetQ = 0x09,
  kNoop = 0x0a,
  kVersion = 0x0b,
  kGetK = 0x0c,
  kGetKQ = 0x0d,
  kAppend = 0x0e,
  kPrepend = 0x0f,
  kStat = 0x10,
  kSetQ = 0x11,
  kAddQ = 0x12,
  kReplaceQ = 0x13,
  kDeleteQ = 0x14,
  kIncrementQ = 0x15,
  kDecrementQ = 0x16,
  kQuitQ = 0x17,
  kFlushQ = 0x18,
  kAppendQ = 0x19,
  kPrependQ = 0x1a,
  kTouch = 0x1c,
  kGat = 0x1d,
  kGatQ = 0x1e,
  kSaslList = 0x20,
  kSaslAuth = 0x21,
  kSaslStep = 0x22,
  kGatK = 0x23,
  kGatKQ = 0x24,
};

enum class Status : uint16_t {
  kSuccess = 0x00,
  kNotFound = 0x01,
  kExists = 0x02,
  kTooLarge = 0x03,
  kInvalid = 0x04,
  kNotStored = 0x05,
  kNotANumber = 0x06,
  kAuthError = 0x20,
  kAuthContinue = 0x21,
  kUnknownCommand = 0x81,
  kNoMemory = 0x82,
  kTemporaryFailure =
      0x86,  // memcached's protocol-binary.txt has it; memcached itself never says it
};

struct BinaryHeader {
  static constexpr size_t kBytes = 24;

  Opcode opcode = Opcode::kGet;  // or another number
  uint16_t key_bytes = 0;
  uint8_t extras_bytes = 0;
  uint32_t body_bytes = 0;
  uint32_t opaque = 0;
  uint64_t cas = 0;

  size_t head_bytes() const { return size_t{key_bytes} + extras_bytes; }  // of extras and key
  // Whether extras and key fit into the body.
  bool is_consistent() const { return head_bytes() <= body_bytes; }
  size_t value_bytes() const { return body_bytes - head_bytes(); }
};

// `bytes` are the 24 of a request. std::nullopt: they are none.
std::optional<BinaryHeader> DecodeRequestHeader(std::string_view bytes);

struct BinaryReply {
  Status status = Status::kSuccess;
  uint64_t cas = 0;
  std::string_view extras = {};
  std::string_view key = {};
  std::string_view value = {};
};

// Adds the reply to `request`, header and body.
void AddReply(const BinaryHeader& request, const BinaryReply& reply, std::string* to);
// The same with the text that memcached has for this status.
void AddErrorReply(const BinaryHeader& request, Status status, std::string* to);

// The number whose bytes begin at bytes[at].
template <std::unsigned_integral Number>
Number NumberAt(std::string_view bytes, size_t at) {
  uint64_t number = 0;
  for (const char c : bytes.substr(at, sizeof(Number))) {
    number = number << 8 | static_cast<unsigned char>(c);
  }
  return static_cast<Number>(number);
}

template <std::unsigned_integral Number>
void AppendBytes(Number number, std::string* to) {
  for (size_t shift = 8 * sizeof(Number); shift > 0; shift -= 8) {
    *to += static_cast<char>(static_cast<uint64_t>(number) >> (shift - 8));
  }
}

}  // namespace plov::door::memcached
