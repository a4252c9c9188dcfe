#include "verify/log.h"

#include <algorithm>
#include <cstring>

#include "verify/seal.h"

namespace plov::verify {

namespace {

constexpr uint64_t kHeadSeed = 0x706c6f766c6f6773;
constexpr std::array kSegmentMagic = {'p', 'l', 'o', 'v', 'l', 'o', 'g', '\1'};
constexpr std::array kSnapshotMagic = {'p', 'l', 'o', 'v', 's', 'n', 'p', '\1'};
constexpr std::array kBatchMagic = {'p', 'l', 'g', 'b'};
constexpr std::array kBlockMagic = {'p', 'l', 's', 'b'};
constexpr std::array kSessionsMagic = {'p', 'l', 's', 'c'};
constexpr std::array kFooterMagic = {'p', 'l', 's', 'f'};
constexpr size_t kHeadFieldsEnd = 112;

// Fields of a head, where the file's comment draws them.
void PutNumber(std::byte* at, auto number) { std::memcpy(at, &number, sizeof(number)); }

void PutMagic(std::byte* at, const auto& magic) { std::memcpy(at, magic.data(), magic.size()); }
bool HasMagic(std::span<const std::byte> bytes, const auto& magic) {
  return std::memcmp(bytes.data() + kWordBytes, magic.data(), magic.size()) == 0;
}

bool AreZero(std::span<const std::byte> bytes) {
  return std::ranges::all_of(bytes, [](std::byte b) { return b == std::byte{0}; });
}

uint64_t SealedWith(std::span<const std::byte> bytes, uint64_t seed) {
  return Checksum(bytes.data() + kWordBytes, bytes.size() - kWordBytes, seed);
}

const auto& MagicOf(LogFile file) {
  return file == LogFile::kSegment ? kSegmentMagic : kSnapshotMagic;
}
const auto& MagicOf(SnapshotBlockHead::Kind kind) {
  return kind == SnapshotBlockHead::Kind::kItems ? kBlockMagic : kSessionsMagic;
}

// A key that can be stored, and no more of a value than one can be long.
bool MakesSense(const Logged& operation) {
  const bool has_key = !operation.key.empty();
  const bool has_value = !operation.value.empty();
  if (operation.version == 0) return false;
  switch (operation.kind) {
    case Logged::Kind::kPut:
      return has_key;
    case Logged::Kind::kDelete:
      return has_key && !has_value;
    case Logged::Kind::kSuperseded:
      return !has_key && !has_value;
    case Logged::Kind::kHeld:
      return !has_key && has_value;
  }
  return false;
}

// Walks all operations; false unless there are so many, their versions grow, and nothing is left.
struct LoggedRange {
  uint64_t first = 0;
  uint64_t last = 0;
};
std::optional<LoggedRange> WalkOperations(std::span<const std::byte> rest, uint32_t count) {
  LoggedRange range;
  for (; count > 0; --count) {
    const auto operation = TakeLogged(&rest);
    if (!operation || operation->version <= range.last) return std::nullopt;
    if (range.first == 0) range.first = operation->version;
    range.last = operation->version;
  }
  if (!rest.empty()) return std::nullopt;
  return range;
}

bool AreSessions(std::span<const std::byte> rest, uint32_t count) {
  if (rest.size() != kLoggedSessionBytes * count) return false;
  while (!rest.empty()) {
    if (!TakeLoggedSession(&rest)) return false;
  }
  return true;
}

// In a snapshot items lie in no order, and all are puts.
bool ArePuts(std::span<const std::byte> rest, uint32_t count) {
  for (; count > 0; --count) {
    const auto operation = TakeLogged(&rest);
    if (!operation || operation->kind != Logged::Kind::kPut) return false;
  }
  return rest.empty();
}

}  // namespace

LogBlock SealLogHead(LogFile file, const LogHead& head) {
  LogBlock block{};
  std::byte* at = block.data();
  PutMagic(at + 8, MagicOf(file));
  PutNumber(at + 16, head.is_replica ? kReplicaLogFormat : kLogFormat);
  PutNumber(at + 20, head.shard);
  PutNumber(at + 24, head.shard_count);
  PutNumber(at + 28, static_cast<uint32_t>(kLogBlockBytes));
  PutNumber(at + 32, head.id.low);
  PutNumber(at + 40, head.id.high);
  PutNumber(at + 48, head.number);
  PutNumber(at + 56, head.first_batch);
  PutNumber(at + 64, head.chain);
  PutNumber(at + 72, head.floor);
  PutNumber(at + 80, head.hash_seed);
  PutNumber(at + 88, head.file_bytes);
  PutNumber(at + 96, head.life);
  PutNumber(at + 104, head.cluster_id);
  PutNumber(at, SealedWith(block, kHeadSeed));
  return block;
}

std::expected<LogHead, Code> CheckLogHead(LogFile file, std::span<const std::byte> block) {
  if (block.size() < kLogBlockBytes) return std::unexpected(Code::kCorrupt);
  block = block.first(kLogBlockBytes);
  if (NumberAt<uint64_t>(block, 0) != SealedWith(block, kHeadSeed)) {
    return std::unexpected(Code::kCorrupt);
  }
  if (!HasMagic(block, MagicOf(file))) return std::unexpected(Code::kInvalidArgument);
  const auto format = NumberAt<uint32_t>(block, 16);
  if (format != kLogFormat && format != kReplicaLogFormat) return std::unexpected(Code::kProtocol);
  const LogHead head{.shard = NumberAt<uint32_t>(block, 20),
                     .shard_count = NumberAt<uint32_t>(block, 24),
                     .id = {NumberAt<uint64_t>(block, 32), NumberAt<uint64_t>(block, 40)},
                     .number = NumberAt<uint64_t>(block, 48),
                     .first_batch = NumberAt<uint64_t>(block, 56),
                     .chain = NumberAt<uint64_t>(block, 64),
                     .floor = NumberAt<uint64_t>(block, 72),
                     .hash_seed = NumberAt<uint64_t>(block, 80),
                     .file_bytes = NumberAt<uint64_t>(block, 88),
                     .life = NumberAt<uint64_t>(block, 96),
                     .cluster_id = NumberAt<uint64_t>(block, 104),
                     .is_replica = format == kReplicaLogFormat};
  if (NumberAt<uint32_t>(block, 28) != kLogBlockBytes || head.shard >= head.shard_count ||
      head.number == 0 || head.first_batch == 0 || !AreZero(block.subspan(kHeadFieldsEnd))) {
    return std::unexpected(Code::kCorrupt);
  }
  return head;
}

size_t EncodeLoggedHead(const Logged& operation, size_t value_bytes, std::byte* to) {
  PutNumber(to, static_cast<uint8_t>(operation.kind));
  PutNumber(to + 1, uint8_t{0});
  PutNumber(to + 2, static_cast<uint16_t>(operation.key.size()));
  PutNumber(to + 4, static_cast<uint32_t>(value_bytes));
  PutNumber(to + 8, operation.version);
  PutNumber(to + 16, operation.client_id);
  PutNumber(to + 24, operation.sequence);
  PutNumber(to + 32, operation.flags);
  PutNumber(to + 36, operation.expiry);
  std::ranges::copy(std::as_bytes(std::span(operation.key)), to + kLoggedHeadBytes);
  return kLoggedHeadBytes + operation.key.size();
}

std::optional<Logged> TakeLogged(std::span<const std::byte>* rest) {
  if (rest->size() < kLoggedHeadBytes) return std::nullopt;
  const std::span<const std::byte> bytes = *rest;
  const size_t key_bytes = NumberAt<uint16_t>(bytes, 2);
  const size_t value_bytes = NumberAt<uint32_t>(bytes, 4);
  const size_t used = kLoggedHeadBytes + key_bytes + value_bytes;
  const size_t whole = LoggedBytes(key_bytes, value_bytes);
  if (whole > bytes.size() || bytes[1] != std::byte{0} ||
      !AreZero(bytes.subspan(used, whole - used))) {
    return std::nullopt;
  }
  const auto* text = reinterpret_cast<const char*>(bytes.data()) + kLoggedHeadBytes;
  const Logged operation{.kind = static_cast<Logged::Kind>(bytes[0]),
                         .version = NumberAt<uint64_t>(bytes, 8),
                         .client_id = NumberAt<uint64_t>(bytes, 16),
                         .sequence = NumberAt<uint64_t>(bytes, 24),
                         .flags = NumberAt<uint32_t>(bytes, 32),
                         .expiry = NumberAt<uint32_t>(bytes, 36),
                         .key = {text, key_bytes},
                         .value = {text + key_bytes, value_bytes}};
  if (!MakesSense(operation)) return std::nullopt;
  *rest = bytes.subspan(whole);
  return operation;
}

void EncodeLoggedSession(const LoggedSession& session, std::byte* to) {
  PutNumber(to, session.client_id);
  PutNumber(to + 8, session.sequence);
  PutNumber(to + 16, session.version);
}

std::optional<LoggedSession> TakeLoggedSession(std::span<const std::byte>* rest) {
  if (rest->size() < kLoggedSessionBytes) return std::nullopt;
  const LoggedSession session{.client_id = NumberAt<uint64_t>(*rest, 0),
                              .sequence = NumberAt<uint64_t>(*rest, 8),
                              .version = NumberAt<uint64_t>(*rest, 16)};
  if (session.client_id == 0 || (session.sequence == 0 && session.version != 0)) {
    return std::nullopt;
  }
  *rest = rest->subspan(kLoggedSessionBytes);
  return session;
}

uint64_t BatchSeed(const LogId& id, uint64_t segment, uint64_t offset) {
  return Mix(Mix(Mix(id.low ^ Mix(id.high)) + segment) + offset);
}

uint64_t SnapshotSeed(const LogId& id, uint64_t offset) {
  return Mix(Mix(id.high ^ Mix(id.low)) + offset);
}

void EncodeBatchHead(const BatchHead& head, std::span<std::byte, kBatchHeadBytes> to) {
  std::byte* at = to.data();
  PutNumber(at, uint64_t{0});
  PutMagic(at + 8, kBatchMagic);
  PutNumber(at + 12, head.bytes);
  PutNumber(at + 16, head.number);
  PutNumber(at + 24, head.chain);
  PutNumber(at + 32, head.attest);
  PutNumber(at + 40, head.first_version);
  PutNumber(at + 48, head.last_version);
  PutNumber(at + 56, head.operations);
  PutNumber(at + 60, static_cast<uint32_t>(head.kind));
  PutNumber(at + 64, head.time_us);
}

uint64_t SealBatch(std::span<const std::span<std::byte>> pieces, uint64_t seed) {
  XXH3_state_t state{};
  XXH3_64bits_reset_withSeed(&state, seed);
  size_t skipped = kWordBytes;  // the checksum's own
  for (const std::span<std::byte> piece : pieces) {
    XXH3_64bits_update(&state, piece.data() + skipped, piece.size() - skipped);
    skipped = 0;
  }
  const uint64_t checksum = XXH3_64bits_digest(&state);
  PutNumber(pieces.front().data(), checksum);
  return checksum;
}

std::optional<BatchHead> GuessBatchHead(std::span<const std::byte> bytes, size_t room) {
  if (bytes.size() < kBatchHeadBytes || !HasMagic(bytes, kBatchMagic)) return std::nullopt;
  const BatchHead head{.checksum = NumberAt<uint64_t>(bytes, 0),
                       .bytes = NumberAt<uint32_t>(bytes, 12),
                       .number = NumberAt<uint64_t>(bytes, 16),
                       .chain = NumberAt<uint64_t>(bytes, 24),
                       .attest = NumberAt<uint64_t>(bytes, 32),
                       .first_version = NumberAt<uint64_t>(bytes, 40),
                       .last_version = NumberAt<uint64_t>(bytes, 48),
                       .operations = NumberAt<uint32_t>(bytes, 56),
                       .kind = static_cast<BatchHead::Kind>(NumberAt<uint32_t>(bytes, 60)),
                       .time_us = NumberAt<uint64_t>(bytes, 64)};
  const bool is_empty = head.operations == 0 && head.bytes == kBatchHeadBytes;
  const bool is_full = head.operations > 0 && head.kind == BatchHead::Kind::kOperations;
  if (head.bytes < kBatchHeadBytes || head.bytes > std::min(room, kBatchBytesMax) ||
      head.bytes % kWordBytes != 0 || head.kind > BatchHead::Kind::kClosed ||
      !(is_full || (is_empty && head.kind != BatchHead::Kind::kOperations))) {
    return std::nullopt;
  }
  return head;
}

bool CheckBatch(std::span<const std::byte> batch, const BatchHead& head, uint64_t seed) {
  if (batch.size() < head.bytes) return false;
  batch = batch.first(head.bytes);
  if (SealedWith(batch, seed) != head.checksum) return false;
  const auto range = WalkOperations(batch.subspan(kBatchHeadBytes), head.operations);
  return range && range->first == head.first_version && range->last == head.last_version;
}

uint64_t SnapshotDigest(uint64_t digest, uint64_t block_checksum) {
  return Mix(digest + block_checksum) + 0x9e3779b97f4a7c15;
}

namespace {

void EncodeBlockHead(const SnapshotBlockHead& head, const std::array<char, 4>& magic,
                     std::byte* at) {
  PutNumber(at, uint64_t{0});
  PutMagic(at + 8, magic);
  PutNumber(at + 12, head.bytes);
  PutNumber(at + 16, head.number);
  PutNumber(at + 24, head.operations);
  PutNumber(at + 28, uint32_t{0});
}

}  // namespace

uint64_t SealSnapshotBlock(std::span<std::byte> block, SnapshotBlockHead head, uint64_t seed) {
  head.bytes = static_cast<uint32_t>(block.size());
  EncodeBlockHead(head, MagicOf(head.kind), block.data());
  const uint64_t checksum = SealedWith(block, seed);
  PutNumber(block.data(), checksum);
  return checksum;
}

std::array<std::byte, kSnapshotFooterBytes> SealSnapshotFooter(const SnapshotFooter& footer,
                                                               uint64_t number, uint64_t seed) {
  std::array<std::byte, kSnapshotFooterBytes> bytes;
  std::byte* at = bytes.data();
  EncodeBlockHead({.bytes = kSnapshotFooterBytes, .number = number}, kFooterMagic, at);
  PutNumber(at + 32, footer.digest);
  PutNumber(at + 40, footer.items);
  PutNumber(at + 48, footer.payload_bytes);
  PutNumber(at + 56, footer.start_batch);
  PutNumber(at + 64, footer.needs_batch);
  PutNumber(at + 72, footer.last_version);
  PutNumber(at + 80, footer.bucket_bytes);
  PutNumber(at + 88, footer.time_us);
  PutNumber(at + 96, footer.sessions);
  PutNumber(at + 104, uint64_t{footer.sessions_are_all});
  PutNumber(at, SealedWith(bytes, seed));
  return bytes;
}

std::optional<SnapshotBlockHead> GuessSnapshotBlock(std::span<const std::byte> bytes, size_t room) {
  using Kind = SnapshotBlockHead::Kind;
  if (bytes.size() < kSnapshotBlockHeadBytes) return std::nullopt;
  const Kind kind = HasMagic(bytes, kSessionsMagic) ? Kind::kSessions : Kind::kItems;
  if (!HasMagic(bytes, MagicOf(kind))) return std::nullopt;
  const SnapshotBlockHead head{.checksum = NumberAt<uint64_t>(bytes, 0),
                               .bytes = NumberAt<uint32_t>(bytes, 12),
                               .number = NumberAt<uint64_t>(bytes, 16),
                               .operations = NumberAt<uint32_t>(bytes, 24),
                               .kind = kind};
  if (head.bytes <= kSnapshotBlockHeadBytes || head.bytes > std::min(room, kBatchBytesMax) ||
      head.bytes % kWordBytes != 0 || head.operations == 0 || NumberAt<uint32_t>(bytes, 28) != 0) {
    return std::nullopt;
  }
  return head;
}

bool CheckSnapshotBlock(std::span<const std::byte> block, const SnapshotBlockHead& head,
                        uint64_t seed) {
  if (block.size() < head.bytes) return false;
  block = block.first(head.bytes);
  if (SealedWith(block, seed) != head.checksum) return false;
  const auto content = block.subspan(kSnapshotBlockHeadBytes);
  return head.kind == SnapshotBlockHead::Kind::kItems ? ArePuts(content, head.operations)
                                                      : AreSessions(content, head.operations);
}

std::optional<SnapshotFooter> CheckSnapshotFooter(std::span<const std::byte> bytes, uint64_t number,
                                                  uint64_t seed) {
  if (bytes.size() != kSnapshotFooterBytes || !HasMagic(bytes, kFooterMagic)) return std::nullopt;
  if (NumberAt<uint64_t>(bytes, 0) != SealedWith(bytes, seed) ||
      NumberAt<uint32_t>(bytes, 12) != kSnapshotFooterBytes ||
      NumberAt<uint64_t>(bytes, 16) != number || NumberAt<uint64_t>(bytes, 24) != 0 ||
      NumberAt<uint64_t>(bytes, 104) > 1) {
    return std::nullopt;
  }
  return SnapshotFooter{.digest = NumberAt<uint64_t>(bytes, 32),
                        .items = NumberAt<uint64_t>(bytes, 40),
                        .payload_bytes = NumberAt<uint64_t>(bytes, 48),
                        .start_batch = NumberAt<uint64_t>(bytes, 56),
                        .needs_batch = NumberAt<uint64_t>(bytes, 64),
                        .last_version = NumberAt<uint64_t>(bytes, 72),
                        .bucket_bytes = NumberAt<uint64_t>(bytes, 80),
                        .time_us = NumberAt<uint64_t>(bytes, 88),
                        .sessions = NumberAt<uint64_t>(bytes, 96),
                        .sessions_are_all = NumberAt<uint64_t>(bytes, 104) == 1};
}

}  // namespace plov::verify
