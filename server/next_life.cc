#include "server/next_life.h"

#include <spdlog/spdlog.h>

#include <utility>

#include "fabric/random.h"

namespace plov::server {

namespace {

std::expected<std::unique_ptr<Shard>, Error> MakeShard(const StoreOptions& options) {
  auto store = Store::Create(options);
  if (!store) return std::unexpected(store.error());
  return std::make_unique<Shard>(std::move(*store));
}

}  // namespace

void NextLife::Run(std::move_only_function<void()> task) {
  thread_ = std::jthread([before = std::move(thread_), what = std::move(task)]() mutable {
    if (before.joinable()) before.join();
    what();
  });
}

void NextLife::Make(StoreOptions store, std::optional<cluster::Held> empty) {
  is_coming_ = true;
  const uint64_t number = ++wanted_;
  Run([this, number, options = std::move(store), held = std::move(empty)] {
    auto made = Begin(options, held);
    {
      const std::lock_guard lock(mutex_);
      made_.emplace(std::move(made));
      made_number_ = number;
    }
    options_.wake();
  });
}

void NextLife::Dispose(std::unique_ptr<Shard> former, bool forgets) {
  if (former == nullptr) return;
  Run([this, shard = std::move(former), forgets]() mutable {
    const uint32_t number = shard->store_to_restore()->superblock().shard;
    shard.reset();
    if (!forgets || options_.logs == nullptr) return;
    if (auto removed = options_.logs->Remove(number); !removed) {
      spdlog::error("shard {}: its log, which nobody needs any more: {}", number,
                    removed.error().message);
    }
  });
}

std::optional<std::expected<NextLife::Beginning, Error>> NextLife::Take() {
  const std::lock_guard lock(mutex_);
  if (!made_ || made_number_ != wanted_) return std::nullopt;
  is_coming_ = false;
  return std::exchange(made_, std::nullopt);
}

void NextLife::Await() {
  if (thread_.joinable()) thread_.join();
}

std::expected<NextLife::Beginning, Error> NextLife::Begin(
    const StoreOptions& store, const std::optional<cluster::Held>& empty) const {
  if (options_.logs != nullptr && !empty) {
    auto begun = BeginFromLog(store);
    if (!begun) return std::unexpected(begun.error());
    if (*begun) return std::move(**begun);
  }
  return BeginNew(store, empty);
}

std::expected<NextLife::Beginning, Error> NextLife::BeginNew(
    const StoreOptions& store, const std::optional<cluster::Held>& empty) const {
  auto shard = MakeShard(store);
  if (!shard) return std::unexpected(shard.error());
  Shard* one = shard->get();
  Beginning beginning{.shard = std::move(*shard),
                      .self = {options_.server, fabric::RandomId()},
                      .kept = {EntryApplier(one->store_to_restore(), one->sessions_to_restore())}};
  if (empty) {
    beginning.self = empty->shard.in_sync.front();
    beginning.memory = {cluster::Tail({}), *empty};
  }
  if (options_.logs == nullptr) return beginning;
  auto log = options_.logs->Begin(store.shard, nullptr, options_.wake_shard);
  if (!log) return std::unexpected(log.error());
  beginning.kept.log = std::move(*log);
  return beginning;
}

std::expected<std::optional<NextLife::Beginning>, Error> NextLife::BeginFromLog(
    const StoreOptions& store) const {
  auto found = options_.logs->Find({store.shard, *store.slots});
  if (!found) return std::unexpected(found.error());
  if (!*found) return std::nullopt;
  StoreOptions with_items = store;
  with_items.expected = (*found)->expected_of(store.shard);
  auto shard = MakeShard(with_items);
  if (!shard) return std::unexpected(shard.error());
  Shard* one = shard->get();
  auto restored = options_.logs->Restore(&**found, store.shard, options_.server,
                                         one->store_to_restore(), one->sessions_to_restore());
  if (!restored) return std::unexpected(restored.error());
  if (!*restored) return std::nullopt;
  auto log = options_.logs->Begin(store.shard, &**found, options_.wake_shard);
  if (!log) return std::unexpected(log.error());
  return Beginning{.shard = std::move(*shard),
                   .self = (*restored)->self,
                   .memory = std::move((*restored)->memory),
                   .kept = {std::move((*restored)->applier), std::move(*log)}};
}

}  // namespace plov::server
