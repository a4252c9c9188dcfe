#include "door/memcached/binary_header.h"

namespace plov::door::memcached {

namespace {

constexpr char kReplyMagic = '\x81';

// As memcached words them.
std::string_view TextOf(Status status) {
  switch (status) {
    case Status::kNotFound:
      return "Not found";
    case Status::kExists:
      return "Data exists for key.";
    case Status::kTooLarge:
      return "Too large.";
    case Status::kInvalid:
      return "Invalid arguments";
    case Status::kNotStored:
      return "Not stored.";
    case Status::kNotANumber:
      return "Non-numeric server-side value for incr or decr";
    case Status::kAuthError:
      return "Auth failure.";
    case Status::kUnknownCommand:
      return "Unknown command";
    case Status::kNoMemory:
      return "Out of memory";
    case Status::kTemporaryFailure:
      return "Temporary failure";
    case Status::kSuccess:
    case Status::kAuthContinue:
      break;
  }
  return {};
}

}  // namespace

std::optional<BinaryHeader> DecodeRequestHeader(std::string_view bytes) {
  if (bytes.size() < BinaryHeader::kBytes || bytes[0] != kBinaryRequestMagic) return std::nullopt;
  return BinaryHeader{.opcode = static_cast<Opcode>(NumberAt<uint8_t>(bytes, 1)),
                      .key_bytes = NumberAt<uint16_t>(bytes, 2),
                      .extras_bytes = NumberAt<uint8_t>(bytes, 4),
                      .body_bytes = NumberAt<uint32_t>(bytes, 8),
                      .opaque = NumberAt<uint32_t>(bytes, 12),
                      .cas = NumberAt<uint64_t>(bytes, 16)};
}

void AddReply(const BinaryHeader& request, const BinaryReply& reply, std::string* to) {
  *to += kReplyMagic;
  *to += static_cast<char>(request.opcode);
  AppendBytes(static_cast<uint16_t>(reply.key.size()), to);
  *to += static_cast<char>(reply.extras.size());
  *to += '\0';
  AppendBytes(static_cast<uint16_t>(reply.status), to);
  AppendBytes(static_cast<uint32_t>(reply.extras.size() + reply.key.size() + reply.value.size()),
              to);
  AppendBytes(request.opaque, to);
  AppendBytes(reply.cas, to);
  *to += reply.extras;
  *to += reply.key;
  *to += reply.value;
}

void AddErrorReply(const BinaryHeader& request, Status status, std::string* to) {
  AddReply(request, {.status = status, .value = TextOf(status)}, to);
}

}  // namespace plov::door::memcached
