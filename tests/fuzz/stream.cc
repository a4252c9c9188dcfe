// What another server of the cluster sends of a shard's stream: as it comes, and under a good checksum.
//
// Property: a message that is accepted is the same bytes when it is encoded again, and its entries follow each other.
// Parts that are anything give no message that is longer than it may be, or than they are; those of a message give it.
#include <vector>

#include "cluster/coordinator.h"
#include "cluster/stream_message.h"
#include "cluster/stream_parts.h"
#include "tests/fuzz/input.h"

namespace plov::fuzz {
namespace {

using cluster::Append;
using cluster::StreamId;

constexpr StreamId kStream{0xfedcba9876543210, 3};
constexpr size_t kHeadBytes = 56;

void CheckAppend(const Append& append) {
  Check(cluster::IsName(append.from) && append.to != 0, "who, and to whom");
  cluster::Position at = append.before;
  for (const cluster::Entry& entry : append.entries) {
    Check(Follows(at, entry) && entry.epoch != 0, "an entry follows the one before");
    at = entry.at;
  }
  if (append.held) Check(append.held->shard.cluster_id == kStream.cluster_id, "our cluster's");
}

void CheckDecoded(const std::vector<std::byte>& bytes) {
  const auto message = Decode(kStream, bytes);
  if (!message) return;
  if (const auto* append = std::get_if<Append>(&*message)) CheckAppend(*append);
  Check(Encode(kStream, *message) == bytes, "the same when it is encoded again");
}

void CheckParts(Input input) {
  using Result = cluster::PartReader::Result;
  constexpr size_t kMessageBytesMax = 200;
  cluster::PartReader reader(kMessageBytesMax);
  size_t bytes = 0;
  while (!input.empty()) {
    const auto part = input.TakeBytes(input.Take<uint8_t>());
    const Result result = reader.Take(std::as_bytes(part));
    if (result == Result::kGarbage) return;
    bytes += part.size();
    Check(reader.message().size() <= std::min(bytes, kMessageBytesMax), "no more than came");
    if (result == Result::kWhole) bytes = 0;
  }
}

void CheckCutApart(const std::vector<std::byte>& message) {
  const auto part_bytes_max = cluster::kPartHeadBytes + 1 + std::to_integer<size_t>(message[0]);
  cluster::PartWriter writer(message);
  cluster::PartReader reader(message.size());
  while (!writer.done()) {
    const auto part = writer.Next(part_bytes_max);
    Check(part.size() <= part_bytes_max, "a part has room");
    const auto result = reader.Take(part);
    writer.Taken();
    Check(result == (writer.done() ? cluster::PartReader::Result::kWhole
                                   : cluster::PartReader::Result::kMore),
          "part after part");
  }
  Check(std::ranges::equal(reader.message(), message), "the message");
}

}  // namespace
}  // namespace plov::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace plov::fuzz;
  const auto input = std::as_bytes(std::span(data, size));
  std::vector<std::byte> bytes(input.begin(), input.end());
  CheckParts(Input(data, size));
  if (size > 0) CheckCutApart(bytes);
  CheckDecoded(bytes);
  if (size < kHeadBytes) return 0;
  Seal(kStream, bytes);
  CheckDecoded(bytes);
  return 0;
}
