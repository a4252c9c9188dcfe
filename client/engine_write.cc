// Engine: writes.

#include <time.h>

#include <algorithm>

#include "client/engine.h"
#include "verify/record.h"

namespace plov {

namespace {

verify::Operation OperationOf(PutMode mode) {
  switch (mode) {
    case PutMode::kAdd:
      return verify::Operation::kAdd;
    case PutMode::kReplace:
      return verify::Operation::kReplace;
    case PutMode::kSet:
      break;
  }
  return verify::Operation::kPut;
}

// The server's Unix time after `ttl`; at most what the format holds.
uint32_t ExpiryAfter(std::chrono::seconds ttl, const cuckoo::ShardView& view) {
  if (ttl.count() <= 0) return 0;
  timespec now;
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  // Rounded up, so that the item lives at least its time.
  const int64_t unix_us = now.tv_sec * 1'000'000 + now.tv_nsec / 1000 + view.clock_offset_us;
  const int64_t unix_seconds = (unix_us + 999'999) / 1'000'000;
  const int64_t ttl_seconds = std::min<int64_t>(ttl.count(), UINT32_MAX);
  return static_cast<uint32_t>(std::min<int64_t>(unix_seconds + ttl_seconds, UINT32_MAX));
}

}  // namespace

Write Engine::MakePut(std::string_view key, std::string_view value,
                      const PutOptions& options) const {
  Write write;
  write.operation = OperationOf(options.mode);
  write.conditional = options.expected_version != 0;
  write.expected_version = options.expected_version;
  write.flags = options.flags;
  write.expiry = ExpiryAfter(options.ttl, links_[0]->view);
  write.key = key;
  write.value = value;
  return write;
}

Write Engine::MakeDelete(std::string_view key, Version expected_version) const {
  Write write;
  write.operation = verify::Operation::kDelete;
  write.conditional = expected_version != 0;
  write.expected_version = expected_version;
  write.key = key;
  return write;
}

// What can never be accepted is refused here: the wire format has no room for it.
std::optional<Error> Engine::Refusal(const Write& write) const {
  if (write.key.empty() || write.key.size() > verify::kKeyBytesMax) {
    return ErrorOfStatus(Code::kInvalidArgument);
  }
  if (write.value.size() > links_[0]->view.value_bytes_max) return ErrorOfStatus(Code::kTooLarge);
  return std::nullopt;
}

void Engine::QueueWrite(const Write& write) {
  if (closing_) return write.done(write.context, write.index, std::unexpected(down_));
  queued_writes_.push_back(write);
  queued_writes_.back().deadline = DeadlineFromNow();
}

bool Engine::DistributeWrites() {
  bool moved = false;
  while (!queued_writes_.empty()) {
    const Write write = queued_writes_.front();
    if (auto refusal = Refusal(write)) {
      queued_writes_.pop_front();
      write.done(write.context, write.index, std::unexpected(std::move(*refusal)));
    } else {
      const uint64_t hash = cuckoo::HashKey(write.key, hash_seed_);
      Link& link = *links_[cuckoo::ShardOf(hash, shard_count())];
      if (link.writes.full()) break;
      link.writes.Add(write);
      queued_writes_.pop_front();
    }
    moved = true;
  }
  return moved;
}

void Engine::ExpireQueued(Deadline now) {
  const auto error = [this]() -> Error {
    if (!alive()) return down_;
    return {Code::kTimeout, "too many operations are waiting"};
  };
  while (!queued_writes_.empty() && queued_writes_.front().deadline <= now) {
    const Write write = queued_writes_.front();
    queued_writes_.pop_front();
    write.done(write.context, write.index, std::unexpected(error()));
  }
  while (!queued_gets_.empty() && queued_gets_.front().deadline <= now) {
    const QueuedGet get = queued_gets_.front();
    queued_gets_.pop_front();
    get.sink.done(get.sink.context, get.sink.index, std::unexpected(error()));
  }
}

Client::PutResult Engine::DoWrite(Write write) {
  std::optional<Client::PutResult> result;
  write.done = [](void* context, size_t, Client::PutResult got) {
    *static_cast<std::optional<Client::PutResult>*>(context) = std::move(got);
  };
  write.context = &result;
  QueueWrite(write);
  const Deadline deadline = queued_writes_.back().deadline;
  while (!result) {
    if (!Pump()) Idle(deadline);
  }
  ++stats_.puts;
  return std::move(*result);
}

void Engine::PutMany(std::span<const PutItem> items, void (*done)(void*, size_t, Client::PutResult),
                     void* context) {
  struct Tally {
    void (*done)(void*, size_t, Client::PutResult);
    void* context;
    ClientStats* stats;
    size_t left;
  } tally{done, context, &stats_, items.size()};
  size_t next = 0;
  while (tally.left > 0) {
    for (; next < items.size() && queued_writes_.size() < kWritesMax; ++next) {
      Write write = MakePut(items[next].key, items[next].value, items[next].options);
      write.index = next;
      write.context = &tally;
      write.done = [](void* tally_context, size_t index, Client::PutResult result) {
        auto* mine = static_cast<Tally*>(tally_context);
        --mine->left;
        ++mine->stats->puts;
        mine->done(mine->context, index, std::move(result));
      };
      QueueWrite(write);
    }
    if (!Pump()) Idle(DeadlineFromNow());
  }
}

}  // namespace plov
