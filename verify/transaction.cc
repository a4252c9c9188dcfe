#include "verify/transaction.h"

#include <cstring>

#include "verify/record.h"
#include "verify/words.h"

namespace plov::verify {

namespace {

struct WireHead {
  uint32_t reads;
  uint32_t writes;
};

struct WireRead {
  uint64_t version;
  uint16_t key_bytes;
  uint16_t reserved;
  uint32_t reserved_too;
};
static_assert(sizeof(WireRead) == 16 && offsetof(WireRead, key_bytes) == 8);

struct WireWrite {
  uint8_t operation;
  uint8_t flags;
  uint16_t key_bytes;
  uint32_t value_bytes;
  uint32_t item_flags;
  uint32_t time;
};
static_assert(sizeof(WireWrite) == 16 && offsetof(WireWrite, time) == 12);

constexpr uint8_t kUntilExpiry = 64;

template <typename Wire>
void Append(const Wire& wire, std::string* to) {
  const size_t at = to->size();
  to->resize(at + sizeof(wire));
  std::memcpy(to->data() + at, &wire, sizeof(wire));
}

void PadToWord(std::string* text) { text->resize(RoundUpToWord(text->size())); }

// Takes parts of bytes that may be anything.
class Parts {
 public:
  explicit Parts(std::string_view bytes) : rest_(bytes) {}

  template <typename Wire>
  std::optional<Wire> Take() {
    const auto bytes = TakeText(sizeof(Wire));
    if (!bytes) return std::nullopt;
    Wire wire;
    std::memcpy(&wire, bytes->data(), sizeof(wire));
    return wire;
  }
  std::optional<std::string_view> TakeText(size_t bytes) {
    if (bytes > rest_.size()) return std::nullopt;
    const std::string_view text = rest_.substr(0, bytes);
    rest_.remove_prefix(bytes);
    taken_ += bytes;
    return text;
  }
  bool TakeRestOfWord() { return TakeText(RoundUpToWord(taken_) - taken_).has_value(); }
  bool at_end() const { return rest_.empty(); }

 private:
  std::string_view rest_;
  size_t taken_ = 0;
};

bool IsKeyLength(size_t bytes) { return bytes >= 1 && bytes <= kKeyBytesMax; }

std::optional<TransactionRead> TakeRead(Parts* parts) {
  const auto wire = parts->Take<WireRead>();
  if (!wire || wire->reserved != 0 || wire->reserved_too != 0) return std::nullopt;
  const auto key = parts->TakeText(wire->key_bytes);
  if (!key || !IsKeyLength(key->size()) || !parts->TakeRestOfWord()) return std::nullopt;
  return TransactionRead{*key, wire->version};
}

std::optional<Request> TakeWrite(Parts* parts) {
  const auto wire = parts->Take<WireWrite>();
  if (!wire || (wire->flags & ~kUntilExpiry) != 0) return std::nullopt;
  const auto operation = static_cast<Operation>(wire->operation);
  const bool is_delete = operation == Operation::kDelete;
  if (operation != Operation::kPut && !is_delete) return std::nullopt;
  if (is_delete && (wire->value_bytes | wire->item_flags | wire->time | wire->flags) != 0) {
    return std::nullopt;
  }
  const bool until = wire->flags == kUntilExpiry;
  if (until && wire->time == 0) return std::nullopt;
  const auto key = parts->TakeText(wire->key_bytes);
  if (!key || !IsKeyLength(key->size())) return std::nullopt;
  const auto value = parts->TakeText(wire->value_bytes);
  if (!value || !parts->TakeRestOfWord()) return std::nullopt;
  return Request{.operation = operation,
                 .value_bytes = wire->value_bytes,
                 .flags = wire->item_flags,
                 .ttl_seconds = until ? 0 : wire->time,
                 .expiry = until ? wire->time : 0,
                 .key = *key,
                 .value = *value};
}

}  // namespace

std::string EncodeTransaction(const Transaction& transaction) {
  std::string bytes;
  Append(WireHead{static_cast<uint32_t>(transaction.reads.size()),
                  static_cast<uint32_t>(transaction.writes.size())},
         &bytes);
  for (const TransactionRead& read : transaction.reads) {
    Append(WireRead{read.version, static_cast<uint16_t>(read.key.size()), 0, 0}, &bytes);
    bytes += read.key;
    PadToWord(&bytes);
  }
  for (const Request& write : transaction.writes) {
    const bool until = write.ttl_seconds == 0 && write.expiry != 0;
    Append(WireWrite{static_cast<uint8_t>(write.operation), until ? kUntilExpiry : uint8_t{0},
                     static_cast<uint16_t>(write.key.size()),
                     static_cast<uint32_t>(write.value.size()), write.flags,
                     until ? write.expiry : write.ttl_seconds},
           &bytes);
    bytes += write.key;
    bytes += write.value;
    PadToWord(&bytes);
  }
  return bytes;
}

std::optional<Transaction> DecodeTransaction(std::string_view bytes) {
  Parts parts(bytes);
  const auto head = parts.Take<WireHead>();
  if (!head || head->reads > kTransactionReadsMax || head->writes > kTransactionWritesMax) {
    return std::nullopt;
  }
  if (head->reads + head->writes == 0) return std::nullopt;
  Transaction transaction;
  for (uint32_t i = 0; i < head->reads; ++i) {
    const auto read = TakeRead(&parts);
    if (!read) return std::nullopt;
    transaction.reads.push_back(*read);
  }
  for (uint32_t i = 0; i < head->writes; ++i) {
    const auto write = TakeWrite(&parts);
    if (!write) return std::nullopt;
    transaction.writes.push_back(*write);
  }
  if (!parts.at_end()) return std::nullopt;
  return transaction;
}

}  // namespace plov::verify
