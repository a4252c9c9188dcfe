#include "client/write_queue.h"

#include <algorithm>
#include <new>
#include <string>

#include "verify/record.h"
#include "verify/words.h"

namespace plov {

using verify::MessageWriter;
using verify::Operation;
using verify::Request;

namespace {

constexpr auto kOutcomeUnknown =
    "the server died or restarted with this write under way: whether it was applied cannot be told";

constexpr auto kHostIsFull =
    "the server's host gives it no more memory: plovd's log says which file system or limit is "
    "full";

// Short enough to need no memory.
constexpr auto kNoMemoryLeft = "memory ran out";
constexpr auto kNoAnswer =
    "no answer within the deadline: the write may have been applied, or may be yet";
constexpr auto kTakesNone = "the server takes no requests (stopped or overloaded)";

constexpr auto kOneShardOnly =
    "a server with a log takes commits of keys of one shard: start plovd with --shards 1";
constexpr auto kWrongType =
    "the value is no vector of elements of that type, or the function is none of theirs";
constexpr auto kLogIsFull =
    "the disk of the server's log is full: free some of it, and writes go on by themselves";
constexpr auto kTooLargeToModify =
    "what is appended, or compared and stored, is 16 KiB at most: GET the item and PUT it over its "
    "version";

// What has ended so is told also where there is no memory for the text.
Error Said(Code code, std::string_view text) {
  try {
    return {code, std::string(text)};
  } catch (const std::bad_alloc&) {
    return {code, kNoMemoryLeft};
  }
}

Error WhyNotSent(const Error* down) {
  return down != nullptr ? Said(down->code, down->message) : Said(Code::kTimeout, kTakesNone);
}

Request RequestOf(const Write& write, uint64_t sequence) {
  Request request;
  request.operation = write.operation;
  request.conditional = write.expected_version != 0;
  request.compares = write.expected_value.has_value();
  request.creates = write.creates;
  request.flags = write.flags;
  SetLifetime(write.ttl, &request);
  request.request_id = sequence;
  request.sequence = sequence;
  request.expected_version = write.expected_version;
  request.key = write.key;
  request.value = write.value;
  if (request.compares) {
    request.expected_value = *write.expected_value;
  } else {
    request.expected_value = {write.change.data(), write.change_bytes};
  }
  request.value_bytes = static_cast<uint32_t>(request.expected_value.size() + request.value.size());
  return request;
}

// What the server makes a value of is in the message.
bool MustBeEager(const Request& request) {
  return request.compares || verify::IsModification(request.operation) ||
         request.operation == Operation::kCommit;
}

}  // namespace

Error TooLargeToModify() { return Said(Code::kTooLarge, kTooLargeToModify); }

void SetLifetime(const Lifetime& ttl, Request* request) {
  request->ttl_seconds =
      static_cast<uint32_t>(std::min<int64_t>(ttl.duration().count(), UINT32_MAX));
  request->expiry = ttl.expiry();
}

Error ErrorOfStatus(Code status, uint64_t version) {
  switch (status) {
    case Code::kNotFound:
      return Said(status, "the key is absent");
    case Code::kExists:
      return Said(status, "the key is present already");
    case Code::kVersionMismatch:
      return Said(status, "the key has another version, or another value than the expected one");
    case Code::kNoSpace:
      if (version == verify::kHostIsFull) return Said(status, kHostIsFull);
      if (version == verify::kLogIsFull) return Said(status, kLogIsFull);
      return Said(status, "the server is full: start plovd with a larger --memory");
    case Code::kTooLarge:
      return Said(status, "the value is over the server's --max-value");
    case Code::kInvalidArgument:
      if (version == verify::kOneShardOnly) return Said(status, kOneShardOnly);
      return Said(status, "keys are 1 to 1024 bytes");
    case Code::kPermission:
      return Said(status, fabric::kMayNotWrite);
    case Code::kSystem:
      return Said(status, "the server cannot write its log: plovd's own log says why");
    case Code::kCorrupt:
      return Said(status, "stored bytes are damaged");
    case Code::kNotANumber:
      return Said(status, "the value is not the text of a number that can be incremented");
    case Code::kOutOfRange:
      if (version == verify::kBeyondEnd)
        return Said(status, "the slice goes beyond the vector's end");
      return Said(status, "the number would go beyond its limits: it is as it was");
    case Code::kWrongType:
      return Said(status, kWrongType);
    case Code::kUnknown:
      return Said(status, kOutcomeUnknown);
    case Code::kProtocol:
      return Said(status, "the server does not take this request: it may be of an older release");
    default:
      return Said(Code::kProtocol, "the server answered with an unexpected status");
  }
}

void WriteQueue::Add(const Write& write) {
  if (full()) return waiting_.push_back(write);
  if (entries_.empty()) entries_.resize(kWritesMax + 1);
  Admit(write);
}

void WriteQueue::Admit(const Write& write) { At(next_++) = {write, State::kQueued, false, -1}; }

// Puts a large value where the server can READ it. kNever: the entry has ended, for there is no
// such place on this connection.
WriteQueue::Staged WriteQueue::Stage(fabric::Connection* connection, Entry* entry,
                                     Request* request) {
  const auto free = std::ranges::find(staging_used_, false);
  if (free == staging_used_.end()) return Staged::kLater;
  const auto staging = connection->staging();
  if (!staging) {
    Refuse(entry, staging.error());
    return Staged::kNever;
  }
  const size_t half_bytes = staging->size() / 2 / verify::kWordBytes * verify::kWordBytes;
  if (request->value.size() > half_bytes) {
    Refuse(entry, {Code::kTooLarge, "the server takes values of " + std::to_string(half_bytes) +
                                        " bytes at most over this connection"});
    return Staged::kNever;
  }
  const auto half = static_cast<size_t>(free - staging_used_.begin());
  request->rendezvous = true;
  request->staging_offset = half * half_bytes;
  verify::CopyToShared(verify::WordsAt(staging->data(), request->staging_offset), 0,
                       request->value.data(), request->value.size());
  *free = true;
  entry->staging_half = static_cast<int8_t>(half);
  return Staged::kDone;
}

void WriteQueue::Unstage(Entry* entry) {
  if (entry->staging_half >= 0) staging_used_[static_cast<size_t>(entry->staging_half)] = false;
  entry->staging_half = -1;
}

// One message: as many eager writes as fit, or one large one.
bool WriteQueue::SendBatch(Link* link) {
  const size_t message_bytes = link->connection().limits().message_bytes_max;
  const size_t value_bytes_max = link->view().value_bytes_max;
  // Replies come in one message as well, and must fit it.
  const size_t count_max = (message_bytes - verify::kMessageHeaderBytes) / verify::kReplyHeadBytes;
  MessageWriter message = link->BeginMessage();
  bool refused = false;
  uint64_t end = next_unsent_;
  for (; end != next_ && message.count() < count_max; ++end) {
    Entry& entry = At(end);
    if (entry.state != State::kQueued) continue;
    Request request = RequestOf(entry.write, end);
    request.retry = entry.retry;
    const bool is_value = request.operation != Operation::kCommit;
    if (is_value && entry.write.value.size() > value_bytes_max) {
      Refuse(&entry, ErrorOfStatus(Code::kTooLarge));
      refused = true;
      continue;
    }
    const bool eager = request.value_bytes <= kEagerValueBytesMax &&
                       verify::kMessageHeaderBytes + verify::EncodedBytes(request) <= message_bytes;
    if (eager) {
      if (!message.Add(request)) break;
      continue;
    }
    if (MustBeEager(request)) {
      Refuse(&entry, TooLargeToModify());
      refused = true;
      continue;
    }
    if (message.count() > 0) break;
    const Staged staged = Stage(&link->connection(), &entry, &request);
    refused = refused || staged == Staged::kNever;
    if (staged == Staged::kNever) continue;
    if (staged == Staged::kLater) break;
    message.Add(request);
    ++end;
    break;
  }
  if (message.count() == 0) return refused;
  if (!link->Send(&message, oldest_)) {
    Unstage(&At(end - 1));
    return refused;
  }
  for (; next_unsent_ != end; ++next_unsent_) {
    if (At(next_unsent_).state == State::kQueued) At(next_unsent_).state = State::kSent;
  }
  return true;
}

bool WriteQueue::Flush(Link* link) {
  bool moved = false;
  for (; !waiting_.empty() && next_ - oldest_ < kWritesMax; waiting_.pop_front()) {
    Admit(waiting_.front());
    moved = true;
  }
  while (next_unsent_ != next_ && link->has_room() && SendBatch(link)) moved = true;
  return moved;
}

void WriteQueue::Advance() {
  while (oldest_ != next_ && At(oldest_).state == State::kFree) ++oldest_;
  next_unsent_ = std::max(next_unsent_, oldest_);
}

// The entry is free before the caller hears of it: `done` may add the next write.
void WriteQueue::Finish(Entry* entry, WriteResult result) {
  const Write write = entry->write;
  const bool told = entry->state == State::kOrphaned;
  Unstage(entry);
  entry->state = State::kFree;
  Advance();
  if (!told) {
    callbacks_->Run([&] { write.done(write.context, write.index, std::move(result)); });
  }
}

// Its caller is told now; the reply is still to come.
void WriteQueue::Orphan(Entry* entry, Error error) {
  const Write write = entry->write;
  entry->state = State::kOrphaned;
  callbacks_->Run(
      [&] { write.done(write.context, write.index, std::unexpected(std::move(error))); });
}

void WriteQueue::Refuse(Entry* entry, Error error) {
  if (entry->retry) error = ErrorOfStatus(Code::kUnknown);
  Finish(entry, std::unexpected(std::move(error)));
}

void WriteQueue::OnReply(const verify::Reply& reply) {
  if (reply.request_id < oldest_ || reply.request_id >= next_unsent_) return;
  Entry& entry = At(reply.request_id);
  if (entry.state != State::kSent && entry.state != State::kOrphaned) return;
  ++answered_;
  if (reply.status == Code::kOk) {
    Finish(&entry, Written{reply.version, static_cast<int64_t>(reply.number)});
  } else {
    Finish(&entry, std::unexpected(ErrorOfStatus(reply.status, reply.version)));
  }
}

void WriteQueue::Expire(Deadline now, const Error* down) {
  for (uint64_t sequence = oldest_; sequence != next_; ++sequence) {
    Entry& entry = At(sequence);
    if (entry.write.deadline > now) continue;
    if (entry.state == State::kQueued) {
      Refuse(&entry, WhyNotSent(down));
    } else if (entry.state == State::kSent && down != nullptr) {
      Finish(&entry, std::unexpected(ErrorOfStatus(Code::kUnknown)));
    } else if (entry.state == State::kSent) {
      Orphan(&entry, Said(Code::kTimeout, kNoAnswer));
    }
    if (sequence < oldest_) sequence = oldest_ - 1;  // Finish may have moved on
  }
  ExpireWaiting(now, down);
}

void WriteQueue::ExpireWaiting(Deadline now, const Error* down) {
  while (!waiting_.empty() && waiting_.front().deadline <= now) {
    const Write write = waiting_.front();
    waiting_.pop_front();
    Error error = WhyNotSent(down);
    callbacks_->Run(
        [&] { write.done(write.context, write.index, std::unexpected(std::move(error))); });
  }
}

Deadline WriteQueue::EarliestDeadline(Deadline otherwise) const {
  for (uint64_t sequence = oldest_; sequence != next_; ++sequence) {
    const Entry& entry = At(sequence);
    if (entry.state == State::kQueued || entry.state == State::kSent) {
      otherwise = std::min(otherwise, entry.write.deadline);
    }
  }
  if (!waiting_.empty()) otherwise = std::min(otherwise, waiting_.front().deadline);
  return otherwise;
}

uint64_t WriteQueue::Retry() {
  uint64_t retries = 0;
  staging_used_ = {};
  for (uint64_t sequence = oldest_; sequence != next_; ++sequence) {
    Entry& entry = At(sequence);
    entry.staging_half = -1;
    if (entry.state == State::kOrphaned) entry.state = State::kFree;
    if (entry.state != State::kSent) continue;
    entry.state = State::kQueued;
    entry.retry = true;
    ++retries;
  }
  next_unsent_ = oldest_;
  Advance();
  return retries;
}

void WriteQueue::AppendUnsent(std::deque<Write>* writes) const {
  for (uint64_t sequence = oldest_; sequence != next_; ++sequence) {
    const Entry& entry = At(sequence);
    if (entry.state == State::kQueued && !entry.retry) writes->push_back(entry.write);
  }
  writes->insert(writes->end(), waiting_.begin(), waiting_.end());
}

void WriteQueue::Close(std::string_view reason) {
  waiting_.clear();
  for (uint64_t sequence = oldest_; sequence != next_; ++sequence) {
    Entry& entry = At(sequence);
    if (entry.state == State::kQueued && !entry.retry) entry.state = State::kFree;
    if (entry.state == State::kFree) continue;
    Finish(&entry, Fail(Code::kUnknown, std::string(reason)));
    if (sequence < oldest_) sequence = oldest_ - 1;
  }
}

void WriteQueue::Cancel(const void* context) {
  for (uint64_t sequence = oldest_; sequence != next_; ++sequence) {
    Entry& entry = At(sequence);
    if (entry.write.context == context && entry.state == State::kQueued) {
      Finish(&entry, Fail(entry.retry ? Code::kUnknown : Code::kSystem, kNoMemoryLeft));
    } else if (entry.write.context == context && entry.state == State::kSent) {
      Orphan(&entry, {Code::kUnknown, kNoMemoryLeft});
    }
    if (sequence < oldest_) sequence = oldest_ - 1;
  }
  CancelWaiting(context);
}

void WriteQueue::CancelWaiting(const void* context) {
  for (size_t i = 0; i < waiting_.size();) {
    const Write write = waiting_[i];
    if (write.context != context) {
      ++i;
      continue;
    }
    waiting_.erase(waiting_.begin() + static_cast<ptrdiff_t>(i));
    callbacks_->Run([&] {
      write.done(write.context, write.index, std::unexpected(Error{Code::kSystem, kNoMemoryLeft}));
    });
  }
}

void WriteQueue::Forget(const void* context) {
  for (uint64_t sequence = oldest_; sequence != next_; ++sequence) {
    Entry& entry = At(sequence);
    if (entry.write.context == context) entry.write.done = [](void*, size_t, WriteResult) {};
  }
  std::erase_if(waiting_, [context](const Write& write) { return write.context == context; });
  Cancel(context);
}

}  // namespace plov
