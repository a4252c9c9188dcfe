// Link: a client's connection to one shard - messages, READs in flight, the superblock as last
// read, and the server's clock.
//
// A Link is one connection; a new connection is a new Link. What a life of the server has in common
// is in client/life.h.
//
// A view (the superblock, digested) changes only while no READ of the link is in flight, and every
// lookup that goes by its tables begins again then: an old geometry under a new view would miss
// keys that are there. So what is confirmed to the server is true as soon as the view has changed:
// no READ by an older superblock is in flight, and none will be.
#pragma once

#include <cstddef>
#include <cstdint>
#include <expected>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "client/hit_samples.h"
#include "client/oaths.h"
#include "client/reads.h"
#include "client/replica_age.h"
#include "client/server_clock.h"
#include "cuckoo/geometry.h"
#include "fabric/fabric.h"
#include "verify/message.h"
#include "verify/superblock.h"

namespace plov {

using fabric::Deadline;

// Request ids from here on are of everything but writes, whose ids are their sequences.
inline constexpr uint64_t kControlIds = uint64_t{1} << 63;
// Messages in flight per connection. A reply is never longer than a message, and eight of those fit
// in a ring.
inline constexpr uint32_t kMessagesInFlightMax = 4;

// Who a client is to the shards of a peer, in one life of it.
struct Identity {
  uint64_t client_id;
  bool administers = false;
  bool never_writes = false;
};

// What a READ of a superblock brought; nullopt when it is torn.
std::expected<std::optional<cuckoo::ShardView>, Error> ViewOf(const verify::Superblock& page,
                                                              uint32_t shard,
                                                              uint64_t region_bytes);

class Link {
 public:
  // Connects, READs the superblock, confirms it and learns the server's time: when it is there, all
  // of that is. claimant: the identity's, at this server's shard.
  static std::expected<std::unique_ptr<Link>, Error> Connect(const std::string& uri, uint32_t shard,
                                                             const Identity& identity,
                                                             fabric::Claimant* claimant,
                                                             Deadline deadline);

  // Over a connection that is there; tests have their own.
  Link(std::unique_ptr<fabric::Connection> connection, uint32_t shard, uint64_t client_id);
  std::expected<void, Error> Open(Deadline deadline);

  fabric::Connection& connection() { return *connection_; }
  // False once what is READ on it may be a former primary's, too.
  bool alive() const { return connection_->alive() && !is_deposed_; }
  uint32_t shard() const { return shard_; }
  const cuckoo::ShardView& view() const { return view_; }
  const ServerClock& clock() const { return clock_; }

  // The region, where READs are loads; else empty.
  std::span<const std::byte> region() const { return region_; }

  // Of a shard of a cluster: what is READ here is the shard's while these stand. They were seen after it was connected,
  // and before the first READ of an item.
  void RestOn(Oaths oaths) { oaths_ = std::move(oaths); }
  const Oaths& oaths() const { return oaths_; }
  // They do not stand.
  void Depose() { is_deposed_ = true; }
  // Nobody looks at them any more.
  void LeaveOaths() { oaths_ = {}; }

  // What is READ here may be a replica's, if it is no older than that. Errors as of ReadAge.
  std::expected<void, Error> AcceptAge(uint64_t max_us, Deadline deadline);
  // Of such a link: the age now, by a READ that is waited for. Not beside lookups. kUnavailable: it is older than it
  // may be; else as of ReadNow.
  std::expected<uint64_t, Error> ReadAge(Deadline deadline);
  bool has_age() const { return age_.is_bounded(); }
  // Whether a GET that begins now may be served here, as it always may by a primary. When not, the link is deposed; or,
  // where READs are no loads, TakeAge tells when the age is known.
  bool IsNewEnough(uint64_t now_us);
  // READs the safe time, if that is due.
  void LookAtAge();
  // Whether it has come since the last call.
  bool TakeAge() { return std::exchange(has_age_come_, false); }

  // READs. None may be added while the superblock is READ; see stale().
  Reads& reads() { return reads_; }
  const Reads& reads() const { return reads_; }
  bool PostReads() { return reads_.Post(connection_.get()); }
  // As Reads::Collect, but for the superblock's: on_refreshed(Refreshed) is called as soon as the
  // view has changed, or is known not to. What waited for that begins again, or asks the server.
  using Refreshed = std::expected<bool, Error>;  // whether the view is another one than before
  bool CollectReads(auto&& on_read, auto&& on_refreshed) {
    const bool any = reads_.Collect(
        connection_.get(), [&](Reads::Owner owner, fabric::Status status, ReadBuffer* memory) {
          if (owner == kAgeOwner) return OnAge(status, *memory);
          if (owner != kSuperblockOwner) return on_read(owner, status, memory);
          const auto refreshed = OnSuperblock(status, *memory);
          if (refreshed) on_refreshed(*refreshed);
        });
    return any;
  }
  // Owners below these are for the link's user.
  static constexpr Reads::Owner kSuperblockOwner = UINT64_MAX, kNowOwner = UINT64_MAX - 1,
                                kAgeOwner = UINT64_MAX - 2;

