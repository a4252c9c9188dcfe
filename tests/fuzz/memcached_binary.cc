// Requests of memcached's binary protocol, one after the other, as clients send them; messages of SASL's PLAIN; and
// files of users.
//
// Property: what a command refers to lies in its request; a key has at most 250 bytes; a command with a value says
// how long it is, and no more than its body; a reply is as long as its header says; a message of PLAIN is its parts.
#include <optional>
#include <string>
#include <string_view>

#include "door/memcached/binary_command.h"
#include "door/memcached/binary_header.h"
#include "door/memcached/credentials.h"
#include "tests/fuzz/input.h"

namespace plov::fuzz {
namespace {

using door::memcached::BinaryHeader;
using door::memcached::Command;
using door::memcached::Status;
using door::memcached::Verb;

bool LiesIn(std::string_view part, std::string_view whole) {
  return part.empty() ||
         (part.data() >= whole.data() && part.data() + part.size() <= whole.data() + whole.size());
}

void TestReply(const BinaryHeader& request, std::string_view key) {
  std::string reply;
  door::memcached::AddReply(
      request, {.status = Status::kExists, .cas = request.cas, .key = key, .value = "value"},
      &reply);
  Check(reply.size() == BinaryHeader::kBytes + key.size() + 5, "a reply has its parts");
  reply[0] = door::memcached::kBinaryRequestMagic;  // laid out as a request is
  const auto again = door::memcached::DecodeRequestHeader(reply);
  Check(again && again->opcode == request.opcode && again->opaque == request.opaque &&
            again->cas == request.cas && again->key_bytes == key.size() &&
            again->body_bytes == key.size() + 5,
        "a reply's header is read as it was written");
}

void TestCommand(const BinaryHeader& header, std::string_view body) {
  const std::string_view head = body.substr(0, header.head_bytes());
  const Command command = door::memcached::ParseBinary(header, head);
  Check(command.verb != Verb::kError, "what is not refused is a command");
  Check(!command.is_meta(), "a binary request is no meta command");
  Check(LiesIn(command.key_text, head) && command.key().size() == header.key_bytes,
        "a key lies in its request");
  Check(command.key().size() <= door::memcached::kKeyBytesMax, "a key has at most 250 bytes");
  Check(LiesIn(command.argument, head), "an argument lies in its request");
  if (command.value_bytes) {
    Check(*command.value_bytes + header.head_bytes() == header.body_bytes, "a value ends its body");
  }
  TestReply(header, command.key());
}

void TestPlain(std::string_view message) {
  const auto plain = door::memcached::ParsePlain(message);
  if (!plain) return;
  const std::string end = '\0' + std::string(plain->user) + '\0' + std::string(plain->password);
  Check(message.ends_with(end), "a message is its parts");
  Check(plain->password.find('\0') == plain->password.npos, "a password has no zero byte");
}

void TestUsers(std::string_view text) {
  const auto users = door::memcached::ParseUsers(text);
  if (!users) return;
  for (const auto& user : *users) Check(user.Equals(user), "credentials equal themselves");
}

// Returns what comes after the request; std::nullopt: the connection ends.
std::optional<std::string_view> TestRequest(std::string_view input) {
  const auto header = door::memcached::DecodeRequestHeader(input.substr(0, BinaryHeader::kBytes));
  if (!header) return std::nullopt;
  if (!header->is_consistent()) return std::nullopt;
  const std::string_view body = input.substr(BinaryHeader::kBytes);
  const auto refusal = door::memcached::RefusalOf(*header);
  if (refusal == Status::kInvalid) return std::nullopt;
  if (!refusal && body.size() < header->head_bytes()) return std::nullopt;
  if (!refusal) TestCommand(*header, body);
  if (body.size() < header->body_bytes) return std::nullopt;
  TestPlain(body.substr(header->head_bytes(), header->value_bytes()));
  return body.substr(header->body_bytes);
}

}  // namespace
}  // namespace plov::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string input(data, data + size);
  std::optional<std::string_view> rest = input;
  while (rest && !rest->empty()) rest = plov::fuzz::TestRequest(*rest);
  plov::fuzz::TestUsers(input);
  return 0;
}
