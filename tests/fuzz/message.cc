// Messages of either direction, as they come or sealed anew, since no fuzzer guesses a checksum.
//
// Property: a message that is read to its end is made of exactly what was read: written anew it has
// the same bytes, but for padding.
#include "verify/message.h"

#include <array>
#include <vector>

#include "tests/fuzz/input.h"
#include "verify/record.h"
#include "verify/seal.h"
#include "verify/words.h"

namespace plov::fuzz {
namespace {

using verify::MessageReader;
using verify::MessageWriter;

constexpr uint64_t kClientId = 0x66757a7a;
constexpr size_t kMessageBytesMax = 32 << 10;

// Length, client and checksum, without which nothing is looked at.
void Seal(std::vector<std::byte>* message) {
  const auto bytes = static_cast<uint32_t>(message->size());
  std::memcpy(message->data() + 16, &kClientId, sizeof(kClientId));
  std::memcpy(message->data() + 32, &bytes, sizeof(bytes));
  const uint64_t checksum =
      verify::Checksum(message->data() + verify::kWordBytes, message->size() - verify::kWordBytes,
                       verify::MessageSeed(kClientId));
  std::memcpy(message->data(), &checksum, sizeof(checksum));
}

// Zeros where a request or reply that was read at `at` has nothing to say.
void ClearUnused(const verify::Request& request, std::byte* at) {
  const size_t bytes = verify::kRequestHeadBytes + request.key.size() + request.value.size();
  std::fill(at + bytes, at + verify::RoundUpToWord(bytes), std::byte{0});
}
void ClearUnused(const verify::Reply& reply, std::byte* at) {
  const size_t bytes = verify::kReplyHeadBytes + reply.value.size();
  std::fill(at + bytes, at + verify::RoundUpToWord(bytes), std::byte{0});
  std::fill(at + 44, at + verify::kReplyHeadBytes, std::byte{0});
}

std::optional<verify::Request> Next(MessageReader* reader, verify::Request*) {
  return reader->NextRequest();
}
std::optional<verify::Reply> Next(MessageReader* reader, verify::Reply*) {
  return reader->NextReply();
}

template <typename Part>
void TestAs(const std::vector<std::byte>& message, MessageReader::Holds holds) {
  auto reader = MessageReader::Open(message, kClientId, holds);
  if (!reader) return;
  std::vector<std::byte> buffer(std::max(message.size(), verify::kMessageHeaderBytes));
  std::vector<std::byte> expected = message;
  MessageWriter writer(buffer, kClientId);
  size_t at = verify::kMessageHeaderBytes;
  while (const auto part = Next(&*reader, static_cast<Part*>(nullptr))) {
    Check(part->value.size() <= message.size(), "a value lies in its message");
    Check(writer.Add(*part), "what was in a message has room in one");
    ClearUnused(*part, expected.data() + at);
    at += verify::EncodedBytes(*part);
  }
  if (reader->remaining() > 0 || writer.count() == 0) return;  // cut short, or of no direction
  const auto again = writer.Finish(reader->heading());
  Seal(&expected);
  Check(std::ranges::equal(again, expected), "a message that is read and written is the same");
}

}  // namespace
}  // namespace plov::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t bytes) {
  using namespace plov::fuzz;
  Input input(data, bytes);
  const bool seals = input.Take<uint8_t>() % 8 != 0;
  const auto taken = std::as_bytes(input.TakeBytes(kMessageBytesMax));
  std::vector<std::byte> message(taken.begin(), taken.end());
  if (seals && message.size() >= plov::verify::kMessageHeaderBytes) Seal(&message);
  TestAs<plov::verify::Request>(message, MessageReader::Holds::kRequests);
  TestAs<plov::verify::Reply>(message, MessageReader::Holds::kReplies);
  return 0;
}
