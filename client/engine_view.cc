// Engine: superblocks - READ anew when a bucket says that ours is old, and confirmed to the server.
//
// A view (the superblock, digested) changes only while no READ of its shard is under way, and every
// lookup that goes by its tables is begun again then: an old geometry under a new view would miss
// keys that are there. So what Confirm says is true as soon as the view has changed: no READ by an
// older superblock is under way, and none will be.

#include "client/engine.h"
#include "verify/superblock.h"

namespace plov {

using verify::Keep;
using verify::Safeguard;
using Action = cuckoo::Lookup::Action;

namespace {

// Torn READs of a superblock before the lookups that wait for it ask the server: a writer that
// needs longer for a page than these take is not running, and waiting for its answer is cheaper.
constexpr uint32_t kTornSuperblocksMax = 100;
// Refreshes that one GET waits for: each is for a table that grew since the one before.
constexpr uint32_t kRefreshesMax = 8;

}  // namespace

void Engine::MarkStale(uint32_t shard) {
  Link& link = *links_[shard];
  if (!link.stale) link.torn_superblocks = 0;
  link.stale = true;
}

bool Engine::PostRefresh(Link* link) {
  fabric::ReadOp op;
  op.tag = kSuperblockTag;
  op.bytes = op.head_bytes = sizeof(link->page);
  op.head = std::as_writable_bytes(std::span(&link->page, 1)).data();
  link->reads_in_flight += static_cast<uint32_t>(link->connection->Read({&op, 1}));
  return link->reads_in_flight > 0;
}

// Takes over a superblock that was READ; returns whether it is another one than before.
std::expected<bool, Error> Engine::TakeView(uint32_t shard, const cuckoo::ShardView& view) {
  Link& link = *links_[shard];
  ++stats_.refreshes;
  if (view.incarnation != link.view.incarnation) {
    return Fail(Code::kProtocol, "the server's memory became another's under our eyes");
  }
  if (view.superblock_version == link.view.superblock_version) return false;
  link.view = view;
  link.confirm_due = true;
  Confirm(shard);
  return true;
}

// A dead peer is Pump's to handle: connecting anew reads the superblock as well.
void Engine::OnSuperblock(uint32_t shard, fabric::Status status) {
  if (status == fabric::Status::kPeerGone) return;
  Link& link = *links_[shard];
  std::expected<bool, Error> changed = false;
  const auto view = ViewOf(link.page, shard, link.connection->limits().region_bytes);
  if (status != fabric::Status::kDone) {
    changed = Fail(Code::kProtocol, "the server's memory has no room for a superblock");
  } else if (!view) {
    changed = std::unexpected(view.error());
  } else if (*view) {
    changed = TakeView(shard, **view);
  } else if (++link.torn_superblocks < kTornSuperblocksMax) {
    return;  // still stale: READ once more
  }
  link.stale = false;
  for (Slot& slot : slots_) {
    if (slot.shard == shard) OnRefreshed(&slot, changed);
  }
}

// A lookup that waited begins again under the new view. It asks the server when the superblock is
// the same as before, or never whole. An honest server causes the first never: it publishes the
// superblock that lists the next table before it sets `forward`, and the one that does not list a
// table before that is `retired`; the superblock was READ after the bucket was seen, so it is at
// least that new (plov(7), A3 and A4), while the one we had is older.
void Engine::OnRefreshed(Slot* slot, const std::expected<bool, Error>& changed) {
  switch (slot->state) {
    case Slot::State::kStale:
      if (!changed) return Finish(slot, std::unexpected(changed.error()));
      if (!*changed || ++slot->refreshes > kRefreshesMax) return Advance(slot, Action::kAskServer);
      return Advance(slot, StartLookup(slot));
    case Slot::State::kWant:
    case Slot::State::kPaused:
      if (changed && *changed && Keep(Safeguard::kLookupBegunAnew)) {
        Advance(slot, StartLookup(slot));
      }
      return;
    // What the server was or will be asked does not depend on tables, nor does a record it holds.
    case Slot::State::kAsk:
    case Slot::State::kAsked:
    case Slot::State::kHeld:
    case Slot::State::kFree:
      return;
    // Not while a superblock is READ.
    case Slot::State::kReading:
    case Slot::State::kHeldReading:
    case Slot::State::kDrained:
      return;
  }
}

// The same for a scan, waiting for it.
std::expected<void, Error> Engine::RefreshNow(uint32_t shard) {
  Link& link = *links_[shard];
  const auto view = ReadSuperblock(link.connection.get(), shard, DeadlineFromNow());
  if (!view) return std::unexpected(view.error());
  if (auto taken = TakeView(shard, *view); !taken) return std::unexpected(taken.error());
  link.stale = false;
  return {};
}

// Tells the server which superblock we go by, when that is due and there is room for a message. The
// reply is nobody's to wait for.
bool Engine::Confirm(uint32_t shard) {
  Link& link = *links_[shard];
  if (!link.confirm_due) return false;
  verify::Request request;
  request.operation = verify::Operation::kConfirm;
  request.request_id = ++next_control_id_;
  request.expected_version = link.view.superblock_version;
  if (!SendControl(&link, request)) return false;
  link.confirm_due = false;
  return true;
}

}  // namespace plov
