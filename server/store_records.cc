// The store's records: how a value comes into one, and what is said of one that is there.
#include <algorithm>
#include <span>

#include "fabric/fabric.h"
#include "server/store.h"
#include "verify/record.h"

namespace plov::server {

using verify::Bucket;
using verify::ItemView;
using verify::Request;

std::optional<Code> Store::Prepare(const Request& request, uint64_t now_us, Writing* writing) {
  if (request.key.empty() || request.key.size() > verify::kKeyBytesMax) {
    return Code::kInvalidArgument;
  }
  const size_t value_bytes = request.rendezvous ? request.value_bytes : request.value.size();
  if (value_bytes > options_.value_bytes_max) return Code::kTooLarge;
  const size_t record_bytes = verify::RecordBytes(request.key.size(), value_bytes);
  RoomSearch* room = &writing->room;
  SweepIfDue(kSweepPerWrite, now_us);
  if (!Work(room, record_bytes)) return std::nullopt;
  auto offset = records_.Allocate(record_bytes);
  if (!offset && room->means == RoomSearch::Means::kHole) {
    offset = records_.AllocateInHole(record_bytes);
  }
  if (!offset) {
    if (MakeRoom(room, record_bytes, now_us)) return std::nullopt;
    offset = records_.Allocate(record_bytes);  // the last of the means may have made some
  }
  if (!offset) {
    ++stats_.no_space;
    return Code::kNoSpace;
  }
  records_.Pin(*offset, record_bytes);
  writing->place = {*offset, verify::WordsAt(region_.data(), *offset),
                    verify::kRecordHeaderBytes + request.key.size(), record_bytes};
  verify::ClearSharedWord(writing->place->shared, request.key.size());
  writing->mask = masks_.Next();
  if (request.rendezvous) DrawArrivalMasks(writing);
  // For a place in the table.
  *room = {.means = RoomSearch::Means::kExpired, .may_wait = room->may_wait};
  return Code::kOk;
}

// Whoever sees one word of a value under its mask knows the mask, and may still change what was not
// READ yet. So only what is READ at once comes under the item's own mask, and each slice of a long
// value under another.
void Store::DrawArrivalMasks(Writing* writing) {
  const Writing::Place& place = *writing->place;
  writing->settled_bytes = 0;
  writing->arrival_masks = {writing->mask.word()};
  static_assert(verify::kShortValueMax == fabric::PeerRead::kWholeBytes);
  if (place.record_bytes - place.at <= verify::kShortValueMax) return;
  const size_t words_bytes =
      place.record_bytes - place.at / verify::kWordBytes * verify::kWordBytes;
  writing->arrival_masks.clear();
  for (size_t at = 0; at < words_bytes; at += fabric::PeerRead::kSliceBytes) {
    writing->arrival_masks.push_back(masks_.Next().word());
  }
}

// By whole words; what else is in the first and last is the key's, or nobody's.
void Store::Settle(Writing* writing, size_t bytes) {
  constexpr size_t kSliceWords = fabric::PeerRead::kSliceBytes / verify::kWordBytes;
  const Writing::Place& place = *writing->place;
  const size_t first = place.at / verify::kWordBytes;
  const auto words_of = [&place, first](size_t value_bytes) {
    return value_bytes == 0
               ? 0
               : verify::RoundUpToWord(place.at + value_bytes) / verify::kWordBytes - first;
  };
  size_t word = words_of(writing->settled_bytes);
  writing->settled_bytes = std::min(writing->settled_bytes + bytes, place.record_bytes - place.at);
  const size_t end = words_of(writing->settled_bytes);
  while (word < end) {
    const uint64_t change = writing->arrival_masks[word / kSliceWords] ^ writing->mask.word();
    const size_t slice_end = std::min(end, (word / kSliceWords + 1) * kSliceWords);
    for (; word < slice_end; ++word) {
      uint64_t* at = place.shared + first + word;
      verify::StoreWord(at, verify::LoadWord(at) ^ change);
    }
  }
  if (log_ != nullptr) CopyForLog(writing);
}

void Store::Fill(Writing* writing, std::string_view bytes) {
  const Writing::Place& place = *writing->place;
  verify::WriteRecordPart(place.shared, place.at - verify::kRecordHeaderBytes,
                          writing->settled_bytes, bytes, writing->mask);
  writing->settled_bytes += bytes.size();
  work_bytes_ += bytes.size();
  if (log_ != nullptr) CopyForLog(writing);
}

void Store::Abandon(Writing* writing) {
  if (!writing->place) return;
  GiveBack(*writing->place);
  writing->place.reset();
}

void Store::GiveBack(const Writing::Place& place) {
  records_.Unpin(place.offset, place.record_bytes);
  records_.Free(place.offset, place.record_bytes);
}

// The version is drawn here and not in Prepare, so that versions of a key grow in the order of its
// writes.
std::optional<WriteReply> Store::Commit(const Request& request, uint64_t now_us, Writing* writing) {
  if (StillFull(&writing->room, now_us)) return std::nullopt;
  Target target{};
  if (const Code status = FindTarget(request, now_us, &target); status != Code::kOk) {
    Abandon(writing);
    return Refuse(status, target);
  }
  ItemView item;
  const Bucket bucket = RecordItem(request, target.hash, now_us, *writing, &item);
  return Apply(request, now_us, {target, bucket, item}, writing);
}

Bucket Store::RecordItem(const Request& request, uint64_t hash, uint64_t now_us,
                         const Writing& writing, ItemView* item) {
  *item = ItemOf(request, now_us);
  item->version = NextVersion();
  const Writing::Place& place = *writing.place;
  item->mask = writing.mask;
  verify::WriteRecordHead(place.shared, *item, place.record_bytes - place.at);
  if (writing.value_digest) {
    verify::SealLongRecord(place.shared, request.key.size(), *writing.value_digest);
  } else {
    verify::SealRecord(place.shared, place.record_bytes, record_seed_);
    work_bytes_ += place.record_bytes;
  }
  Bucket bucket;
  bucket.SetReference({hash, item->version, place.offset, static_cast<uint32_t>(place.record_bytes),
                       0, item->mask.word()},
                      verify::kBucketBytesMax);
  return bucket;
}

verify::ValueDigest Store::DigestOf(const Writing& writing) const {
  const std::byte* record = region_.data() + writing.place->offset;
  return {{record + writing.place->at, writing.place->record_bytes - writing.place->at},
          verify::MaskedSeed(record_seed_, writing.mask.word())};
}

verify::ValueDigest Store::DigestOf(const Hit& hit) const {
  return {hit.item.stored_value(), verify::MaskedSeed(record_seed_, hit.item.mask())};
}

bool Store::IsWhole(const Hit& hit, uint64_t value_digest) {
  const std::span<const std::byte> record = {region_.data() + hit.record_offset, hit.record_bytes};
  if (verify::CheckLongRecord(record, value_digest)) return true;
  ++stats_.corrupt;
  return false;
}

}  // namespace plov::server
