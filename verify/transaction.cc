#include "verify/transaction.h"

#include <array>

#include "verify/byte_fields.h"
#include "verify/record.h"

namespace plov::verify {

namespace {

constexpr uint8_t kUntilExpiry = 64;
constexpr size_t kReservedBytes = 6;

bool IsKey(std::string_view key) { return !key.empty() && key.size() <= kKeyBytesMax; }

std::optional<TransactionRead> TakeRead(ByteReader* reader) {
  const auto version = reader->Take<uint64_t>();
  const auto key_bytes = reader->Take<uint16_t>();
  if (!reader->TakeZeros(kReservedBytes)) return std::nullopt;
  const std::string_view key = reader->TakeView(key_bytes);
  if (!IsKey(key) || !reader->TakeRestOfWord()) return std::nullopt;
  return TransactionRead{key, version};
}

std::optional<Request> TakeWrite(ByteReader* reader) {
  const auto operation = static_cast<Operation>(reader->Take<uint8_t>());
  const auto flags = reader->Take<uint8_t>();
  const auto key_bytes = reader->Take<uint16_t>();
  const auto value_bytes = reader->Take<uint32_t>();
  const auto item_flags = reader->Take<uint32_t>();
  const auto time = reader->Take<uint32_t>();
  const bool is_delete = operation == Operation::kDelete;
  if (operation != Operation::kPut && !is_delete) return std::nullopt;
  if (is_delete && (value_bytes | item_flags | time | flags) != 0) return std::nullopt;
  const bool until = flags == kUntilExpiry;
  if ((flags & ~kUntilExpiry) != 0 || (until && time == 0)) return std::nullopt;
  const std::string_view key = reader->TakeView(key_bytes);
  const std::string_view value = reader->TakeView(value_bytes);
  if (!IsKey(key) || !reader->TakeRestOfWord()) return std::nullopt;
  return Request{.operation = operation,
                 .value_bytes = value_bytes,
                 .flags = item_flags,
                 .ttl_seconds = until ? 0 : time,
                 .expiry = until ? time : 0,
                 .key = key,
                 .value = value};
}

}  // namespace

std::string EncodeTransaction(const Transaction& transaction) {
  ByteWriter writer;
  writer.Put(static_cast<uint32_t>(transaction.reads.size()));
  writer.Put(static_cast<uint32_t>(transaction.writes.size()));
  for (const TransactionRead& read : transaction.reads) {
    writer.Put(read.version);
    writer.Put(static_cast<uint16_t>(read.key.size()));
    writer.Put(std::array<uint8_t, kReservedBytes>{});
    writer.PutText(read.key);
    writer.PadToWord();
  }
  for (const Request& write : transaction.writes) {
    const bool until = write.ttl_seconds == 0 && write.expiry != 0;
    writer.Put(write.operation);
    writer.Put(until ? kUntilExpiry : uint8_t{0});
    writer.Put(static_cast<uint16_t>(write.key.size()));
    writer.Put(static_cast<uint32_t>(write.value.size()));
    writer.Put(write.flags);
    writer.Put(until ? write.expiry : write.ttl_seconds);
    writer.PutText(write.key);
    writer.PutText(write.value);
    writer.PadToWord();
  }
  const std::vector<std::byte> bytes = writer.Take();
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

std::optional<Transaction> DecodeTransaction(std::string_view bytes) {
  ByteReader reader(std::as_bytes(std::span(bytes)));
  const auto reads = reader.Take<uint32_t>();
  const auto writes = reader.Take<uint32_t>();
  if (reads > kTransactionReadsMax || writes > kTransactionWritesMax) return std::nullopt;
  if (reads + writes == 0) return std::nullopt;
  Transaction transaction;
  for (uint32_t i = 0; i < reads; ++i) {
    const auto read = TakeRead(&reader);
    if (!read) return std::nullopt;
    transaction.reads.push_back(*read);
  }
  for (uint32_t i = 0; i < writes; ++i) {
    const auto write = TakeWrite(&reader);
    if (!write) return std::nullopt;
    transaction.writes.push_back(*write);
  }
  if (reader.failed() || !reader.at_end()) return std::nullopt;
  return transaction;
}

}  // namespace plov::verify
