#include "server/evictor.h"

#include <algorithm>
#include <array>
#include <span>

namespace plov::server {

using cuckoo::TableWalk;
using verify::Bucket;
using verify::HitName;

namespace {

// Items that are looked at together, and what part of them goes; among so many places at most.
constexpr size_t kCandidates = 32;
constexpr size_t kGoingPart = 8;
constexpr size_t kPlacesMax = 256;
// Counts are halved once while all items are written so many times.
constexpr uint64_t kFadeWrites = 2;
// After so many writes, and at most so many bytes of them at a time.
constexpr uint64_t kFadeStep = 64;
constexpr uint64_t kFadeBytesMax = uint64_t{64} << 10;
// What an item counts for without a hit.
constexpr double kCountOfNone = 1;

}  // namespace

uint64_t Evictor::items() const { return std::max<uint64_t>(table_->stats().items, 1); }

void Evictor::OnHits(std::span<const HitName> hits) {
  hits_ += hits.size();
  counts_.Resize(table_->capacity());
  for (const HitName hit : hits) counts_.Count(hit);
}

uint64_t Evictor::VersionOf(const Bucket& bucket) const {
  const bool is_reference = bucket.kind() == verify::BucketKind::kReference;
  return is_reference ? bucket.reference().version : items_->Of(bucket).version();
}

double Evictor::WorthOf(uint64_t hash, uint64_t age) const {
  const uint64_t window = kFadeWrites * items();
  const double count = kCountOfNone + counts_.Of(verify::HitNameOf(hash));
  return count * count / static_cast<double>(std::min(age, window) + 1);
}

// In steps that are no small part of a byte.
void Evictor::Fade(uint64_t last_version) {
  const uint64_t writes = std::min(last_version - faded_version_, items());
  if (writes < kFadeStep) return;
  faded_version_ = last_version;
  const uint64_t bytes = writes * counts_.bytes() / (items() * kFadeWrites);
  counts_.Fade(std::min(bytes, kFadeBytesMax));
}

size_t Evictor::Evict(uint64_t last_version) {
  Fade(last_version);
  walk_.Follow();
  std::array<Candidate, kCandidates> candidates;
  size_t count = 0, places = 0;
  for (; places < kPlacesMax && count < kCandidates; ++places) {
    const uint64_t position = walk_.position();
    const auto place = walk_.Next([](const Bucket&) { return true; });
    if (!place) continue;
    const uint64_t version = VersionOf(place->slot.bucket);
    candidates[count++] = {position, version, WorthOf(place->hash, last_version - version)};
  }
  const auto found = std::span(candidates).first(count);
  const auto going = found.first((count + kGoingPart - 1) / kGoingPart);
  std::ranges::partial_sort(found, going.end(), {}, &Candidate::worth);
  for (const Candidate& candidate : going) {
    // What made room for another can have rewritten it.
    const auto place = walk_.At(candidate.position, [&](const Bucket& bucket) {
      return VersionOf(bucket) == candidate.version;
    });
    if (place) erase_(*place);
  }
  return places * table_->item_bytes();
}

}  // namespace plov::server
