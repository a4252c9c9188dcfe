// Engine: lookups in flight.

#include <time.h>

#include <algorithm>
#include <cstring>
#include <thread>

#include "client/engine.h"
#include "fabric/random.h"
#include "verify/record.h"

namespace plov {

using cuckoo::Lookup;
using verify::Keep;
using verify::Safeguard;
using Action = cuckoo::Lookup::Action;

namespace {

// A value from here on is READ straight into the caller's buffer; below, copying it is cheaper than
// checking bytes in two places.
constexpr size_t kSplitValueBytesMin = 512;
// A slot that grew beyond this gives its memory back when its lookup ends.
constexpr size_t kRecordWordsKept = (size_t{1} << 20) / verify::kWordBytes;
constexpr size_t kRecordWordsAtFirst = 512;

uint64_t ClockUs(clockid_t clock) {
  timespec now;
  ::clock_gettime(clock, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1'000'000 + static_cast<uint64_t>(now.tv_nsec) / 1000;
}

// What verifying in place, in memory that a writer shares, would come to: the bytes that are used
// are not those that were verified.
void ReadAgain(fabric::Connection* connection, const fabric::ReadOp& op) {
  if (connection->Read({&op, 1}) != 1) return;
  fabric::Completion completion;
  while (connection->Poll({&completion, 1}) == 0) {
  }
}

}  // namespace

bool IsExpired(uint32_t expiry, const cuckoo::ShardView& view, uint64_t now_us) {
  const uint64_t unix_us = now_us + static_cast<uint64_t>(view.clock_offset_us);
  return expiry != 0 && expiry <= unix_us / 1'000'000;
}

uint64_t MonotonicUs() { return ClockUs(CLOCK_MONOTONIC); }
uint64_t CoarseMonotonicUs() { return ClockUs(CLOCK_MONOTONIC_COARSE); }

void Engine::Begin(Slot* slot, std::string_view key, Deadline deadline, const GetSink& sink) {
  slot->key = key;
  slot->has_into = false;
  slot->deadline = deadline;
  slot->sink = sink;
  slot->refreshes = 0;
  ++busy_slots_;
  ++stats_.gets;
}

Action Engine::StartLookup(Slot* slot) {
  return StartLookupAt(slot, cuckoo::HashKey(slot->key, hash_seed_), CoarseMonotonicUs());
}

Action Engine::StartLookupAt(Slot* slot, uint64_t hash, uint64_t now_us) {
  slot->started_us = now_us;
  slot->shard = cuckoo::ShardOf(hash, static_cast<uint32_t>(links_.size()));
  if (slot->record.empty()) slot->record.resize(kRecordWordsAtFirst);
  return slot->lookup.Start({&links_[slot->shard]->view, &cache_, &lookup_stats_, &MonotonicUs},
                            slot->key, hash, now_us);
}

void Engine::RestartSlots() {
  for (Slot& slot : slots_) {
    if (slot.state == Slot::State::kDrained) slot.state = Slot::State::kFree;
    if (slot.state != Slot::State::kFree) Advance(&slot, StartLookup(&slot));
  }
}

void Engine::Advance(Slot* slot, Action action) {
  switch (action) {
    case Action::kRead:
      slot->state = Slot::State::kWant;
      return;
    case Action::kPause:
      slot->state = Slot::State::kPaused;
      slot->resume_us = MonotonicUs() + slot->lookup.pause_us();
      return;
    case Action::kHit:
      return Finish(slot, Deliver(slot, slot->lookup.item()));
    case Action::kAbsent:
      return Finish(slot, std::nullopt);
    case Action::kAskServer:
      slot->state = Slot::State::kAsk;
      ++stats_.fallbacks;
      return;
    case Action::kRefresh:
      slot->state = Slot::State::kStale;
      return MarkStale(slot->shard);
  }
}

fabric::ReadOp Engine::OpOf(Slot* slot) {
  fabric::ReadOp op;
  op.tag = static_cast<uint64_t>(slot - slots_.data());
  slot->split_bytes = 0;
  if (slot->state == Slot::State::kHeld) {
    op.offset = slot->held_offset;
    op.bytes = slot->held_bytes;
  } else {
    op.offset = slot->lookup.want().offset;
    op.bytes = slot->lookup.want().bytes;
    if (!slot->lookup.want().record) {
      op.head_bytes = op.bytes;
      op.head = std::as_writable_bytes(std::span(slot->bucket.words(), 1)).data();
      return op;
    }
    const size_t head_bytes = verify::kRecordHeaderBytes + slot->key.size();
    if (slot->has_into && op.bytes >= head_bytes + kSplitValueBytesMin &&
        op.bytes - head_bytes <= slot->into.size()) {
      slot->split_bytes = op.bytes - head_bytes;
      op.tail = slot->into.data();
    }
  }
  op.head_bytes = op.bytes - static_cast<uint32_t>(slot->split_bytes);
  const size_t words = verify::RoundUpToWord(op.head_bytes) / verify::kWordBytes;
  if (slot->record.size() < words) slot->record.resize(words);
  op.head = std::as_writable_bytes(std::span(slot->record)).data();
  return op;
}

void Engine::RestBeforeReads(size_t count) {
  const auto longest = static_cast<uint64_t>(options_.read_pause.count());
  uint64_t us = 0;
  for (; count > 0; --count) us += longest - fabric::RandomId() % (longest / 2 + 1);
  std::this_thread::sleep_for(std::chrono::microseconds(us));
}

Action Engine::Feed(Slot* slot) {
  const auto judge = [this, slot](Action action) {
    if (action != Action::kHit) return action;
    Link& link = *links_[slot->shard];
    if (!Keep(Safeguard::kPrivateCopy) && link.reads_in_flight == 0) {
      ReadAgain(link.connection.get(), OpOf(slot));
    }
    return JudgeExpiry(slot);
  };
  const Lookup::Want& want = slot->lookup.want();
  if (!want.record) return judge(slot->lookup.FeedBucket(slot->bucket));
  const auto head = std::as_bytes(std::span(slot->record)).first(want.bytes - slot->split_bytes);
  return judge(slot->lookup.FeedRecord(head, slot->into.first(slot->split_bytes)));
}

// R7. The item was current at some instant between started_us and now: not expired now, it was a
// hit then; expired at started_us already, it was absent then; in between, who knows: look again.
Action Engine::JudgeExpiry(Slot* slot) {
  const uint32_t expiry = slot->lookup.item().expiry;
  if (expiry == 0 || !Keep(Safeguard::kExpiryJudged)) return Action::kHit;
  const cuckoo::ShardView& view = links_[slot->shard]->view;
  const uint64_t now_us = MonotonicUs();
  if (!IsExpired(expiry, view, now_us)) return Action::kHit;
  if (IsExpired(expiry, view, slot->started_us)) return Action::kAbsent;
  return StartLookupAt(slot, slot->lookup.hash(), now_us);
}

Client::GetResult Engine::Deliver(Slot* slot, const verify::ItemView& item) {
  ++stats_.hits;
  Item result{item.value, item.version, item.flags, item.expiry};
  if (!slot->has_into) return result;
  if (item.value.size() > slot->into.size()) {
    return Fail(Code::kBufferTooSmall, "the value has " + std::to_string(item.value.size()) +
                                           " bytes, the buffer " +
                                           std::to_string(slot->into.size()));
  }
  if (slot->split_bytes == 0 && !item.value.empty()) {
    std::memcpy(slot->into.data(), item.value.data(), item.value.size());
  }
  const auto filled = slot->into.first(item.value.size());
  result.value = {static_cast<const char*>(static_cast<const void*>(filled.data())), filled.size()};
  return result;
}

void Engine::Finish(Slot* slot, Client::GetResult result) {
  const bool reading =
      slot->state == Slot::State::kReading || slot->state == Slot::State::kHeldReading;
  const GetSink sink = slot->sink;
  // Busy until the callback has seen the value's bytes.
  slot->state = Slot::State::kDrained;
  sink.done(sink.context, sink.index, std::move(result));
  --busy_slots_;
  if (reading && links_[slot->shard]->connection->alive()) return;
  slot->state = Slot::State::kFree;
  if (slot != slots_.data() && slot->record.size() > kRecordWordsKept) {
    slot->record = std::vector<uint64_t>(kRecordWordsAtFirst);
  }
}

Engine::Slot* Engine::FreeSlot() {
  // Slot 0 is the blocking Get's.
  const auto it = std::find_if(slots_.begin() + 1, slots_.end(),
                               [](const Slot& slot) { return slot.state == Slot::State::kFree; });
  return it == slots_.end() ? nullptr : &*it;
}

bool Engine::PostReads() {
  for (Slot& slot : busy_slots_ > 0 ? std::span(slots_) : std::span<Slot>()) {
    if (slot.state != Slot::State::kWant && slot.state != Slot::State::kHeld) continue;
    if (!links_[slot.shard]->stale) links_[slot.shard]->reads.push_back(OpOf(&slot));
  }
  bool posted = false;
  for (const auto& link : links_) {
    // A view changes only while no READ by the former one is under way.
    const bool drained = link->reads_in_flight == 0 || !Keep(Safeguard::kReadsEndFirst);
    if (link->stale && drained) posted = PostRefresh(link.get()) || posted;
    if (link->reads.empty()) continue;
    if (options_.read_pause.count() > 0) RestBeforeReads(link->reads.size());
    const size_t count = link->connection->Read(link->reads);
    link->reads_in_flight += static_cast<uint32_t>(count);
    for (const fabric::ReadOp& op : std::span(link->reads).first(count)) {
      Slot& slot = slots_[op.tag];
      slot.state =
          slot.state == Slot::State::kHeld ? Slot::State::kHeldReading : Slot::State::kReading;
    }
    link->reads.clear();
    posted = posted || count > 0;
  }
  return posted;
}

bool Engine::CollectReads() {
  std::array<fabric::Completion, 64> completions;
  bool collected = false;
  for (uint32_t shard = 0; shard < shard_count(); ++shard) {
    Link& link = *links_[shard];
    const size_t count = link.connection->Poll(completions);
    link.reads_in_flight -= static_cast<uint32_t>(count);
    for (const fabric::Completion& completion : std::span(completions).first(count)) {
      if (completion.tag == kSuperblockTag) {
        OnSuperblock(shard, completion.status);
      } else {
        OnRead(&slots_[completion.tag], completion.status);
      }
    }
    collected = collected || count > 0;
  }
  return collected;
}

void Engine::OnRead(Slot* slot, fabric::Status status) {
  if (slot->state == Slot::State::kDrained) {
    slot->state = Slot::State::kFree;
    return;
  }
  // A dead peer is handled by Pump: the lookup begins again on the next connection.
  const bool held = slot->state == Slot::State::kHeldReading;
  slot->state = held ? Slot::State::kHeld : Slot::State::kWant;
  if (status == fabric::Status::kPeerGone) return;
  if (status == fabric::Status::kOutOfRange) {
    ++stats_.corrupt;
    return Finish(slot, Fail(Code::kCorrupt, "the table points outside the server's memory"));
  }
  if (held) return OnHeldRecord(slot);
  Advance(slot, Feed(slot));
}

bool Engine::Ask(Slot* slot) {
  verify::Request request;
  request.operation = verify::Operation::kGet;
  request.suspect = slot->lookup.suspect();
  request.key = slot->key;
  request.request_id = ++next_control_id_;
  if (!SendControl(links_[slot->shard].get(), request)) return false;
  slot->ask_id = request.request_id;
  slot->state = Slot::State::kAsked;
  return true;
}

void Engine::OnAnswer(Slot* slot, const verify::Reply& reply) {
  if (reply.status == Code::kNotFound) return Finish(slot, std::nullopt);
  if (reply.status != Code::kOk) {
    if (reply.status == Code::kCorrupt) ++stats_.corrupt;
    return Finish(slot, std::unexpected(ErrorOfStatus(reply.status)));
  }
  if (reply.held) {
    slot->held_offset = reply.record_offset;
    slot->held_bytes = reply.record_bytes;
    slot->held_version = reply.version;
    slot->state = Slot::State::kHeld;
    if (reply.record_bytes < verify::kRecordHeaderBytes ||
        reply.record_bytes > verify::kRecordBytesMax) {
      Finish(slot, Fail(Code::kProtocol, "the server answered with an impossible record"));
    }
    return;
  }
  const size_t words = verify::RoundUpToWord(reply.value.size()) / verify::kWordBytes;
  if (slot->record.size() < words) slot->record.resize(words);
  slot->split_bytes = 0;
  auto* to = static_cast<char*>(static_cast<void*>(slot->record.data()));
  if (!reply.value.empty()) std::memcpy(to, reply.value.data(), reply.value.size());
  const verify::ItemView item{
      slot->key, {to, reply.value.size()}, reply.version, reply.flags, reply.expiry};
  Finish(slot, Deliver(slot, item));
}

// The server kept the record for us, unless we took longer than its patience: then once more.
void Engine::OnHeldRecord(Slot* slot) {
  const auto bytes = std::as_bytes(std::span(slot->record)).first(slot->held_bytes);
  const auto item = verify::ParseRecord(bytes, links_[slot->shard]->view.record_seed);
  if (!item || item->version != slot->held_version || item->key != slot->key) {
    return Advance(slot, StartLookup(slot));
  }
  Finish(slot, Deliver(slot, *item));
}

bool Engine::StepSlots() {
  if (busy_slots_ == 0) return false;
  bool moved = false;
  for (Slot& slot : slots_) {
    if (slot.state == Slot::State::kPaused && MonotonicUs() >= slot.resume_us) {
      slot.state = Slot::State::kWant;
      moved = true;
    } else if (slot.state == Slot::State::kAsk) {
      moved = Ask(&slot) || moved;
    }
  }
  return moved;
}

void Engine::ExpireSlots(Deadline now) {
  for (Slot& slot : slots_) {
    if (slot.state == Slot::State::kFree || slot.state == Slot::State::kDrained) continue;
    if (slot.deadline > now) continue;
    if (!alive()) {
      Finish(&slot, std::unexpected(down_));
    } else {
      Finish(&slot, Fail(Code::kTimeout,
                         "the value did not verify within the deadline and the server does not "
                         "answer"));
    }
  }
}

}  // namespace plov
