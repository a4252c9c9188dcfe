#include "server/hosted_replica.h"

#include <spdlog/spdlog.h>

#include <utility>

#include "server/description.h"

namespace plov::server {

namespace {

constexpr std::chrono::seconds kRestOfReplica{30};

}  // namespace

HostedReplica::HostedReplica(const Server& server, StoreOptions store,
                             std::chrono::microseconds slow_write)
    : server_(server),
      store_(std::move(store)),
      slow_write_(slow_write),
      next_life_({.server = server.options->cluster->server_id,
                  .logs = server.logs,
                  .wake = server.wake,
                  .wake_shard = [this] { WakeShard(); }}) {}

void HostedReplica::Prepare(const std::optional<cluster::Held>& empty) {
  memory_bytes_ = store_.memory_bytes;
  next_life_.Make(store_, empty);
}

std::expected<void, Error> HostedReplica::Begin() {
  auto beginning = next_life_.Take();
  if (!beginning) return {};
  std::expected<void, Error> begun;
  if (!*beginning) begun = std::unexpected(beginning->error());
  if (begun) begun = Open(std::move(**beginning));
  if (begun) return begun;
  Withdraw();
  due_ = fabric::Clock::now() + kRestOfReplica;
  return begun;
}

std::expected<void, Error> HostedReplica::Open(NextLife::Beginning beginning) {
  std::unique_ptr<Shard> shard = std::move(beginning.shard);
  shard->Show(server_.admission);
  shard->CommandTo(server_.commands);
  shard->KeepSlow(slow_write_);
  const uint32_t number = store_.shard;
  leaves_.store(false, std::memory_order_relaxed);
  shard->Describe(DescriptionOf(*server_.options, *shard, number));
  const cluster::Config& config = server_.options->replication->config;
  auto replication = std::make_unique<ShardReplication>(
      shard->store_to_restore(), shard->sessions_to_restore(),
      ShardReplication::Options{
          .server = server_.replica,
          .replica = {.config = config,
                      .shard = number,
                      .self = std::move(beginning.self),
                      .memory = std::move(beginning.memory),
                      .has_log = beginning.kept.log != nullptr},
          .sessions = {config.session_key, config.session_key},
          .start_anew = [this](const char* why,
                               bool is_too_small) { OnStartAnew(why, is_too_small); },
          .close_clients = [one = shard.get()] { one->CloseClients(); },
          .kept = std::move(beginning.kept)});
  ReplicatedStore* replicated = &replication->replicated();
  shard->CommitBy(std::move(replication));
  auto exposed = Expose(shard.get(), replicated);
  {
    const std::lock_guard lock(mutex_);
    shard_ = std::move(shard);
    replicated_ = replicated;
  }
  return exposed ? server_.threads->Add(shard_.get()) : exposed;
}

void HostedReplica::OnStartAnew(const char* why, bool is_too_small) {
  if (is_too_small) {
    spdlog::error(
        "shard {}: has no replica here, as others hold more than its {} MiB of --memory take: "
        "raise it; "
        "another try in {} s",
        store_.shard, store_.memory_bytes >> 20, kRestOfReplica.count());
  } else if (!leaves_.load(std::memory_order_relaxed)) {
    spdlog::warn("shard {}: begins anew, for {}", store_.shard, why);
  }
  is_too_small_.store(is_too_small, std::memory_order_relaxed);
  has_ended_.store(true, std::memory_order_relaxed);
  server_.wake();
}

std::expected<void, Error> HostedReplica::Expose(Shard* shard, ReplicatedStore* replicated) {
  const Region& region = shard->region();
  for (const auto& listener : *server_.listeners) {
    auto port = listener->Expose(store_.shard, {region.memory(), region.fd(), shard->claims()});
    if (!port) return std::unexpected(port.error());
    shard->AddPort(*port);
    port = listener->Expose(StreamShardOf(store_.shard), {.region = server_.stream_page->memory(),
                                                          .region_fd = server_.stream_page->fd()});
    if (!port) return std::unexpected(port.error());
    replicated->AddPort(*port);
  }
  return {};
}

void HostedReplica::End() {
  if (shard_ == nullptr) return;
  server_.threads->Remove(shard_.get());
  Withdraw();
}

// Its oath stays as it is, as one of a server that was killed does: it proposes nothing any more, and readers of the others
// go on. Nobody wakes it when its ports go.
void HostedReplica::Withdraw() {
  std::unique_ptr<Shard> shard;
  {
    const std::lock_guard lock(mutex_);
    shard = std::move(shard_);
    replicated_ = nullptr;
  }
  for (const auto& listener : *server_.listeners) {
    listener->Withdraw(store_.shard);
    listener->Withdraw(StreamShardOf(store_.shard));
  }
  next_life_.Dispose(std::move(shard), has_ended_.exchange(false, std::memory_order_relaxed));
  const bool was_too_small = is_too_small_.exchange(false, std::memory_order_relaxed);
  const bool rests = was_too_small && store_.memory_bytes == memory_bytes_;
  due_ = fabric::Clock::now() + (rests ? kRestOfReplica : std::chrono::seconds{0});
}

bool HostedReplica::is_last() const {
  if (shard_ == nullptr) return false;
  const cluster::Replica& replica = replicated_->replica();
  return replica.is_member() && replica.held()->shard.in_sync.size() == 1;
}

void HostedReplica::KeepSlow(std::chrono::microseconds threshold) {
  slow_write_ = threshold;
  if (shard_ != nullptr) shard_->KeepSlow(threshold);
}

void HostedReplica::RaiseBudget(size_t bytes) {
  store_.memory_bytes = bytes;
  due_ = {};
  if (shard_ != nullptr) shard_->RaiseBudget(bytes);
}

void HostedReplica::Prefer(uint64_t incarnation) {
  const std::lock_guard lock(mutex_);
  if (shard_ != nullptr) replicated_->Prefer(incarnation);
}

void HostedReplica::Leave(bool for_good) {
  const std::lock_guard lock(mutex_);
  leaves_.store(true, std::memory_order_relaxed);
  if (shard_ != nullptr) replicated_->Leave(for_good);
}

bool HostedReplica::has_left() {
  const std::lock_guard lock(mutex_);
  return shard_ == nullptr || has_ended() || replicated_->has_left();
}

void HostedReplica::Wake() {
  const std::lock_guard lock(mutex_);
  if (shard_ == nullptr) return;
  replicated_->Wake();
  shard_->Wake();
}

void HostedReplica::WakeShard() {
  const std::lock_guard lock(mutex_);
  if (shard_ != nullptr) shard_->Wake();
}

void HostedReplica::ForShard(const std::function<void(Shard*)>& use) {
  const std::lock_guard lock(mutex_);
  if (shard_ != nullptr) use(shard_.get());
}

}  // namespace plov::server
