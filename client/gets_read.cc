// Gets: how the bytes of lookups come, and what they mean.

#include <algorithm>
#include <cstring>

#include "client/gets.h"
#include "verify/record.h"
#include "verify/words.h"

namespace plov {

using cuckoo::Lookup;
using Action = cuckoo::Lookup::Action;

namespace {

// A value from here on is loaded straight into the caller's buffer; below, copying it is cheaper
// than checking bytes in two places.
constexpr size_t kSplitValueBytesMin = 512;

Error OutOfRange() { return {Code::kCorrupt, "the table points outside the server's memory"}; }

}  // namespace

bool Gets::Turn() {
  if (!peers_->loads()) return PostReads();
  const bool moved = many_ != nullptr && has_groups() && TurnGroup();
  return (!wanting_.all().empty() && TurnLoads()) || moved;
}

std::span<Get* const> Gets::Wanting::Next(size_t count_max) {
  if (next_ >= count_) next_ = 0;
  const auto batch = all().subspan(next_).first(std::min(count_max, count_ - next_));
  next_ += batch.size();
  return batch;
}

void Gets::Wanting::Sweep() {
  size_t kept = 0;
  for (Get* get : all()) {
    get->waits = get->state == Get::State::kWant;
    if (get->waits) all_[kept++] = get;
  }
  count_ = kept;
  next_ = 0;
}

// As far as loads take it: then it has ended, or goes the general way.
void Gets::GoAlone(Get* get) {
  PrefetchWays(*get);
  while (get->state == Get::State::kWant) {
    Load(get);
    if (!get->link->alive()) return;
    Step(get);
  }
}

// Copies what some of the lookups want, sees once that the copies are as good as READs, and feeds
// each lookup its copy.
bool Gets::TurnLoads() {
  if (many_ != nullptr) now_us_ = CoarseUs();
  auto batch = wanting_.Next(gets_.size() / 2);
  while (!Load(batch)) {
    wanting_.Sweep();
    batch = wanting_.Next(gets_.size() / 2);
  }
  if (batch.empty()) return false;
  if (!peers_->alive()) return false;
  for (Get* get : batch) Step(get);
  return true;
}

// False when one of them wants no READ.
bool Gets::Load(std::span<Get* const> batch) {
  for (Get* get : batch) {
    if (get->state != Get::State::kWant) return false;
    Load(get);
  }
  return true;
}

// Leaves an error where there is no room.
void Gets::Load(Get* get) {
  const std::byte* from = get->region + get->want().offset;
  if (get->want().record) {
    LoadRecord(get, from);
  } else {
    verify::CopyBucketFromShared(&get->bucket, from, get->want().bytes);
  }
}

void Gets::LoadRecord(Get* get, const std::byte* from) {
  const uint32_t bytes = get->want().bytes;
  const size_t head_bytes = verify::kRecordHeaderBytes + get->key.size();
  get->split_bytes = 0;
  if (get->into && !get->held && bytes >= head_bytes + kSplitValueBytesMin &&
      bytes - head_bytes <= get->into->size()) {
    get->split_bytes = bytes - head_bytes;
  }
  if (!Grow(&get->record, bytes - get->split_bytes)) {
    get->error = NoMemory();
  } else if (get->split_bytes == 0) {
    verify::CopySealedFromShared(get->record.data(), from, bytes);
  } else {
    verify::CopyFromSharedInTwo(get->record.data(), head_bytes, get->into->data(), from, bytes);
  }
}

// Posts what there is room for, and takes what has come.
bool Gets::PostReads() {
  now_us_ = CoarseUs();
  for (Get* get : wanting_.all()) {
    if (get->state != Get::State::kWant) continue;
    Link& link = *get->link;
    const Get::Range& want = get->want();
    if (want.record && !Grow(&get->record, want.bytes)) {
      Fail(get, NoMemory());
      continue;
    }
    std::optional<Reads::Id> id;
    if (!link.stale()) {
      id = link.reads().Add(want.offset, want.bytes, static_cast<Reads::Owner>(get - gets_.data()),
                            want.record ? &get->record : nullptr);
    }
    if (!id) continue;
    get->read = *id;
    get->state = Get::State::kReading;
  }
  wanting_.Sweep();
  bool moved = peers_->oath_links().Look();
  for (const Peers::Live& one : peers_->live()) {
    one.link->LookAtAge();
    moved = one.link->PostReads() || moved;
  }
  return Collect() || moved;
}

bool Gets::Collect() {
  bool moved = false;
  for (const Peers::Live& one : peers_->live()) {
    Link* link = one.link;
    moved = link->CollectReads(
                [this](Reads::Owner owner, fabric::Status status, ReadBuffer* memory) {
                  OnRead(&gets_[owner], status, memory);
                },
                [this, link](const Link::Refreshed& refreshed) { OnRefreshed(link, refreshed); }) ||
            moved;
    if (link->TakeAge()) OnAge(one);
  }
  if (!peers_->oath_links().Collect()) return moved;
  EndLooking();
  return true;
}

// A dead peer is handled by connecting anew: the lookup begins again there.
void Gets::OnRead(Get* get, fabric::Status status, ReadBuffer* memory) {
  get->state = Get::State::kWant;
  get->split_bytes = 0;
  if (get->want().record) {
    get->record.swap(*memory);
  } else {
    std::memcpy(get->bucket.words(), memory->data(), get->want().bytes);
  }
  if (status == fabric::Status::kPeerGone) return wanting_.Push(get);
  if (status == fabric::Status::kOutOfRange) return Fail(get, OutOfRange());
  Step(get);
}

// A key that is not at home is at one of two other places, which are known as well.
void Gets::PrefetchWays(const Get& get) {
  if (get.state != Get::State::kWant || get.want().record) return;
  const Link& link = *get.link;
  const cuckoo::Geometry& table = link.view().tables[0];
  for (const uint64_t index : cuckoo::WaysOf(get.lookup.hash(), table.bucket_count)) {
    verify::PrefetchLines(link.region().data() + table.BucketOffset(index), table.bucket_bytes);
  }
}

// The one place where bytes are fed to a lookup.
void Gets::Step(Get* get) {
  if (get->error.code != Code::kOk) return FailLoad(get);
  const Action action = Feed(get);
  if (action == Action::kHit) return EndFound(get, Get::State::kHit);
  if (action == Action::kRead) return Want(get);
  Act(get, action);
}

void Gets::FailLoad(Get* get) { Fail(get, std::move(get->error)); }

Action Gets::Feed(Get* get) {
  Action action;
  if (get->want().record) {
    if (get->held) return FeedHeld(get);
    const auto head = BytesOf(&get->record, get->want().bytes - get->split_bytes);
    const auto tail =
        get->split_bytes == 0 ? std::span<std::byte>() : get->into->first(get->split_bytes);
    action = get->lookup.FeedRecord(head, tail);
  } else {
    action = get->lookup.FeedBucket(&get->bucket);
  }
  if (action == Action::kPause) get->pause_us = get->lookup.pause_us();
  if (action != Action::kHit) return action;
  get->item = &get->lookup.item();
  return get->item->expiry == 0 ? Action::kHit : CheckExpiry(get);
}

// The server kept the record for us, unless we took longer than it waits: then once more.
Action Gets::FeedHeld(Get* get) {
  const auto bytes = BytesOf(&get->record, get->want().bytes);
  const auto item = verify::ParseRecord(bytes, get->link->view().record_seed);
  if (!item || item->version != get->held_version || item->key != get->key) {
    return StartAnew(get);
  }
  get->answer = *item;
  get->item = &get->answer;
  return Action::kHit;
}

// R7. The item was current at some instant between the lookup's begin and now. Certainly not
// expired now: a hit then. Certainly expired when the lookup began: absent then. Else it looks
// again, once the server's clock is certainly beyond the expiry.
Action Gets::CheckExpiry(Get* get) {
  Link& link = *get->link;
  if (IsCurrent(&link, get->item->expiry)) return Action::kHit;
  const uint64_t now_us = BootUs();
  const uint64_t expiry_us = uint64_t{get->item->expiry} * 1'000'000;
  const ServerClock::Bounds now = link.clock().At(now_us);
  if (get->begun_us != 0 && link.clock().At(get->begun_us).earliest_us >= expiry_us) {
    return Action::kAbsent;
  }
  get->begun_us = now_us;
  const Action action = StartAnew(get);
  if (now.earliest_us >= expiry_us || action != Action::kRead) return action;
  get->pause_us = static_cast<uint32_t>(expiry_us - now.earliest_us) + 1;
  get->begun_us = now_us + get->pause_us;
  return Action::kPause;
}

}  // namespace plov
