#include "cluster/stream_message.h"

#include <cstring>
#include <string>
#include <string_view>
#include <utility>

#include "cluster/coordinator.h"
#include "verify/byte_fields.h"
#include "verify/seal.h"

namespace plov::cluster {

using verify::ByteReader;
using verify::ByteWriter;

namespace {

constexpr uint32_t kMagic = 0x74736c70;  // "plst"
constexpr size_t kBytesAt = 16;
constexpr size_t kHeadBytes = 64;
// So that the numbers of a message's entries do not overflow.
constexpr uint64_t kNumberMax = UINT64_MAX / 2;

enum class MessageKind : uint8_t { kAppend = 1, kAck = 2, kJoin = 3, kHandOver = 4 };

constexpr uint8_t kIsFirst = 1;
constexpr uint8_t kFollows = 1;
constexpr uint8_t kHasGap = 2;
constexpr uint8_t kHasCaughtUp = 4;
constexpr uint8_t kLeaves = 8;
constexpr uint8_t kMemoryIsFull = 16;
constexpr uint8_t kLogIsFull = 32;

struct Head {
  MessageKind kind;
  uint8_t flags = 0;
  std::string name = {};
  uint64_t epoch = 0;
  uint64_t incarnation = 0;
  uint64_t number = 0;
  uint64_t sent_us = 0;
  uint64_t clock_us = 0;
};

uint64_t ChecksumOf(const StreamId& id, std::span<const std::byte> message) {
  const uint64_t seed =
      verify::Mix(id.cluster_id ^ verify::Mix(id.shard ^ uint64_t{0x706c6f7673747265}));
  return verify::Checksum(message.data() + verify::kWordBytes, message.size() - verify::kWordBytes,
                          seed);
}

Head HeadOf(const Append& append) {
  return {.kind = MessageKind::kAppend,
          .flags = append.is_first ? kIsFirst : uint8_t{0},
          .name = append.from,
          .epoch = append.epoch,
          .incarnation = append.to,
          .number = append.published,
          .sent_us = append.sent_us,
          .clock_us = append.safe_us};
}

Head HeadOf(const Ack& ack) {
  const int flags = (ack.follows ? kFollows : 0) | (ack.has_gap ? kHasGap : 0) |
                    (ack.has_caught_up ? kHasCaughtUp : 0) | (ack.leaves ? kLeaves : 0) |
                    (ack.full == Full::kMemory ? kMemoryIsFull : 0) |
                    (ack.full == Full::kLog ? kLogIsFull : 0);
  return {.kind = MessageKind::kAck,
          .flags = static_cast<uint8_t>(flags),
          .epoch = ack.epoch,
          .incarnation = ack.from,
          .number = ack.end,
          .sent_us = ack.sent_us,
          .clock_us = ack.clock_us};
}

Head HeadOf(const Join& join) {
  return {.kind = MessageKind::kJoin,
          .name = join.replica.server,
          .epoch = join.epoch,
          .incarnation = join.replica.incarnation,
          .number = join.has.number,
          .sent_us = join.has.chain};
}

Head HeadOf(const HandOver& hand_over) {
  return {.kind = MessageKind::kHandOver, .epoch = hand_over.epoch, .incarnation = hand_over.to};
}

void PutHead(const Head& head, ByteWriter* writer) {
  writer->Put(uint64_t{0});
  writer->Put(kMagic);
  writer->Put(head.kind);
  writer->Put(head.flags);
  writer->Put(static_cast<uint16_t>(head.name.size()));
  writer->Put(uint64_t{0});
  writer->Put(head.epoch);
  writer->Put(head.incarnation);
  writer->Put(head.number);
  writer->Put(head.sent_us);
  writer->Put(head.clock_us);
  writer->PutText(head.name);
  writer->PadToWord();
}

void PutRest(const Append& append, ByteWriter* writer) {
  writer->Put(append.before.number);
  writer->Put(append.before.chain);
  writer->Put(uint64_t{append.entries.size()});
  const std::string_view held = append.held ? append.held->data : std::string_view();
  writer->Put(append.held ? append.held->revision : Revision{0});
  writer->Put(uint64_t{held.size()});
  writer->PutText(held);
  writer->PadToWord();
  for (const Entry& entry : append.entries) {
    writer->Put(entry.epoch);
    writer->Put(uint64_t{entry.data->size()});
    writer->PutText(*entry.data);
    writer->PadToWord();
  }
}

void PutRest(const auto& /*message*/, ByteWriter* /*writer*/) {}

std::optional<Head> TakeHead(ByteReader* reader) {
  Head head{};
  const bool is_ours = reader->Take<uint32_t>() == kMagic;
  head.kind = reader->Take<MessageKind>();
  head.flags = reader->Take<uint8_t>();
  const auto name_bytes = reader->Take<uint16_t>();
  reader->Take<uint64_t>();
  head.epoch = reader->Take<uint64_t>();
  head.incarnation = reader->Take<uint64_t>();
  head.number = reader->Take<uint64_t>();
  head.sent_us = reader->Take<uint64_t>();
  head.clock_us = reader->Take<uint64_t>();
  head.name = reader->TakeText(name_bytes);
  if (!reader->TakeRestOfWord() || reader->failed() || !is_ours) return std::nullopt;
  if (head.epoch == 0 || head.incarnation == 0) return std::nullopt;
  return head;
}

bool TakeHeld(uint64_t cluster_id, ByteReader* reader, std::optional<Held>* held) {
  const auto revision = reader->Take<Revision>();
  const auto bytes = reader->Take<uint64_t>();
  if (bytes == 0) return revision == 0;
  std::string data = reader->TakeText(bytes);
  if (!reader->TakeRestOfWord()) return false;
  auto shard = DecodeShard(data);
  if (!shard || shard->cluster_id != cluster_id) return false;
  *held = Held{std::move(*shard), revision, std::move(data)};
  return true;
}

bool TakeEntries(uint64_t entries, ByteReader* reader, Append* append) {
  Position at = append->before;
  for (uint64_t i = 0; i < entries; ++i) {
    const auto epoch = reader->Take<uint64_t>();
    std::string data = reader->TakeText(reader->Take<uint64_t>());
    if (!reader->TakeRestOfWord() || reader->failed() || epoch == 0) return false;
    append->entries.push_back(MakeEntry(at, epoch, std::move(data)));
    at = append->entries.back().at;
  }
  return true;
}

std::optional<StreamMessage> TakeAppend(const StreamId& id, Head head, ByteReader* reader) {
  if (head.flags > kIsFirst || !IsName(head.name)) return std::nullopt;
  Append append{.epoch = head.epoch,
                .from = std::move(head.name),
                .to = head.incarnation,
                .is_first = (head.flags & kIsFirst) != 0,
                .before = {},
                .entries = {},
                .published = head.number,
                .sent_us = head.sent_us,
                .safe_us = head.clock_us,
                .held = {}};
  append.before.number = reader->Take<uint64_t>();
  append.before.chain = reader->Take<uint64_t>();
  const auto entries = reader->Take<uint64_t>();
  if (append.before.number > kNumberMax) return std::nullopt;
  if (!TakeHeld(id.cluster_id, reader, &append.held)) return std::nullopt;
  if (!TakeEntries(entries, reader, &append)) return std::nullopt;
  return append;
}

std::optional<StreamMessage> TakeAck(const Head& head) {
  constexpr int kBothFull = kMemoryIsFull | kLogIsFull;
  constexpr int kAllFlags = kFollows | kHasGap | kHasCaughtUp | kLeaves | kBothFull;
  const int full = head.flags & kBothFull;
  if (head.flags > kAllFlags || full == kBothFull || !head.name.empty()) return std::nullopt;
  return Ack{.epoch = head.epoch,
             .from = head.incarnation,
             .follows = (head.flags & kFollows) != 0,
             .has_gap = (head.flags & kHasGap) != 0,
             .has_caught_up = (head.flags & kHasCaughtUp) != 0,
             .leaves = (head.flags & kLeaves) != 0,
             .full = full == 0               ? Full::kNot
                     : full == kMemoryIsFull ? Full::kMemory
                                             : Full::kLog,
             .end = head.number,
             .sent_us = head.sent_us,
             .clock_us = head.clock_us};
}

std::optional<StreamMessage> TakeMessage(const StreamId& id, ByteReader* reader) {
  auto head = TakeHead(reader);
  if (!head) return std::nullopt;
  if (head->kind == MessageKind::kAppend) return TakeAppend(id, std::move(*head), reader);
  if (head->kind == MessageKind::kAck) return TakeAck(*head);
  if (head->flags != 0 || head->clock_us != 0) return std::nullopt;
  const Position has{head->number, head->sent_us};
  if (head->kind == MessageKind::kJoin && IsName(head->name) && has.number <= kNumberMax) {
    return Join{head->epoch, {std::move(head->name), head->incarnation}, has};
  }
  if (has == Position{} && head->kind == MessageKind::kHandOver && head->name.empty()) {
    return HandOver{head->epoch, head->incarnation};
  }
  return std::nullopt;
}

}  // namespace

std::vector<std::byte> Encode(const StreamId& id, const StreamMessage& message) {
  ByteWriter writer;
  std::visit(
      [&writer](const auto& one) {
        PutHead(HeadOf(one), &writer);
        PutRest(one, &writer);
      },
      message);
  std::vector<std::byte> bytes = writer.Take();
  Seal(id, bytes);
  return bytes;
}

void Seal(const StreamId& id, std::span<std::byte> message) {
  const uint64_t bytes = message.size();
  std::memcpy(message.data() + kBytesAt, &bytes, sizeof(bytes));
  const uint64_t checksum = ChecksumOf(id, message);
  std::memcpy(message.data(), &checksum, sizeof(checksum));
}

std::optional<StreamMessage> Decode(const StreamId& id, std::span<const std::byte> bytes) {
  if (bytes.size() < kHeadBytes || verify::NumberAt<uint64_t>(bytes, kBytesAt) != bytes.size() ||
      verify::NumberAt<uint64_t>(bytes, 0) != ChecksumOf(id, bytes)) {
    return std::nullopt;
  }
  ByteReader reader(bytes.subspan(verify::kWordBytes));
  auto message = TakeMessage(id, &reader);
  return message && reader.at_end() && !reader.failed() ? std::move(message) : std::nullopt;
}

}  // namespace plov::cluster
