#include "client/writes.h"

#include <algorithm>

#include "client/gets.h"
#include "verify/record.h"

namespace plov {

namespace {

static_assert(static_cast<int>(NumberMode::kSigned) ==
              static_cast<int>(verify::NumberMode::kSigned));
static_assert(static_cast<int>(NumberMode::kUnsignedAdd) ==
              static_cast<int>(verify::NumberMode::kUnsignedAdd));
static_assert(static_cast<int>(NumberMode::kUnsignedSubtract) ==
              static_cast<int>(verify::NumberMode::kUnsignedSubtract));

constexpr auto kComparesWrongly = "only what is stored by PutMode::kSet has an expected value";

verify::Operation OperationOf(PutMode mode) {
  switch (mode) {
    case PutMode::kAdd:
      return verify::Operation::kAdd;
    case PutMode::kReplace:
      return verify::Operation::kReplace;
    case PutMode::kAppend:
    case PutMode::kAppendOrAdd:
      return verify::Operation::kAppend;
    case PutMode::kPrepend:
    case PutMode::kPrependOrAdd:
      return verify::Operation::kPrepend;
    case PutMode::kSet:
      break;
  }
  return verify::Operation::kPut;
}

}  // namespace

Write MakePut(std::string_view key, std::string_view value, const PutOptions& options) {
  Write write;
  write.operation = OperationOf(options.mode);
  write.creates = options.mode == PutMode::kAppendOrAdd || options.mode == PutMode::kPrependOrAdd;
  write.expected_version = options.expected_version;
  write.expected_value = options.expected_value;
  write.flags = options.flags;
  write.ttl = options.ttl;
  write.key = key;
  write.value = value;
  return write;
}

Write MakeIncrement(std::string_view key, int64_t delta, const IncrementOptions& options) {
  Write write;
  write.operation = verify::Operation::kIncrement;
  write.expected_version = options.expected_version;
  write.creates = options.initial.has_value();
  write.flags = options.flags;
  write.ttl = options.ttl;
  write.key = key;
  verify::EncodeNumberChange({.delta = delta,
                              .initial = options.initial.value_or(0),
                              .min = options.min,
                              .max = options.max,
                              .mode = static_cast<verify::NumberMode>(options.mode)},
                             write.change.data());
  write.change_bytes = verify::kNumberChangeBytes;
  return write;
}

Write MakeTouch(std::string_view key, Lifetime ttl, Version expected_version) {
  Write write;
  write.operation = verify::Operation::kTouch;
  write.expected_version = expected_version;
  write.ttl = ttl;
  write.key = key;
  return write;
}

Write MakeDelete(std::string_view key, Version expected_version) {
  Write write;
  write.operation = verify::Operation::kDelete;
  write.expected_version = expected_version;
  write.key = key;
  return write;
}

Error BadTtl() {
  return {Code::kInvalidArgument, "a time to live cannot be negative; 0 means for ever"};
}

// What no server can accept; the wire format has no room for it.
std::optional<Error> Writes::Refusal(const Write& write) const {
  if (write.key.empty() || write.key.size() > verify::kKeyBytesMax) {
    return ErrorOfStatus(Code::kInvalidArgument);
  }
  if (write.mistake != nullptr) return Error{Code::kInvalidArgument, write.mistake};
  if (write.ttl.duration().count() < 0) return BadTtl();
  if (write.value.size() > verify::kValueBytesMax) return ErrorOfStatus(Code::kTooLarge);
  if (!write.expected_value) return std::nullopt;
  if (write.operation != verify::Operation::kPut) {
    return Error{Code::kInvalidArgument, kComparesWrongly};
  }
  if (write.expected_value->size() > kEagerValueBytesMax) return TooLargeToModify();
  return std::nullopt;
}

bool Writes::IsAnyHungry() const {
  return std::ranges::any_of(
      peers_->live(), [this](const Peers::Live& one) { return !peers_->writes(one.shard).full(); });
}

bool Writes::Distribute() {
  bool moved = false;
  while (!queued_.empty()) {
    const Write write = queued_.front();
    if (auto refusal = Refusal(write)) {
      queued_.pop_front();
      callbacks_->Run(
          [&] { write.done(write.context, write.index, std::unexpected(std::move(*refusal))); });
    } else {
      WriteQueue& queue = peers_->writes(peers_->ShardOf(peers_->HashOf(write.key)));
      if (queue.full() && !IsAnyHungry()) break;
      queue.Add(write);
      queued_.pop_front();
    }
    moved = true;
  }
  return moved;
}

// First everything that needs memory: nothing is lost when there is none.
void Writes::Detach(Life* life, std::string_view reason) {
  std::deque<Write> unsent;
  for (const WriteQueue& queue : life->writes()) queue.AppendUnsent(&unsent);
  // They are older than those that found no room in their shard's queue.
  unsent.insert(unsent.end(), queued_.begin(), queued_.end());
  queued_.swap(unsent);
  for (WriteQueue& queue : life->writes()) queue.Close(reason);
}

uint64_t Writes::Retry(Life* life) {
  uint64_t retries = 0;
  for (WriteQueue& queue : life->writes()) retries += queue.Retry();
  return retries;
}

void Writes::Expire(Deadline now) {
  for (uint32_t shard = 0; shard < peers_->shard_count(); ++shard) {
    peers_->writes(shard).Expire(now, peers_->down(shard));
  }
  while (!queued_.empty() && queued_.front().deadline <= now) {
    FailFirst({Code::kTimeout, "too many operations are waiting"});
  }
}

void Writes::FailFirst(const Error& error) {
  const Write write = queued_.front();
  queued_.pop_front();
  callbacks_->Run([&] { write.done(write.context, write.index, std::unexpected(error)); });
}

void Writes::Close(const Error& error, std::string_view reason) {
  for (const auto& peer : peers_->all()) Detach(&peer->life(), reason);
  while (!queued_.empty()) FailFirst(error);
}

void Writes::Cancel(const void* context) {
  for (uint32_t shard = 0; shard < peers_->shard_count(); ++shard) {
    peers_->writes(shard).Cancel(context);
  }
  for (size_t i = 0; i < queued_.size();) {
    const Write write = queued_[i];
    if (write.context != context) {
      ++i;
      continue;
    }
    queued_.erase(queued_.begin() + static_cast<ptrdiff_t>(i));
    callbacks_->Run([&] { write.done(write.context, write.index, std::unexpected(NoMemory())); });
  }
}

void Writes::Forget(const void* context) {
  for (uint32_t shard = 0; shard < peers_->shard_count(); ++shard) {
    peers_->writes(shard).Forget(context);
  }
  std::erase_if(queued_, [context](const Write& write) { return write.context == context; });
}

Deadline Writes::NextEvent(Deadline otherwise) const {
  for (uint32_t shard = 0; shard < peers_->shard_count(); ++shard) {
    otherwise = peers_->writes(shard).EarliestDeadline(otherwise);
  }
  if (!queued_.empty()) otherwise = std::min(otherwise, queued_.front().deadline);
  return otherwise;
}

}  // namespace plov
