// Engine: the calls that get - blocking, many at once, asynchronous - over the lookups in flight.

#include <optional>

#include "client/engine.h"
#include "verify/record.h"

namespace plov {

using Action = cuckoo::Lookup::Action;

namespace {

// How often a busy GetMany lets everything move that is no READ.
constexpr size_t kRoundsPerPump = 16;

Error BadKey() { return {Code::kInvalidArgument, "keys are 1 to 1024 bytes"}; }

bool KeyIsGood(std::string_view key) { return !key.empty() && key.size() <= verify::kKeyBytesMax; }

}  // namespace

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

void Engine::GetMany(std::span<const std::string_view> keys,
                     void (*done)(void*, size_t, Client::GetResult), void* context) {
  // Counts what ended; the caller's function is called from here.
  struct Tally {
    void (*done)(void*, size_t, Client::GetResult);
    void* context;
    size_t left;
  } tally{done, context, keys.size()};
  const GetSink sink{[](void* tally_context, size_t index, Client::GetResult result) {
                       auto* mine = static_cast<Tally*>(tally_context);
                       --mine->left;
                       mine->done(mine->context, index, std::move(result));
                     },
                     &tally, 0};
  size_t next = 0;
  size_t rounds = 0;
  Deadline deadline = DeadlineFromNow();
  while (tally.left > 0) {
    bool moved = false;
    for (auto slot = slots_.begin() + 1; slot != slots_.end() && next < keys.size(); ++slot) {
      if (slot->state != Slot::State::kFree) continue;
      Begin(&*slot, keys[next], deadline, {sink.done, sink.context, next});
      ++next;
      if (KeyIsGood(slot->key)) {
        Advance(&*slot, StartLookup(&*slot));
      } else {
        Finish(&*slot, std::unexpected(BadKey()));
      }
      moved = true;
    }
    moved = PostReads() || moved;
    moved = (CollectReads() && alive()) || moved;
    if (moved) deadline = DeadlineFromNow();
    // Whatever is not a READ moves on in Pump, which a busy window must not starve.
    if (moved && alive() && ++rounds % kRoundsPerPump != 0) continue;
    if (!Pump() && (!moved || !alive())) Idle(NextEvent(deadline));
  }
}

}  // namespace plov
