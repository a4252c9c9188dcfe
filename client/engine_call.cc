// Engine: the calls that get - blocking, asynchronous - over the lookups in flight.

#include <optional>

#include "client/engine.h"

namespace plov {

using Action = cuckoo::Lookup::Action;

Error BadKey() { return {Code::kInvalidArgument, "keys are 1 to 1024 bytes"}; }

bool Engine::StartQueuedGets() {
  bool moved = false;
  while (!queued_gets_.empty()) {
    Slot* slot = FreeSlot();
    if (slot == nullptr) break;
    const QueuedGet get = queued_gets_.front();
    queued_gets_.pop_front();
    Begin(slot, get.key, get.deadline, get.sink);
    if (KeyIsGood(get.key)) {
      Advance(slot, StartLookup(slot));
    } else {
      Finish(slot, std::unexpected(BadKey()));
    }
    moved = true;
  }
  return moved;
}

void Engine::QueueGet(std::string_view key, GetSink sink) {
  if (closing_) return sink.done(sink.context, sink.index, std::unexpected(down_));
  queued_gets_.push_back({key, sink, DeadlineFromNow()});
}

Client::GetResult Engine::DriveSlot(Slot* slot) {
  std::optional<Client::GetResult> result;
  slot->deadline = DeadlineFromNow();
  slot->sink = {[](void* context, size_t, Client::GetResult got) {
                  *static_cast<std::optional<Client::GetResult>*>(context) = std::move(got);
                },
                &result, 0};
  while (!result) {
    if (!Pump()) Idle(slot->deadline);
  }
  return std::move(*result);
}

// A READ of the GET before, which ended by its deadline, may still be under way into the slot.
std::expected<void, Error> Engine::AwaitDrained(const Slot& slot) {
  if (slot.state != Slot::State::kDrained) return {};
  const Deadline deadline = DeadlineFromNow();
  while (slot.state == Slot::State::kDrained) {
    if (Pump()) continue;
    if (fabric::Clock::now() >= deadline) return Fail(Code::kTimeout, "a READ does not complete");
    Idle(deadline);
  }
  return {};
}

// The common case runs straight through; whatever is rare goes the general way.
Client::GetResult Engine::Get(std::string_view key, std::optional<std::span<std::byte>> into) {
  if (!KeyIsGood(key)) return std::unexpected(BadKey());
  Slot* slot = slots_.data();
  if (auto drained = AwaitDrained(*slot); !drained) return std::unexpected(drained.error());
  bool alone = busy_slots_ == 0 && options_.read_pause.count() == 0;
  Begin(slot, key, {}, {});
  slot->has_into = into.has_value();
  slot->into = into.value_or(std::span<std::byte>());
  Action action = StartLookup(slot);
  Link* link = links_[slot->shard].get();
  fabric::Connection* connection = link->connection.get();
  alone = alone && link->quiet();
  slot->state = Slot::State::kWant;
  if (alone && action == Action::kRead && !link->region.empty() && !slot->lookup.want().record) {
    PrefetchWays(*slot);
  }
  // A long value goes straight to the caller's buffer, by a READ into two places.
  while (alone && action == Action::kRead && !slot->has_into && CopyWant(slot)) {
    if (!connection->alive()) return DriveSlot(slot);
    action = Feed(slot);
  }
  while (alone && action == Action::kRead) {
    const fabric::ReadOp op = OpOf(slot);
    if (connection->Read({&op, 1}) != 1) break;
    fabric::Completion completion;
    if (connection->Poll({&completion, 1}) == 0) {
      slot->state = Slot::State::kReading;
      ++link->reads_in_flight;
      return DriveSlot(slot);
    }
    if (completion.status != fabric::Status::kDone) break;
    action = Feed(slot);
  }
  if (action == Action::kHit || action == Action::kAbsent) {
    --busy_slots_;
    slot->state = Slot::State::kFree;
    if (action == Action::kAbsent) return std::nullopt;
    return Deliver(slot, slot->lookup.item());
  }
  Advance(slot, action);
  return DriveSlot(slot);
}

}  // namespace plov
