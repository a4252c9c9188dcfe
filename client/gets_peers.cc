// Gets: peers that come and go, and GETs that wait for them or for a place.

#include <algorithm>
#include <utility>

#include "client/gets.h"

namespace plov {

void Gets::Reserve(size_t shard_count) {
  shards_.resize(std::max(shards_.size(), shard_count));
  parked_.Reserve(shards_.size());
}

// What was parked for shards that are no more begins again, too: their keys have others now.
void Gets::Attach(const Peers* peers, const Peer& peer) {
  peers_ = peers;
  ForgetAhead();
  for (uint32_t i = 0; i < peer.shard_count(); ++i) EnterShard(peer.first_shard() + i);
  if (!peer.is_up()) return;
  const size_t count = peers->is_cluster() ? peer.shard_count() : shards_.size();
  Unpark(peer.first_shard(), count);
}

void Gets::Unpark(uint32_t first_shard, size_t count) {
  parked_.MoveTo(&queued_, first_shard, count);
  Get* lone = gets_.data();
  if (lone->state == Get::State::kParked) Restart(lone);
}

// What waits for a look at the replica's age begins, or waits for another replica.
void Gets::OnAge(const Peers::Live& one) {
  if (!one.link->IsNewEnough(BootUs())) return one.link->Depose();
  Unpark(one.shard, 1);
}

void Gets::Detach(const Peer& peer) {
  ForgetAhead();
  for (uint32_t i = 0; i < peer.shard_count(); ++i) {
    GetShard& shard = shards_[peer.first_shard() + i];
    const Link* link = std::exchange(shard.link, nullptr);
    for (Get& get : gets_) {
      const bool is_under_way =
          get.state != Get::State::kFree && !get.ended() && get.state != Get::State::kParked;
      if (is_under_way && get.link == link) Park(&get, shard);
    }
  }
}

void Gets::EnterShard(uint32_t shard) {
  Link* link = peers_->link(shard);
  cuckoo::LocationCache* locations = peers_->peer(shard).life().locations();
  shards_[shard] = {link, nullptr, {nullptr, locations, &lookup_stats_, &MonotonicUs}};
  if (link == nullptr) return;
  shards_[shard].region = link->region().data();
  shards_[shard].context.view = &link->view();
}

bool Gets::AddParked(const GetShard& shard, const QueuedGet& queued) {
  return parked_.Add(static_cast<size_t>(&shard - shards_.data()), queued);
}

// A place of the window becomes free.
void Gets::Park(Get* get, const GetShard& shard) {
  if (get == gets_.data()) {
    LeaveServer(get);
    get->state = Get::State::kParked;
    return;
  }
  if (!AddParked(shard, {get->key, get->sink, get->deadline, get->of_many, get->refused})) {
    return Fail(get, NoMemory());
  }
  --begun_;  // it begins again
  LeaveServer(get);
  Free(get);
}

void Gets::ParkKey(const GetShard& shard, size_t index) {
  const QueuedGet queued{many_->keys[index], {.index = index}, many_->deadline, true};
  if (!AddParked(shard, queued)) FailQueued(queued, NoMemory());
}

void Gets::FailQueued(const QueuedGet& queued, const Error& error) {
  ++begun_;
  const GetSink& sink = queued.sink;
  if (!queued.of_many) {
    return callbacks_->Run([&] { sink.done(sink.context, sink.index, std::unexpected(error)); });
  }
  --many_->left;
  Tell(sink.index, [&error] { return std::unexpected(error); });
}

void Gets::FailFirstQueued(const Error& error) {
  const QueuedGet queued = queued_.front();
  queued_.pop_front();
  FailQueued(queued, error);
}

// Those of GetMany that wait.
void Gets::FailWaiting(const Error& error) {
  parked_.RemoveMany([&](const QueuedGet& queued) { FailQueued(queued, error); });
  for (size_t i = 0; i < queued_.size();) {
    const QueuedGet queued = queued_[i];
    if (!queued.of_many) {
      ++i;
      continue;
    }
    queued_.erase(queued_.begin() + static_cast<ptrdiff_t>(i));
    FailQueued(queued, error);
  }
}

const Error& Gets::WhyParked(const Get& get) const {
  return peers_->peer(peers_->ShardOf(peers_->HashOf(get.key))).down();
}

void Gets::Expire(Deadline now) {
  for (Get& get : gets_) {
    if (get.state == Get::State::kFree || get.ended() || get.deadline > now) continue;
    if (get.state == Get::State::kParked) {
      Fail(&get, WhyParked(get));
    } else {
      Fail(&get, {Code::kTimeout,
                  "the value did not verify within the deadline and the server does not answer"});
    }
  }
  parked_.Expire(now, [this](size_t shard, const QueuedGet& queued) {
    FailQueued(queued, peers_->peer(static_cast<uint32_t>(shard)).down());
  });
  while (!queued_.empty() && queued_.front().deadline <= now) {
    FailFirstQueued({Code::kTimeout, "too many operations are waiting"});
  }
}

void Gets::Close(const Error& error) {
  for (Get& get : gets_) {
    if (get.state != Get::State::kFree && !get.ended()) Fail(&get, error);
  }
  parked_.Expire(Deadline::max(),
                 [&](size_t, const QueuedGet& queued) { FailQueued(queued, error); });
  while (!queued_.empty()) FailFirstQueued(error);
}

}  // namespace plov
