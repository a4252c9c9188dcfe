#include "client/write_queue.h"

#include <algorithm>
#include <cassert>

#include "verify/record.h"
#include "verify/words.h"

namespace plov {

using verify::Keep;
using verify::MessageWriter;
using verify::Operation;
using verify::Request;
using verify::Safeguard;

namespace {

constexpr auto kOutcomeUnknown =
    "the server died or restarted with this write under way: whether it was applied cannot be told";

}  // namespace

Error ErrorOfStatus(Code status) {
  switch (status) {
    case Code::kNotFound:
      return {status, "the key is absent"};
    case Code::kExists:
      return {status, "the key is present already"};
    case Code::kVersionMismatch:
      return {status, "the key has another version"};
    case Code::kNoSpace:
      return {status, "the server is full: start plovd with a larger --memory"};
    case Code::kTooLarge:
      return {status, "the value is over the server's --max-value"};
    case Code::kInvalidArgument:
      return {status, "keys are 1 to 1024 bytes"};
    case Code::kCorrupt:
      return {status, "stored bytes are damaged"};
    case Code::kUnknown:
      return {status, kOutcomeUnknown};
    default:
      return {Code::kProtocol, "the server answered with an unexpected status"};
  }
}

void WriteQueue::Add(const Write& write) {
  assert(!full());
  At(next_++) = {write, State::kQueued, false, -1};
}

Request WriteQueue::RequestOf(const Entry& entry, uint64_t sequence) const {
  const Write& write = entry.write;
  Request request;
  request.operation = write.operation;
  request.retry = entry.retry;
  request.conditional = write.conditional;
  request.value_bytes = static_cast<uint32_t>(write.value.size());
  request.flags = write.flags;
  request.expiry = write.expiry;
  request.request_id = sequence;
  request.sequence = sequence;
  request.expected_version = write.expected_version;
  request.key = write.key;
  request.value = write.value;
  return request;
}

// Puts a large value where the server can READ it; false while both halves are taken.
bool WriteQueue::Stage(fabric::Connection* connection, Entry* entry, Request* request) {
  const auto free = std::ranges::find(staging_used_, false);
  if (free == staging_used_.end()) return false;
  const auto half = static_cast<size_t>(free - staging_used_.begin());
  const auto staging = connection->staging();
  request->rendezvous = true;
  request->staging_offset = half * (staging.size() / 2);
  verify::CopyToShared(verify::WordsAt(staging.data(), request->staging_offset), 0,
                       request->value.data(), request->value.size());
  *free = true;
  entry->staging_half = static_cast<int8_t>(half);
  return true;
}

void WriteQueue::Unstage(Entry* entry) {
  if (entry->staging_half >= 0) staging_used_[static_cast<size_t>(entry->staging_half)] = false;
  entry->staging_half = -1;
}

// One message: as many eager writes as fit, or one large one.
bool WriteQueue::SendBatch(fabric::Connection* connection, std::span<std::byte> scratch) {
  const size_t message_bytes = connection->limits().message_bytes_max;
  MessageWriter message(scratch.first(message_bytes), client_id_);
  uint64_t end = next_unsent_;
  // Replies come in one message as well, and must fit it.
  const size_t count_max = (message_bytes - verify::kMessageHeaderBytes) / verify::kReplyHeadBytes;
  for (; end != next_ && message.count() < count_max; ++end) {
    Entry& entry = At(end);
    if (entry.state != State::kQueued) continue;
    Request request = RequestOf(entry, end);
    const bool eager = request.value.size() <= kEagerValueBytesMax &&
                       verify::kMessageHeaderBytes + verify::EncodedBytes(request) <= message_bytes;
    if (eager) {
      if (!message.Add(request)) break;
      continue;
    }
    if (message.count() > 0 || !Stage(connection, &entry, &request)) break;
    message.Add(request);
    ++end;
    break;
  }
  if (message.count() == 0) return false;
  if (!connection->Send(message.Finish(oldest_))) {
    Unstage(&At(end - 1));
    return false;
  }
  for (; next_unsent_ != end; ++next_unsent_) {
    if (At(next_unsent_).state == State::kQueued) At(next_unsent_).state = State::kSent;
  }
  return true;
}

bool WriteQueue::Flush(fabric::Connection* connection, std::span<std::byte> scratch,
                       uint32_t* in_flight) {
  bool sent = false;
  while (next_unsent_ != next_ && *in_flight < kMessagesInFlightMax &&
         SendBatch(connection, scratch)) {
    ++*in_flight;
    sent = true;
  }
  return sent;
}

void WriteQueue::Advance() {
  while (oldest_ != next_ && At(oldest_).state == State::kFree) ++oldest_;
  next_unsent_ = std::max(next_unsent_, oldest_);
}

// The entry is free before the caller hears of it: `done` may add the next write.
void WriteQueue::Finish(Entry* entry, Client::PutResult result) {
  const Write write = entry->write;
  const bool told = entry->state == State::kOrphaned;
  Unstage(entry);
  entry->state = State::kFree;
  Advance();
  if (!told) write.done(write.context, write.index, std::move(result));
}

void WriteQueue::OnReply(const verify::Reply& reply) {
  if (reply.request_id < oldest_ || reply.request_id >= next_unsent_) return;
  Entry& entry = At(reply.request_id);
  if (entry.state != State::kSent && entry.state != State::kOrphaned) return;
  if (reply.status == Code::kOk) {
    Finish(&entry, reply.version);
  } else {
    Finish(&entry, std::unexpected(ErrorOfStatus(reply.status)));
  }
}

void WriteQueue::Expire(fabric::Deadline now, bool connected, const Error& down) {
  for (uint64_t sequence = oldest_; sequence != next_; ++sequence) {
    Entry& entry = At(sequence);
    if (entry.write.deadline > now) continue;
    if (entry.state == State::kQueued) {
      const bool was_sent = entry.retry;
      if (was_sent) {
        Finish(&entry, Fail(Code::kUnknown, kOutcomeUnknown));
      } else if (connected) {
        Finish(&entry,
               Fail(Code::kTimeout, "the server takes no requests (stopped or overloaded)"));
      } else {
        Finish(&entry, std::unexpected(down));
      }
    } else if (entry.state == State::kSent && !connected) {
      Finish(&entry, Fail(Code::kUnknown, kOutcomeUnknown));
    } else if (entry.state == State::kSent) {
      const Write write = entry.write;
      entry.state = State::kOrphaned;
      write.done(write.context, write.index,
                 Fail(Code::kTimeout,
                      "no answer within the deadline: the write may have been applied, or may be "
                      "yet"));
    }
    if (sequence < oldest_) sequence = oldest_ - 1;  // Finish may have moved on
  }
}

fabric::Deadline WriteQueue::EarliestDeadline(fabric::Deadline otherwise) const {
  for (uint64_t sequence = oldest_; sequence != next_; ++sequence) {
    const Entry& entry = At(sequence);
    if (entry.state == State::kQueued || entry.state == State::kSent) {
      otherwise = std::min(otherwise, entry.write.deadline);
    }
  }
  return otherwise;
}

size_t WriteQueue::waiting() const {
  size_t count = 0;
  for (uint64_t sequence = oldest_; sequence != next_; ++sequence) {
    const State state = At(sequence).state;
    count += state == State::kQueued || state == State::kSent;
  }
  return count;
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
    entry.retry = Keep(Safeguard::kRetryMarked);
    ++retries;
  }
  next_unsent_ = oldest_;
  Advance();
  return retries;
}

void WriteQueue::Forsake(std::vector<Write>* unsent) {
  staging_used_ = {};
  for (uint64_t sequence = oldest_; sequence != next_; ++sequence) {
    Entry& entry = At(sequence);
    entry.staging_half = -1;
    if (entry.state == State::kQueued && !entry.retry) {
      unsent->push_back(entry.write);
      entry.state = State::kFree;
    }
  }
  for (uint64_t sequence = oldest_; sequence != next_; ++sequence) {
    Entry& entry = At(sequence);
    if (entry.state != State::kFree) {
      Finish(&entry, Fail(Code::kUnknown, kOutcomeUnknown));
    }
    if (sequence < oldest_) sequence = oldest_ - 1;
  }
  next_unsent_ = next_;
  Advance();
}

}  // namespace plov
