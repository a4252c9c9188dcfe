// Transactions: what a client process does to the keys that all of them change together by Client::Commit, and read by
// Client::Snapshot.
//
// A transaction reads some keys, by a Snapshot or one by one, and commits writes of these and of others if what it found
// stands. Few keys get half of the operations, so that transactions conflict. Beside them lone GETs, GETs of two keys in
// turn, and PUTs, blind commits, and commits that only ask whether reads stand. The keys of one transaction are of one
// group, which the server takes together: all keys, or with a log and several shards those of one shard.
#pragma once

#include <plov/client.h>

#include <array>
#include <cstdint>
#include <expected>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "program/random.h"
#include "torture/key_names.h"
#include "torture/modified.h"
#include "torture/run_memory.h"
#include "torture/transaction_record.h"

namespace plov::torture {

// A transaction key of a run's history, by its number; and how its values are sealed.
KeyName TransactionKeyName(uint32_t run, uint32_t history, uint32_t key);
uint64_t SealedTransactionKey(uint32_t history, uint32_t key);
inline constexpr uint64_t kFirstTransactionKey = Modified::kFirstKey - kTransactionKeys;

// The numbers of the keys by group, the same ones for every client. Costs messages for a key where there are several shards.
using KeyGroups = std::vector<std::vector<uint32_t>>;
KeyGroups GroupTransactionKeys(Client* client, uint32_t run, uint32_t history);
// Whether the server takes commits over several shards, so that all keys are one group.
bool AreTransactionsOverShards(Client* client, uint32_t run);

// What a GET has found. Errors: the bytes are of no PUT; what is wrong with them.
std::expected<TransactionItem, std::string> FoundItem(uint32_t history, uint32_t key,
                                                      const std::optional<Item>& found);

class Transactions {
 public:
  static constexpr size_t kReadsMax = 6;
  static constexpr size_t kGetsInTurn = 32;
  static constexpr size_t kRecordsPerStep = kGetsInTurn;  // at most

  Transactions(const Plan& plan, uint32_t process, TransactionRing* ring, ClientReport* report);

  // What may be written: a DELETE without an answer makes the checks weaker.
  enum class Writes : uint8_t { kPuts, kPutsAndDeletes };
  // One operation, or a transaction; or a Snapshot. Returns what was wrong by itself, if anything.
  std::optional<std::string> Step(Client* client, uint32_t history, Writes writes);
  std::optional<std::string> Snapshot(Client* client, uint32_t history);

 private:
  using Wrong = std::optional<std::string>;

  using Pair = std::array<uint32_t, 2>;
  using Items = std::vector<TransactionItem>;

  void Begin(Client* client, uint32_t history);
  std::vector<uint32_t> DrawKeys(size_t least, size_t most);
  TransactionItem DrawPut(uint32_t key);
  std::string ValueOf(const TransactionItem& put);
  void AddWrites(const Items& reads, Writes writes, TransactionRecord* record);

  // The entry of the ring, and its two ends.
  TransactionRecord& Next(TransactionKind kind);
  void Issue(TransactionRecord* record);
  void Finish(const std::optional<Error>& error, TransactionRecord* record);

  Wrong Get(uint32_t key, Items* found);
  Wrong TakeSnapshot(const std::vector<uint32_t>& keys, Items* found);
  Pair FarKeys() const;
  Wrong GetInTurn();
  Wrong Put();
  Wrong Transact(Writes writes);
  Wrong Commit(TransactionRecord* record);

  uint32_t run_;
  uint32_t process_;
  size_t value_bytes_max_;
  TransactionRing* ring_;
  ClientReport* report_;
  program::Random random_;
  Client* client_ = nullptr;  // of the step
  std::optional<uint32_t> history_ = {};
  KeyGroups groups_;
  uint32_t group_ = 0;  // of the step
  uint64_t sequence_ = 0;
};

}  // namespace plov::torture
