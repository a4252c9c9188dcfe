#include "verify/message.h"

#include <algorithm>
#include <cassert>
#include <cstring>

#include "verify/record.h"
#include "verify/seal.h"
#include "verify/words.h"

namespace plov::verify {

namespace {

constexpr uint32_t kRequestsMagic = 0x71726c70;  // "plrq"
constexpr uint32_t kRepliesMagic = 0x70726c70;   // "plrp"

struct WireHeader {
  uint64_t checksum;
  uint32_t magic;
  uint32_t count;
  uint64_t client_id;
  uint64_t answered;
  uint32_t message_bytes;
  uint32_t flags;
  uint64_t clock_us;
};
static_assert(sizeof(WireHeader) == kMessageHeaderBytes && offsetof(WireHeader, client_id) == 16 &&
              offsetof(WireHeader, clock_us) == 40);

struct WireRequest {
  uint8_t operation;
  uint8_t flags;
  uint16_t key_bytes;
  uint32_t value_bytes;
  uint64_t request_id;
  uint64_t sequence;
  uint64_t expected_version;
  uint32_t item_flags;
  uint32_t time;
  uint64_t staging_offset;
};
static_assert(sizeof(WireRequest) == kRequestHeadBytes && offsetof(WireRequest, sequence) == 16 &&
              offsetof(WireRequest, staging_offset) == 40);

struct WireReply {
  uint64_t request_id;
  uint16_t status;
  uint16_t flags;
  uint32_t value_bytes;
  uint64_t version;
  uint32_t item_flags;
  uint32_t expiry;
  uint64_t record_offset;
  uint32_t record_bytes;
  uint32_t reserved;
};
static_assert(sizeof(WireReply) == kReplyHeadBytes && offsetof(WireReply, record_offset) == 32);

constexpr uint8_t kRetry = 1;
constexpr uint8_t kRendezvous = 2;
constexpr uint8_t kConditional = 4;
constexpr uint8_t kSuspect = 8;
constexpr uint8_t kCompares = 16;
constexpr uint8_t kCreates = 32;
constexpr uint8_t kUntil = 64;
constexpr uint8_t kRequestFlags =
    kRetry | kRendezvous | kConditional | kSuspect | kCompares | kCreates | kUntil;
constexpr uint16_t kHeld = 1;
constexpr uint32_t kKeep = 1;  // of a message of requests

uint64_t ChecksumOf(std::span<const std::byte> message, uint64_t client_id) {
  return Checksum(message.data() + kWordBytes, message.size() - kWordBytes, MessageSeed(client_id));
}

template <typename Wire>
Wire LoadWire(std::span<const std::byte> bytes) {
  Wire wire;
  std::memcpy(&wire, bytes.data(), sizeof(wire));
  return wire;
}

std::string_view TextOf(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

bool IsUntil(const Request& request) { return request.ttl_seconds == 0 && request.expiry != 0; }

uint8_t FlagsOf(const Request& request) {
  return static_cast<uint8_t>(
      (request.retry ? kRetry : 0) | (request.rendezvous ? kRendezvous : 0) |
      (request.conditional ? kConditional : 0) | (request.suspect ? kSuspect : 0) |
      (request.compares ? kCompares : 0) | (request.creates ? kCreates : 0) |
      (IsUntil(request) ? kUntil : 0));
}

// What only the other direction has is 0.
bool IsSound(const WireHeader& header, MessageReader::Holds holds) {
  if (holds == MessageReader::Holds::kReplies) return header.flags == 0;
  return (header.flags & ~kKeep) == 0 && header.clock_us == 0;
}

// What a PUT is compared with is in the message.
bool IsSound(const WireRequest& wire) {
  const auto operation = static_cast<Operation>(wire.operation);
  const bool may_create = operation >= Operation::kAppend && operation <= Operation::kIncrement;
  if ((wire.flags & kCreates) != 0 && !may_create) return false;
  const bool may_expire = IsWrite(operation) && operation != Operation::kDelete &&
                          operation != Operation::kCommit && operation != Operation::kUpdate;
  if ((wire.flags & kUntil) != 0 && (!may_expire || wire.time == 0)) return false;
  if ((wire.flags & kCompares) == 0) return true;
  return operation == Operation::kPut && (wire.flags & kRendezvous) == 0 &&
         wire.staging_offset <= wire.value_bytes;
}

}  // namespace

size_t EncodedBytes(const Request& request) {
  const size_t value_bytes = request.expected_value.size() + request.value.size();
  return RoundUpToWord(kRequestHeadBytes + request.key.size() +
                       (request.rendezvous ? 0 : value_bytes));
}

size_t EncodedBytes(const Reply& reply) { return ReplyBytes(reply.held ? 0 : reply.value.size()); }

MessageWriter::MessageWriter(std::span<std::byte> buffer, uint64_t client_id)
    : buffer_(buffer), client_id_(client_id) {
  assert(buffer.size() >= kMessageHeaderBytes);
}

bool MessageWriter::Append(std::span<const std::byte> head,
                           std::initializer_list<std::string_view> parts) {
  size_t bytes = head.size();
  for (const std::string_view part : parts) bytes += part.size();
  const size_t padded = RoundUpToWord(bytes);
  if (padded > room()) return false;
  std::byte* to = buffer_.data() + used_;
  std::byte* const end = to + padded;
  std::memcpy(to, head.data(), head.size());
  to += head.size();
  for (const std::string_view part : parts) {
    if (part.empty()) continue;
    std::memcpy(to, part.data(), part.size());
    to += part.size();
  }
  std::memset(to, 0, static_cast<size_t>(end - to));
  used_ += padded;
  ++count_;
  return true;
}

bool MessageWriter::Add(const Request& request) {
  assert(request.key.size() <= kKeyBytesMax);
  assert(request.rendezvous ||
         request.value_bytes == request.expected_value.size() + request.value.size());
  const WireRequest wire{
      .operation = static_cast<uint8_t>(request.operation),
      .flags = FlagsOf(request),
      .key_bytes = static_cast<uint16_t>(request.key.size()),
      .value_bytes = request.value_bytes,
      .request_id = request.request_id,
      .sequence = request.sequence,
      .expected_version = request.expected_version,
      .item_flags = request.flags,
      .time = IsUntil(request) ? request.expiry : request.ttl_seconds,
      .staging_offset = request.compares ? request.expected_value.size() : request.staging_offset};
  return Append(std::as_bytes(std::span(&wire, 1)),
                {request.key, request.expected_value,
                 request.rendezvous ? std::string_view() : request.value});
}

bool MessageWriter::Add(const Reply& reply) {
  const WireReply wire{.request_id = reply.request_id,
                       .status = static_cast<uint16_t>(reply.status),
                       .flags = reply.held ? kHeld : uint16_t{0},
                       .value_bytes = reply.value_bytes,
                       .version = reply.version,
                       .item_flags = reply.flags,
                       .expiry = reply.expiry,
                       .record_offset = reply.held ? reply.record_offset : reply.number,
                       .record_bytes = reply.record_bytes,
                       .reserved = 0};
  const bool added =
      Append(std::as_bytes(std::span(&wire, 1)), {reply.held ? std::string_view() : reply.value});
  replies_ = replies_ || added;
  return added;
}

std::span<const std::byte> MessageWriter::Finish(const Heading& heading) {
  WireHeader header{.checksum = 0,
                    .magic = replies_ ? kRepliesMagic : kRequestsMagic,
                    .count = count_,
                    .client_id = client_id_,
                    .answered = heading.answered,
                    .message_bytes = static_cast<uint32_t>(used_),
                    .flags = heading.keeps_held ? kKeep : 0,
                    .clock_us = heading.clock_us};
  std::memcpy(buffer_.data(), &header, sizeof(header));
  const auto message = std::span<const std::byte>(buffer_).first(used_);
  header.checksum = ChecksumOf(message, client_id_);
  std::memcpy(buffer_.data(), &header.checksum, sizeof(header.checksum));
  return message;
}

std::optional<MessageReader> MessageReader::Open(std::span<const std::byte> message,
                                                 uint64_t client_id, Holds holds) {
  if (message.size() < kMessageHeaderBytes) return std::nullopt;
  const auto header = LoadWire<WireHeader>(message);
  const uint32_t magic = holds == Holds::kRequests ? kRequestsMagic : kRepliesMagic;
  if (header.magic != magic || header.message_bytes != message.size() ||
      header.client_id != client_id || !IsSound(header, holds) ||
      header.checksum != ChecksumOf(message, client_id)) {
    return std::nullopt;
  }
  MessageReader reader(message.subspan(kMessageHeaderBytes));
  reader.heading_ = {header.answered, (header.flags & kKeep) != 0, header.clock_us};
  reader.remaining_ = header.count;
  return reader;
}

std::optional<std::span<const std::byte>> MessageReader::Take(size_t head_bytes,
                                                              size_t tail_bytes) {
  const size_t padded = RoundUpToWord(head_bytes + tail_bytes);
  // Bytes after the last one belong to nothing: the lengths do not agree.
  if (padded > rest_.size() || (remaining_ == 1 && padded != rest_.size())) return std::nullopt;
  const auto taken = rest_.first(head_bytes + tail_bytes);
  const auto padding = rest_.subspan(taken.size(), padded - taken.size());
  if (!std::ranges::all_of(padding, [](std::byte byte) { return byte == std::byte{0}; })) {
    return std::nullopt;
  }
  rest_ = rest_.subspan(padded);
  --remaining_;
  return taken;
}

std::optional<Request> MessageReader::NextRequest() {
  if (remaining_ == 0 || rest_.size() < kRequestHeadBytes) return std::nullopt;
  const auto wire = LoadWire<WireRequest>(rest_);
  const bool rendezvous = (wire.flags & kRendezvous) != 0;
  if (wire.operation == 0 || (wire.flags & ~kRequestFlags) != 0 || wire.key_bytes > kKeyBytesMax ||
      !IsSound(wire)) {
    return std::nullopt;
  }
  const bool until = (wire.flags & kUntil) != 0;
  const size_t eager_bytes = rendezvous ? 0 : wire.value_bytes;
  const auto bytes = Take(kRequestHeadBytes, wire.key_bytes + eager_bytes);
  if (!bytes) return std::nullopt;
  const bool compares = (wire.flags & kCompares) != 0;
  const size_t expected_bytes = compares ? wire.staging_offset : 0;
  const auto values = bytes->subspan(kRequestHeadBytes + wire.key_bytes);
  return Request{.operation = static_cast<Operation>(wire.operation),
                 .retry = (wire.flags & kRetry) != 0,
                 .rendezvous = rendezvous,
                 .conditional = (wire.flags & kConditional) != 0,
                 .suspect = (wire.flags & kSuspect) != 0,
                 .compares = compares,
                 .creates = (wire.flags & kCreates) != 0,
                 .value_bytes = wire.value_bytes,
                 .flags = wire.item_flags,
                 .ttl_seconds = until ? 0 : wire.time,
                 .expiry = until ? wire.time : 0,
                 .request_id = wire.request_id,
                 .sequence = wire.sequence,
                 .expected_version = wire.expected_version,
                 .staging_offset = compares ? 0 : wire.staging_offset,
                 .key = TextOf(bytes->subspan(kRequestHeadBytes, wire.key_bytes)),
                 .value = TextOf(values.subspan(expected_bytes)),
                 .expected_value = TextOf(values.first(expected_bytes))};
}

std::optional<Reply> MessageReader::NextReply() {
  if (remaining_ == 0 || rest_.size() < kReplyHeadBytes) return std::nullopt;
  const auto wire = LoadWire<WireReply>(rest_);
  if ((wire.flags & ~kHeld) != 0 || wire.reserved != 0) return std::nullopt;
  const bool held = (wire.flags & kHeld) != 0;
  const auto bytes = Take(kReplyHeadBytes, held ? 0 : wire.value_bytes);
  if (!bytes) return std::nullopt;
  return Reply{.status = static_cast<Code>(wire.status),
               .held = held,
               .value_bytes = wire.value_bytes,
               .flags = wire.item_flags,
               .expiry = wire.expiry,
               .request_id = wire.request_id,
               .version = wire.version,
               .record_offset = held ? wire.record_offset : 0,
               .record_bytes = wire.record_bytes,
               .number = held ? 0 : wire.record_offset,
               .value = TextOf(bytes->subspan(kReplyHeadBytes))};
}

}  // namespace plov::verify
