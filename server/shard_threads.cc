#include "server/shard_threads.h"

#include <pthread.h>

#include <algorithm>

namespace plov::server {

using fabric::Clock;

namespace {

// Of a thread's time. Between kLittle and kMuch nothing changes, so that no shard goes back and
// forth: who has just shared has more than half of kLittle with another who has as much.
constexpr double kMuch = 0.75;
constexpr double kLittle = 0.5;
// Work that comes one after the other is done no sooner by two threads.
constexpr double kShardsAtOnceMin = 1.5;
constexpr std::chrono::milliseconds kLittleFor{100};

}  // namespace

std::expected<std::unique_ptr<ShardThreads>, Error> ShardThreads::Create(size_t count) {
  std::unique_ptr<ShardThreads> all(new ShardThreads);
  all->members_.resize(count);
  for (Member& member : all->members_) {
    ShardThread::OnWindow on_window;
    if (count > 1) {
      on_window = [all = all.get(), member = &member](const ThreadLoad::Window& window) {
        all->Balance(member, window);
      };
    }
    auto thread = ShardThread::Create(std::move(on_window));
    if (!thread) return std::unexpected(thread.error());
    member.thread = std::move(*thread);
  }
  return all;
}

std::expected<void, Error> ShardThreads::Add(Shard* shard) {
  return members_.front().thread->Take(shard);
}

// Each thread is asked for it until one has it: between two it may be with neither.
void ShardThreads::Remove(Shard* shard) {
  const auto removes = [shard](const Member& member) { return member.thread->Remove(shard); };
  while (std::ranges::none_of(members_, removes)) continue;
}

ShardThreads::~ShardThreads() {
  for (const Member& member : members_) member.thread->Stop();
}

void ShardThreads::Start() {
  for (const Member& member : members_) {
    threads_.emplace_back([thread = member.thread.get()] { thread->Run(); });
    pthread_setname_np(threads_.back().native_handle(), "plovd-shard");
  }
}

void ShardThreads::SetSpin(uint32_t spin_us) {
  for (const Member& member : members_) member.thread->SetSpin(spin_us);
}

bool ShardThreads::IsAlive() {
  bool is_alive = true;  // each is asked: what it has done since the last time counts
  for (const Member& member : members_) is_alive = member.thread->IsAlive() && is_alive;
  return is_alive;
}

std::vector<size_t> ShardThreads::shard_counts() const {
  std::vector<size_t> counts;
  for (const Member& member : members_) counts.push_back(member.thread->shard_count());
  return counts;
}

void ShardThreads::Balance(Member* member, const ThreadLoad::Window& window) {
  const Clock::time_point now = Clock::now();
  if (window.busy >= kLittle) member->little_since = now;
  ShardThread* thread = member->thread.get();
  if (window.busy > kMuch && window.shards_at_once >= kShardsAtOnceMin) {
    if (thread->shard_count() > 1) Share(thread, window.busy);
  } else if (now - member->little_since >= kLittleFor && thread->shard_count() > 0) {
    Join(thread, window.busy);
  }
}

// With the one that has least to do, if that is little.
void ShardThreads::Share(ShardThread* thread, double busy) {
  const std::lock_guard lock(mutex_);
  const Clock::time_point now = Clock::now();
  const auto busy_at = [now](const Member& member) { return member.thread->BusyAt(now); };
  ShardThread* other = std::ranges::min_element(members_, {}, busy_at)->thread.get();
  if (other == thread || other->BusyAt(now) > kLittle / 2) return;
  thread->GiveHalf(other);
  other->Expect(other->BusyAt(now) + busy / 2);
}

// The first that can do the work of both in little of its time; never a later one, or two would give
// each other theirs.
void ShardThreads::Join(ShardThread* thread, double busy) {
  const std::lock_guard lock(mutex_);
  const Clock::time_point now = Clock::now();
  for (const Member& member : members_) {
    ShardThread* other = member.thread.get();
    if (other == thread) return;
    if (other->shard_count() == 0 || other->BusyAt(now) + busy > kLittle) continue;
    thread->GiveAll(other);
    return other->Expect(other->BusyAt(now) + busy);
  }
}

}  // namespace plov::server