  // One READ, waited for; the bytes stay until the next. Not beside lookups.
  std::expected<std::span<std::byte>, Error> ReadNow(uint64_t offset, uint32_t bytes,
                                                     Deadline deadline);

  // The superblock. MarkStale asks for it to be READ anew; Refresh posts that READ as soon as no
  // other is in flight.
  void MarkStale();
  bool stale() const { return stale_; }
  bool Refresh();
  // The same, waited for until it is whole. Not beside lookups.
  std::expected<void, Error> RefreshNow(Deadline deadline);
  // How often it was READ and whole.
  uint64_t refreshes() const { return refreshes_; }

  // Tells the server which superblock we go by when that is due, and asks for its time.
  bool Confirm();
  // The same, with what the client has done since its last report.
  void Report(const verify::GetReport& report) {
    report_ = report;
    confirm_due_ = true;
  }
  // What was found here; the server is told of it with a report when that is due.
  HitSamples& hits() { return hits_; }
  void LookAtHits(Deadline now) {
    tells_hits_ = tells_hits_ || hits_.IsDue(now, messages_sent_);
    confirm_due_ = confirm_due_ || tells_hits_;
  }
  // Whether nothing is due that needs a turn of everything.
  bool quiet() const { return !confirm_due_; }
  // The clock's error may have grown beyond use: asks again, unless it was just asked.
  void RefreshClock(uint64_t now_us);

  // Messages. The next id for a request that is no write.
  uint64_t NextControlId() { return kControlIds + ++control_ids_; }
  // False when there is no room now.
  bool SendControl(const verify::Request& request);
  bool awaits_reply() const { return messages_in_flight_ > 0; }
  // Whether a reply is waited for on the core of who is to send it; see Connection::OnPeersCore.
  bool OnServersCore() { return awaits_reply() && connection_->OnPeersCore(); }
  bool has_room() const { return messages_in_flight_ < kMessagesInFlightMax; }
  // An empty message, to be sent by Send.
  verify::MessageWriter BeginMessage() { return {scratch_, client_id_}; }
  bool Send(verify::MessageWriter* message, uint64_t answered = 0);
  // The next reply that is not the link's own; its value stays until the next call.
  std::optional<verify::Reply> NextReply();

  // While records are held by the server for lookups of ours, or may be soon, messages say so.
  void Hold() { ++holds_; }
  void Release() { --holds_; }

 private:
  std::string Told();
  size_t HitBytesMax() const {
    return scratch_.size() - verify::kMessageHeaderBytes - verify::kRequestHeadBytes -
           sizeof(verify::GetReport) - verify::kWordBytes;
  }
  void OnAge(fabric::Status status, const ReadBuffer& memory);
  std::optional<Refreshed> OnSuperblock(fabric::Status status, const ReadBuffer& memory);
  Refreshed TakeView(const cuckoo::ShardView& view);
  std::expected<void, Error> AwaitClock(Deadline deadline);
  std::optional<Error> Wait(Deadline deadline, Deadline idle_since);

  uint32_t shard_;
  bool is_deposed_ = false;
  uint64_t client_id_;
  Reads reads_;
  std::unique_ptr<fabric::Connection> connection_;  // ends before the memory that it READs into
  std::span<const std::byte> region_;
  cuckoo::ShardView view_;
  ServerClock clock_;

  Oaths oaths_;
  ReplicaAge age_;
  bool is_age_due_ = false, reads_age_ = false, has_age_come_ = false;
  ReadBuffer read_now_;
  bool stale_ = false;
  bool reading_superblock_ = false;
  uint32_t torn_superblocks_ = 0;
  uint64_t refreshes_ = 0;

  bool confirm_due_ = false;
  std::optional<verify::GetReport> report_;  // that goes with it
  HitSamples hits_;
  bool tells_hits_ = false;   // with it
  uint64_t exchange_id_ = 0;  // of the CONFIRM whose reply is awaited; 0 = none
  uint64_t exchange_sent_us_ = 0;

  std::vector<std::byte> scratch_;  // a message being built
  std::optional<verify::MessageReader> replies_;
  uint64_t control_ids_ = 0;
  uint32_t messages_in_flight_ = 0;
  uint64_t messages_sent_ = 0;
  uint32_t holds_ = 0;
};

}  // namespace plov
