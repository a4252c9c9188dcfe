#include "client/transactions.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "client/engine.h"
#include "verify/transaction.h"

namespace plov {

namespace {

std::unexpected<Error> Refuse(const char* why) { return Fail(Code::kInvalidArgument, why); }

constexpr auto kAlwaysWritten =
    "the keys were written all the time: there was no instant to show within the deadline";
constexpr auto kDoesNotStand = "what was read does not stand any more: read it again";
constexpr auto kTakesNoCommits = "a server of a cluster takes no commits";
constexpr auto kTooMuch = "the keys and values of a commit are 16 KiB at most";

// Bucket versions have 32 bits: two of them are compared only when no more time lies between (A6).
constexpr auto kComparableFor = std::chrono::microseconds(cuckoo::kConfirmationUsMax);

static_assert(kCommitItemsMax == verify::kTransactionReadsMax &&
              kCommitItemsMax == verify::kTransactionWritesMax);
static_assert(kCommitBytesMax == kEagerValueBytesMax);

verify::Request RequestOf(const CommitWrite& write) {
  verify::Request request;
  request.operation = write.value ? verify::Operation::kPut : verify::Operation::kDelete;
  request.key = write.key;
  if (!write.value) return request;
  request.value = *write.value;
  request.flags = write.flags;
  SetLifetime(write.ttl, &request);
  return request;
}

}  // namespace

// What comes of the keys in one.
struct Transactions::Round {
  Transactions* of;
  std::vector<Evidence> evidence;
  bool stands = true;  // all that was seen before
  std::optional<Error> error = {};

  void Take(size_t index, Client::GetResult result) {
    if (!result) {
      error = std::move(result.error());
      return;
    }
    Seen& seen = of->seen_[index];
    if (evidence[index].is_known && evidence[index] == seen.evidence) return;
    stands = false;
    seen.evidence = evidence[index];
    seen.item = std::move(*result);
    if (seen.item) seen.value = seen.item->value;
  }
};

std::expected<std::vector<std::optional<Item>>, Error> Transactions::Snapshot(
    std::span<const std::string_view> keys) {
  const Deadline deadline = engine_->DeadlineFromNow();
  seen_.assign(keys.size(), {});
  Deadline former_begun;  // the round before
  while (true) {
    const Deadline begun = fabric::Clock::now();
    Round round{.of = this, .evidence = std::vector<Evidence>(keys.size())};
    engine_->GetMany(
        keys,
        [](void* context, size_t index, Client::GetResult result) {
          static_cast<Round*>(context)->Take(index, std::move(result));
        },
        &round, round.evidence);
    if (round.error) return std::unexpected(std::move(*round.error));
    const Deadline ended = fabric::Clock::now();
    if (round.stands && ended - former_begun < kComparableFor) break;
    if (ended >= deadline) return Fail(Code::kTimeout, kAlwaysWritten);
    former_begun = begun;
  }
  std::vector<std::optional<Item>> items;
  items.reserve(keys.size());
  for (Seen& seen : seen_) {
    if (seen.item) seen.item->value = seen.value;
    items.push_back(seen.item);
  }
  return items;
}

std::optional<Error> Transactions::WhyNot(std::span<const std::string_view> keys) const {
  if (engine_->is_cluster()) return Error{Code::kInvalidArgument, kTakesNoCommits};
  if (!std::ranges::all_of(keys, KeyIsGood)) return BadKey();
  return std::nullopt;
}

Write EncodedCommit::AsWrite() const {
  Write write;
  write.operation = verify::Operation::kCommit;
  write.key = key;
  write.value = body;
  return write;
}

Client::PutResult EncodedCommit::ResultOf(WriteResult result) const {
  if (result) return writes == 0 ? 0 : result->version - (writes - 1);
  Error error = std::move(result.error());
  if (error.code == Code::kVersionMismatch) error.message = kDoesNotStand;
  return std::unexpected(std::move(error));
}

std::expected<EncodedCommit, Error> Transactions::Encode(
    std::span<const CommitRead> reads, std::span<const CommitWrite> writes) const {
  if (reads.empty() && writes.empty()) return Refuse("a commit reads or writes something");
  if (reads.size() > kCommitItemsMax || writes.size() > kCommitItemsMax) {
    return Refuse("a commit has 128 reads and 128 writes at most");
  }
  std::vector<std::string_view> keys;
  verify::Transaction transaction;
  size_t bytes = 0;
  for (const CommitRead& read : reads) {
    keys.push_back(read.key);
    transaction.reads.push_back({read.key, read.version});
    bytes += read.key.size();
  }
  for (const CommitWrite& write : writes) {
    if (write.ttl.duration().count() < 0) return std::unexpected(BadTtl());
    keys.push_back(write.key);
    transaction.writes.push_back(RequestOf(write));
    bytes += write.key.size() + transaction.writes.back().value.size();
  }
  if (auto why = WhyNot(keys)) return std::unexpected(std::move(*why));
  if (bytes > kCommitBytesMax) return Fail(Code::kTooLarge, kTooMuch);
  EncodedCommit commit{.key = std::string(keys.front()),
                       .body = verify::EncodeTransaction(transaction),
                       .writes = writes.size()};
  if (commit.body.size() > kCommitBytesMax) return Fail(Code::kTooLarge, kTooMuch);
  return commit;
}

Client::PutResult Transactions::Commit(std::span<const CommitRead> reads,
                                       std::span<const CommitWrite> writes) {
  const auto commit = Encode(reads, writes);
  if (!commit) return std::unexpected(commit.error());
  for (const CommitRead& read : reads) engine_->AwaitStarted(std::span(&read.key, 1));
  for (const CommitWrite& write : writes) engine_->AwaitStarted(std::span(&write.key, 1));
  return commit->ResultOf(engine_->DoWrite(commit->AsWrite()));
}

}  // namespace plov
