// What another server of the cluster sends of a shard's stream: as it comes, and under a good checksum.
//
// Property: a message that is accepted is the same bytes when it is encoded again, and its entries follow each other.
#include <vector>

#include "cluster/coordinator.h"
#include "cluster/stream_message.h"
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

}  // namespace
}  // namespace plov::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace plov::fuzz;
  const auto input = std::as_bytes(std::span(data, size));
  std::vector<std::byte> bytes(input.begin(), input.end());
  CheckDecoded(bytes);
  if (size < kHeadBytes) return 0;
  Seal(kStream, bytes);
  CheckDecoded(bytes);
  return 0;
}
