// Transaction: what a COMMIT carries as its value: what its client has read and is to stand yet, and what is written if
// it does.
//
//  offset size field
//       0    4 reads
//       4    4 writes
//       8    . reads, then writes, each of whole words
//
//  read
//       0    8 version       that the key's item has; 0: it is absent
//       8    2 key bytes
//      10    6 reserved, zero
//      16    . key, zeros to the next word
//
//  write
//       0    1 operation     2 PUT, 5 DELETE (verify/message.h)
//       1    1 flags         64 until
//       2    2 key bytes
//       4    4 value bytes   0 of a DELETE
//       8    4 item flags
//      12    4 time to live, or expiry with `until`, as a request's
//      16    . key, value, zeros to the next word
//
// Decoding takes every byte for hostile.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "verify/message.h"

namespace plov::verify {

// Reads and writes each: what is done in one go.
inline constexpr size_t kTransactionReadsMax = 128;
inline constexpr size_t kTransactionWritesMax = 128;

struct TransactionRead {
  std::string_view key;
  uint64_t version = 0;

  bool operator==(const TransactionRead&) const = default;
};

struct Transaction {
  std::vector<TransactionRead> reads;
  // Of a request operation, flags, time to live or expiry, key and value count.
  std::vector<Request> writes;
};

// Needs keys and values within their limits.
std::string EncodeTransaction(const Transaction& transaction);
// Its strings point into the bytes. nullopt: no client of ours sends this.
std::optional<Transaction> DecodeTransaction(std::string_view bytes);

}  // namespace plov::verify
