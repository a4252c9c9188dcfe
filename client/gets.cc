#include "client/gets.h"

#include <time.h>

#include <algorithm>
#include <cstring>

#include "verify/record.h"
#include "verify/words.h"

namespace plov {

using cuckoo::Lookup;
using Action = cuckoo::Lookup::Action;

namespace {

// A place whose record grew beyond this gives the memory back when it is free.
constexpr size_t kRecordWordsKept = (size_t{1} << 20) / verify::kWordBytes;
// Superblocks that one GET waits for: each is for a table that grew since the one before.
constexpr uint32_t kRefreshesMax = 8;

uint64_t ClockUs(clockid_t clock) {
  timespec now;
  ::clock_gettime(clock, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1'000'000 + static_cast<uint64_t>(now.tv_nsec) / 1000;
}

}  // namespace

uint64_t MonotonicUs() { return ClockUs(CLOCK_MONOTONIC); }
uint64_t CoarseUs() { return ClockUs(CLOCK_MONOTONIC_COARSE); }

bool KeyIsGood(std::string_view key) { return !key.empty() && key.size() <= verify::kKeyBytesMax; }

Error BadKey() { return {Code::kInvalidArgument, "keys are 1 to 1024 bytes"}; }
Error NoMemory() { return {Code::kSystem, "memory ran out"}; }

Gets::Gets(uint32_t window, Callbacks* callbacks)
    : callbacks_(callbacks), gets_(size_t{window} + 1) {
  for (size_t i = gets_.size() - 1; i > 0; --i) free_.push_back(&gets_[i]);
}

void Gets::Place(Get* get, std::string_view key, Deadline deadline) {
  get->key = key;
  get->deadline = deadline;
  get->refreshes = 0;
  get->begun_us = 0;
  get->refused = Get::kNotRefused;
  get->error.code = Code::kOk;
  get->evidence.is_known = false;
  ++begun_;
}

// A lookup that begins, or begins again.
Action Gets::Start(Get* get, const GetShard& shard, uint64_t hash) {
  get->held = false;
  get->link = shard.link;
  get->region = shard.region;
  if (!shard.link->oaths().none()) BeginLook(get);
  return get->lookup.Start(&shard.context, get->key, hash, now_us_);
}

// On the same link.
Action Gets::StartAnew(Get* get) {
  const uint64_t hash = get->lookup.hash();
  return Start(get, shards_[peers_->ShardOf(hash)], hash);
}

// It may have paused until an item has certainly expired: its READs begin before that now.
void Gets::Restart(Get* get) {
  now_us_ = CoarseUs();
  get->begun_us = 0;
  const uint64_t hash = peers_->HashOf(get->key);
  BeginAt(get, shards_[peers_->ShardOf(hash)], hash);
}

void Gets::BeginAt(Get* get, const GetShard& shard, uint64_t hash) {
  if (!MayBegin(shard, BeginUs())) return Park(get, shard);
  Act(get, Start(get, shard, hash));
}

Get* Gets::Begin(std::string_view key, std::optional<std::span<std::byte>> into) {
  Get* get = gets_.data();
  ++busy_;
  Place(get, key, Deadline::max());
  get->into = into;
  if (!KeyIsGood(key)) {
    Fail(get, BadKey());
    return get;
  }
  Restart(get);
  return get;
}

void Gets::EndLone() {
  Get* get = gets_.data();
  LeaveServer(get);
  get->state = Get::State::kFree;
  --busy_;
}

void Gets::BeginMany(Many* many) {
  many_ = many;
  ForgetAhead();
  many->left = many->keys.size();
  now_us_ = CoarseUs();
}

// Whoever is left is told nothing.
void Gets::EndMany() {
  for (Get& get : gets_) {
    if (!get.of_many || get.state == Get::State::kFree) continue;
    LeaveServer(&get);
    Free(&get);
  }
  std::erase_if(queued_, [](const QueuedGet& queued) { return queued.of_many; });
  parked_.RemoveMany([](const QueuedGet&) {});
  many_ = nullptr;
}

void Gets::FailMany(const Error& error) {
  many_->stopped = true;
  for (Get& get : gets_) {
    if (get.of_many && get.state != Get::State::kFree && !get.ended()) Fail(&get, error);
  }
  FailWaiting(error);
  for (; many_->next < many_->keys.size(); ++many_->next) {
    --many_->left;
    callbacks_->Run([&] { many_->done(many_->context, many_->next, std::unexpected(error)); });
  }
}

void Gets::HashAhead() {
  const auto keys = many_->keys;
  size_t at = hashed_;
  for (const size_t end = std::min(at + kKeysAhead, keys.size()); at < end; ++at) {
    const size_t later = at + kKeysAhead;
    if (later < keys.size()) verify::Prefetch(keys[later].data());
    const uint64_t hash = peers_->HashOf(keys[at]);
    const GetShard* shard = &shards_[peers_->ShardOf(hash)];
    hashed_keys_[at % hashed_keys_.size()] = {hash, shard};
    shard->context.cache->Prefetch(hash);
  }
  hashed_ = at;
}

void Gets::RefuseKey(size_t index) {
  ++begun_;
  --many_->left;
  Tell(index, [] { return std::unexpected(BadKey()); });
}

// Gives the place to the next key, if there is one; false when it stays free.
bool Gets::BeginNext(Get* get) {
  if (many_ == nullptr || many_->stopped || callbacks_->failed()) return false;
  const auto keys = many_->keys;
  while (many_->next < keys.size()) {
    if (hashed_ < many_->next + kKeysAhead) HashAhead();
    const size_t index = many_->next++;
    if (!KeyIsGood(keys[index])) {
      RefuseKey(index);
      continue;
    }
    const auto [hash, shard] = hashed_keys_[index % hashed_keys_.size()];
    if (!MayBegin(*shard, BeginUs())) {
      ParkKey(*shard, index);
      continue;
    }
    Place(get, keys[index], many_->deadline);
    get->sink.index = index;
    get->of_many = true;
    const Action action = Start(get, *shard, hash);
    if (action == Action::kRead) {
      Want(get);
    } else {
      Act(get, action);
    }
    return true;
  }
  return false;
}

void Gets::Queue(std::string_view key, Deadline deadline, const GetSink& sink) {
  queued_.push_back({key, sink, deadline, false});
}

bool Gets::BeginKeys() {
  bool moved = false;
  while (!free_.empty() && BeginNext(free_.back())) {
    free_.pop_back();
    ++busy_;
    moved = true;
  }
  return moved;
}

bool Gets::StartQueued() {
  bool moved = !has_groups() && BeginKeys();
  while (!free_.empty() && !queued_.empty()) {
    Get* get = free_.back();
    free_.pop_back();
    ++busy_;
    const QueuedGet next = queued_.front();
    queued_.pop_front();
    Place(get, next.key, next.deadline);
    get->sink = next.sink;
    get->of_many = next.of_many;
    get->refused = next.refused;
    if (KeyIsGood(get->key)) {
      Restart(get);
    } else {
      Fail(get, BadKey());
    }
    moved = true;
  }
  return moved;
}

bool Gets::Tend() {
  bool moved = StartQueued();
  if (busy_ == 0) return moved;
  for (Get& get : gets_) {
    if (get.state == Get::State::kPaused && fabric::Clock::now() >= get.resume_at) {
      Act(&get, Action::kRead);
      moved = true;
    } else if (get.state == Get::State::kAsk) {
      moved = Ask(&get) || moved;
    }
  }
  return moved;
}

void Gets::Want(Get* get) {
  const Get::Range& want = get->want();
  if (get->region != nullptr) verify::PrefetchLines(get->region + want.offset, want.bytes);
  get->state = Get::State::kWant;
  wanting_.Push(get);
}

void Gets::Act(Get* get, Action action) {
  switch (action) {
    case Action::kRead:
      return Want(get);
    case Action::kPause:
      get->state = Get::State::kPaused;
      get->resume_at = fabric::Clock::now() + std::chrono::microseconds(get->pause_us);
      return;
    case Action::kHit:
      return EndFound(get, Get::State::kHit);
    case Action::kAbsent:
      return EndFound(get, Get::State::kAbsent);
    case Action::kAskServer:
      get->state = Get::State::kAsk;
      ++asked_;
      return;
    case Action::kRefresh:
      get->state = Get::State::kStale;
      return get->link->MarkStale();
  }
}

bool Gets::Ask(Get* get) {
  Link& link = *get->link;
  verify::Request request;
  request.operation = verify::Operation::kGet;
  request.suspect = get->lookup.suspect();
  request.key = get->key;
  request.request_id = link.NextControlId();
  // Before it is sent: the record may be held when the next message goes.
  if (!get->holds) link.Hold();
  get->holds = true;
  if (!link.SendControl(request)) return false;
  get->ask_id = request.request_id;
  get->state = Get::State::kAsked;
  return true;
}

void Gets::OnAnswer(const Link* link, const verify::Reply& reply) {
  const auto asked = std::ranges::find_if(gets_, [&](const Get& get) {
    return get.state == Get::State::kAsked && get.link == link && get.ask_id == reply.request_id;
  });
  if (asked == gets_.end()) return;
  Get* get = &*asked;
  get->evidence = {.is_known = reply.version != 0,
                   .is_there = reply.status == Code::kOk,
                   .incarnation = get->link->view().incarnation,
                   .version = reply.version};
  if (reply.status == Code::kNotFound) return End(get, Get::State::kAbsent);
  if (reply.status != Code::kOk) {
    if (reply.status == Code::kCorrupt) ++corrupt_;
    return Fail(get, ErrorOfStatus(reply.status));
  }
  if (reply.held) {
    if (reply.record_bytes < verify::kRecordHeaderBytes ||
        reply.record_bytes > verify::kRecordBytesMax ||
        !verify::WordsInside(reply.record_offset, reply.record_bytes,
                             get->link->view().region_bytes)) {
      return Fail(get, {Code::kProtocol, "the server answered with an impossible record"});
    }
    get->held = true;
    get->held_version = reply.version;
    get->held_want = {reply.record_offset, reply.record_bytes, true};
    return Want(get);
  }
  if (!Grow(&get->record, reply.value.size())) return Fail(get, NoMemory());
  auto* to = static_cast<char*>(static_cast<void*>(get->record.data()));
  if (!reply.value.empty()) std::memcpy(to, reply.value.data(), reply.value.size());
  get->split_bytes = 0;
  get->answer = {get->key, {to, reply.value.size()}, reply.version, reply.flags, reply.expiry};
  get->item = &get->answer;
  End(get, Get::State::kHit);
}

// A lookup that waited begins again under the new view. It asks the server when the superblock is
// the same as before, or never whole. An honest server causes the first never: it publishes the
// superblock that lists the next table before it sets `forward`, and the one that does not list a
// table before that is `retired`; the superblock was READ after the bucket was seen, so it is at
// least that new (plov(7), A3 and A4), while the one we had is older.
void Gets::OnRefreshed(const Link* link, const Link::Refreshed& refreshed) {
  const bool changed = refreshed && *refreshed;
  if (changed) ForgetAhead();
  for (Get& get : gets_) {
    const bool stale = get.state == Get::State::kStale;
    // What the server was asked does not depend on tables, nor does a record that it holds.
    const bool reads = changed && !get.held &&
                       (get.state == Get::State::kWant || get.state == Get::State::kPaused);
    if ((!stale && !reads) || get.link != link) continue;
    if (reads) {
      Restart(&get);
    } else if (!refreshed) {
      Fail(&get, refreshed.error());
    } else if (!changed || ++get.refreshes > kRefreshesMax) {
      Act(&get, Action::kAskServer);
    } else {
      Restart(&get);
    }
  }
}

void Gets::LeaveServer(Get* get) {
  if (get->state == Get::State::kReading) get->link->reads().Abandon(get->read);
  if (get->holds) get->link->Release();
  get->holds = false;
}

void Gets::Free(Get* get) {
  get->state = Get::State::kFree;
  if (get->record.size() > kRecordWordsKept) get->record = {};
  free_.push_back(get);
  --busy_;
}

void Gets::Fail(Get* get, Error error) {
  get->error = std::move(error);
  End(get, Get::State::kFailed);
}

void Gets::EndFound(Get* get, Get::State state) {
  if (get->of_many && !many_->evidence.empty()) Witness(get, state);
  if (get->link->oaths().none()) return End(get, state);
  EndIfOathsStand(get, state);
}

// By READs.
void Gets::Witness(Get* get, Get::State state) {
  const cuckoo::Lookup::Absence& absence = get->lookup.absence();
  const bool by_home = state == Get::State::kAbsent && absence.generation != 0;
  get->evidence = {.is_known = true,
                   .is_there = state == Get::State::kHit,
                   .incarnation = get->link->view().incarnation,
                   .generation = by_home ? absence.generation : 0,
                   .version = by_home ? absence.home_version : get->item->version};
  if (by_home) get->evidence.way_versions = absence.way_versions;
}

// In the same doorbell as the first READ.
void Gets::BeginLook(Get* get) {
  const OathLinks& links = peers_->oath_links();
  get->look = peers_->loads() ? Get::kNoLook : get->link->oaths().Begin(links.round());
}

void Gets::EndIfOathsStand(Get* get, Get::State state) {
  const Oaths& oaths = get->link->oaths();
  auto seen = Oaths::Seen::kBroken;
  if (peers_->loads()) {
    if (oaths.Stand()) seen = Oaths::Seen::kStand;
  } else {
    if (get->look == Get::kNoLook) BeginLook(get);
    seen = oaths.SeenSince(get->look);
  }
  if (seen == Oaths::Seen::kStand) return End(get, state);
  if (seen == Oaths::Seen::kNotYet) {
    get->state = Get::State::kLooks;
    get->found = state;
    return;
  }
  if (get->refused == Get::kNotRefused) {
    get->refused = state == Get::State::kHit ? get->item->version : 0;
  }
  get->link->Depose();
  Park(get, shards_[peers_->ShardOf(get->lookup.hash())]);
}

void Gets::EndLooking() {
  for (Get& get : gets_) {
    if (get.state == Get::State::kLooks) EndIfOathsStand(&get, get.found);
  }
}

// The place is busy until the callback has seen the value's bytes.
void Gets::End(Get* get, Get::State state) {
  if (get->holds || get->state == Get::State::kReading) LeaveServer(get);
  get->state = state;
  if (get->refused != Get::kNotRefused) CountDeposed(*get);
  if (get->of_many) return EndOfMany(get);
  if (get->sink.done == nullptr) return;  // its caller takes the result
  callbacks_->Run([&] { get->sink.done(get->sink.context, get->sink.index, ResultOf(get)); });
  Free(get);
}

void Gets::CountDeposed(const Get& get) {
  ++deposed_;
  if (get.state == Get::State::kFailed) return;
  const Version version = get.state == Get::State::kHit ? get.item->version : 0;
  if (version != get.refused) ++deposed_stale_;
}

void Gets::EndOfMany(Get* get) {
  if (!many_->evidence.empty()) many_->evidence[get->sink.index] = get->evidence;
  Tell(get->sink.index, [&] { return ResultOf(get); });
  --many_->left;
  if (has_groups() || !BeginNext(get)) Free(get);
}

Client::GetResult Gets::ResultOf(Get* get) {
  if (get->state == Get::State::kHit) return Deliver(*get);
  if (get->state == Get::State::kAbsent) return std::nullopt;
  return std::unexpected(std::move(get->error));
}

Client::GetResult Gets::Deliver(const Get& get) {
  ++hits_;
  get.link->hits().Hit(get.lookup.hash());
  const verify::ItemView& item = *get.item;
  if (get.into) return FillInto(get);
  return Item{item.value, item.version, item.flags, item.expiry};
}

Client::GetResult Gets::FillInto(const Get& get) {
  const verify::ItemView& item = *get.item;
  if (item.value.size() > get.into->size()) {
    return plov::Fail(Code::kBufferTooSmall, "the value has " + std::to_string(item.value.size()) +
                                                 " bytes, the buffer " +
                                                 std::to_string(get.into->size()));
  }
  // What was loaded in two parts lies there already.
  if (item.value.data() != static_cast<const void*>(get.into->data()) && !item.value.empty()) {
    std::memcpy(get.into->data(), item.value.data(), item.value.size());
  }
  const auto filled = get.into->first(item.value.size());
  const auto* value = static_cast<const char*>(static_cast<const void*>(filled.data()));
  return Item{{value, filled.size()}, item.version, item.flags, item.expiry};
}

Deadline Gets::NextEvent(Deadline otherwise) const {
  for (const Get& get : gets_) {
    if (get.state == Get::State::kFree || get.ended()) continue;
    otherwise = std::min(otherwise, get.deadline);
    if (get.state == Get::State::kPaused) otherwise = std::min(otherwise, get.resume_at);
  }
  if (!queued_.empty()) otherwise = std::min(otherwise, queued_.front().deadline);
  return parked_.NextEvent(otherwise);
}

void Gets::AddTo(ClientStats* stats) const {
  stats->gets += begun_;
  stats->hits += hits_;
  stats->fallbacks += asked_;
  stats->corrupt += corrupt_;
  stats->deposed_gets += deposed_;
  stats->deposed_stale += deposed_stale_;
  stats->bucket_reads += lookup_stats_.bucket_reads;
  stats->record_reads += lookup_stats_.record_reads;
  stats->reads += lookup_stats_.bucket_reads + lookup_stats_.record_reads;
  stats->known_reads += lookup_stats_.known_reads;
  stats->known_misses += lookup_stats_.known_misses;
  stats->torn_buckets += lookup_stats_.torn_buckets;
  stats->torn_records += lookup_stats_.torn_records;
  stats->confirmations += lookup_stats_.confirmations;
  stats->restarts += lookup_stats_.restarts;
}

}  // namespace plov
