// Gets: the keys of GetMany where READs are loads. Two groups (client/load_group.h) take turns: what the
// one wants is fetched while the other is read.

#include <algorithm>

#include "client/gets.h"

namespace plov {

using Action = cuckoo::Lookup::Action;

// Reads a group, sees once that its copies are as good as READs, and ends its GETs, or gives those
// that are not plain places of the window. A group has no more keys than there are free places.
bool Gets::TurnGroup() {
  if (many_->stopped || callbacks_->failed()) return false;
  if (group_ == nullptr) group_ = std::make_unique<LoadGroup>();
  if (ahead_ == nullptr) ahead_ = std::make_unique<LoadGroup>();
  const size_t count_max = std::min(gets_.size() / 2, free_.size());
  const size_t first = many_->next;
  if (ahead_first_ != first || ahead_->count() > count_max || ahead_->count() == 0) {
    BeginGroup(first, count_max);
  }
  if (ahead_->count() == 0) return false;
  std::swap(group_, ahead_);
  BeginGroup(first + group_->count(), gets_.size() / 2);
  now_us_ = CoarseUs();
  group_->Read();
  if (!peers_->alive()) {
    ForgetAhead();
    return false;
  }
  many_->next += group_->count();
  EndGroup(first);
  return true;
}

void Gets::BeginGroup(size_t first, size_t count_max) {
  const auto keys = many_->keys;
  const size_t end = std::min(first + count_max, keys.size());
  const uint64_t begin_us = BeginUs();
  ahead_->Clear();
  ahead_first_ = first;
  while (hashed_ < std::min(end + kKeysAhead, keys.size())) HashAhead();
  for (size_t index = first; index < end; ++index) {
    if (!KeyIsGood(keys[index])) {
      ahead_->BeginAnew(keys[index], 0, nullptr);
      continue;
    }
    const auto [hash, shard] = hashed_keys_[index % hashed_keys_.size()];
    if (!MayBegin(*shard, begin_us)) {
      ahead_->BeginAnew(keys[index], hash, shard);
    } else {
      ahead_->Begin(keys[index], hash, shard);
    }
  }
}

// What was begun ahead goes by a view, or a life, that is no more.
void Gets::ForgetAhead() {
  ahead_first_ = kNoGroup;
  hashed_ = many_ == nullptr ? 0 : many_->next;
}

// Whether what was READ is the primary's. A key that is none has no shard.
bool Gets::Stands(const GetShard* shard) {
  if (shard == nullptr || shard->link == nullptr) return true;
  if (shard->link->oaths().Stand()) return true;
  shard->link->Depose();
  return false;
}

void Gets::EndGroup(size_t first) {
  if (peers_->is_cluster()) {
    group_->RefuseIf([](const GetShard* shard) { return !Stands(shard); });
  }
  size_t index = first, left = 0;
  for (const LoadGroup::Slot& slot : group_->slots()) {
    const verify::ItemView& item = slot.item;
    if (slot.state == LoadGroup::State::kHit &&
        (item.expiry == 0 || IsCurrent(slot.shard->link, item.expiry))) {
      ++hits_;
      slot.shard->link->hits().Hit(slot.hash);
      Tell(index, [&item] { return Item{item.value, item.version, item.flags, item.expiry}; });
    } else if (slot.state == LoadGroup::State::kAbsent) {
      Tell(index, [] { return std::nullopt; });
    } else {
      GoOn(index, slot);
      ++left;
    }
    ++index;
  }
  const size_t ended = group_->count() - left;
  begun_ += ended;
  many_->left -= ended;
}

// As a Get, with what was READ of its home, or anew.
void Gets::GoOn(size_t index, const LoadGroup::Slot& slot) {
  if (!KeyIsGood(slot.key)) return RefuseKey(index);
  Get* get = free_.back();
  free_.pop_back();
  ++busy_;
  Place(get, slot.key, many_->deadline);
  get->sink.index = index;
  get->of_many = true;
  if (slot.state == LoadGroup::State::kRefusedHit) get->refused = slot.item.version;
  if (slot.state == LoadGroup::State::kRefusedAbsent) get->refused = 0;
  if (slot.state != LoadGroup::State::kHomeToFeed) return BeginAt(get, *slot.shard, slot.hash);
  get->held = false;
  get->link = slot.shard->link;
  get->region = slot.shard->region;
  get->bucket = slot.buckets[0];
  get->lookup.StartAtHome(&slot.shard->context, slot.key, slot.hash, now_us_);
  --lookup_stats_.bucket_reads;  // both have counted it
  Step(get);
}

// R7's plain case: it has certainly not expired.
bool Gets::IsCurrent(Link* link, uint32_t expiry) {
  const uint64_t now_us = BootUs();
  link->RefreshClock(now_us);
  return link->clock().At(now_us).latest_us < uint64_t{expiry} * 1'000'000;
}

}  // namespace plov
