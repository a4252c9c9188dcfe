#include "cluster/stream.h"

#include <utility>

#include "verify/seal.h"

namespace plov::cluster {

namespace {

uint64_t Chain(const Position& before, uint64_t epoch, std::string_view data) {
  const uint64_t seed = verify::Mix(before.chain ^ verify::Mix(before.number ^ verify::Mix(epoch)));
  return verify::Checksum(data.data(), data.size(), seed);
}

}  // namespace

Entry MakeEntry(const Position& before, uint64_t epoch, std::string data) {
  const Position at{before.number + 1, Chain(before, epoch, data)};
  return {epoch, at, std::make_shared<const std::string>(std::move(data))};
}

bool Follows(const Position& before, const Entry& entry) {
  return entry.at.number == before.number + 1 &&
         entry.at.chain == Chain(before, entry.epoch, *entry.data);
}

}  // namespace plov::cluster
