// Replica: one copy of a shard, and the rules by which its server changes what readers and the other copies see.
//
// Each configuration has an epoch, one primary and its members, which are in sync. A member shows the epoch that it is
// in, its oath, in memory that clients READ beside the data; the primary's memory is what they READ. So that a GET is
// right although a former primary's memory goes on answering READs:
//
//   S1  A member clears its oath before it proposes another configuration, and shows it again only when the proposal
//       was not accepted and cannot be any more (ConfigurationRegister kills what is unknown).
//   S2  It takes entries only under its oath, from the primary of that epoch, in order. (One that joins has no oath.)
//   S3  The primary publishes an entry, in order, when every member holds it, and every one that is being added or
//       dropped. Only then is it acknowledged.
//   S4  A member that takes over puts its tail in the place of the others', publishes all of it when they hold it,
//       not before the leases have ended that its cleared oath may have given, and only then shows its oath and
//       takes writes.
//   S5  A configuration names memory, by its incarnation: a replica that has lost it is another one, and what it
//       acknowledges does not count. One that comes back with its memory shows no oath before the primary's first
//       Append; its table *and* its tail are that memory. One that has a log comes back with what that has: it says that
//       it holds an entry, and shows an oath or acknowledges anything in a configuration, when its disk has it. One that was
//       dropped, or had caught up when its primary went, joins again with what it has published, which is never undone,
//       and without the rest of its tail: so it is another one.
//   S6  Who is added holds all that is published, from before it is proposed. Who is dropped counts until that is
//       accepted.
//   S8  What is answered without a READ of the client's - a GET by message, a refusal - is a read by the primary: its
//       oath stands, and all others have acknowledged what was sent after the question, or within a lease.
//
// (S7, versions that nobody gave before, is the store's: who hears of a version hears of an entry that all hold, so
// that a primary goes on beyond the versions of all entries.)
//
// It only decides: it has no clock and does no I/O. It is told what happened and when, and tells its host what to do.
// What takes long, changes of the configuration, goes on beside it.
//
// Source: PacificA, Microsoft Research MSR-TR-2008-25; uKharon (Guerraoui et al., ATC 2022) for leases that readers take by READs. Model:
// tests/model/cluster.pml.
//
// Threads: one.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "cluster/configuration.h"
#include "cluster/configuration_register.h"
#include "cluster/followers.h"
#include "cluster/kept.h"
#include "cluster/replica_settings.h"
#include "cluster/safe_time.h"
#include "cluster/stream.h"
#include "cluster/tail.h"

namespace plov::cluster {

// What a replica has done. All of it returns at once; none of it calls the replica.
class ReplicaHost {
 public:
  virtual ~ReplicaHost() = default;

  // READs that begin after this see this epoch's oath; 0: none. The first call is made while the replica is constructed:
  // memory of a former life may show an oath.
  virtual void ShowOath(uint64_t epoch) = 0;
  // READs that begin after this see this time of the host's clock, or see an older one: all that was acknowledged or READ of the
  // shard before it is published here.
  virtual void ShowSafeTime(uint64_t us) = 0;
  // They may be lost, or come late, twice and out of order; but never to another life of that server: a connection ends
  // with the process. (A late first Append could take away what was acknowledged since.) Where they come out of order, a replica that joins may
  // have to begin anew.
  virtual void Send(const std::string& server, const StreamMessage& message) = 0;
  // Nothing that is stored from now on is READ as good on a connection that there is.
  virtual void CloseReaders() = 0;
  // Whether the coordinator answers, as far as is known. While it does not nothing is proposed: the oath would be off
  // until it does.
  virtual bool CanPropose() const = 0;
  // ConfigurationRegister::Propose, and Settle until the proposal is not open; Replica::Heard tells of it, once.
  virtual void Propose(const Held& base, const Shard& next) = 0;
  // ConfigurationRegister::Read; Replica::Learn tells what it returned, if it did.
  virtual void ReadConfiguration() = 0;
  // Where there is a log: what is held from now on, to be taken in this order by a KeptHistory of a life to come.
  // Replica::HasKept tells how much of it is durable.
  virtual void Keep(const Append& held) = 0;
  // Readers see it from now on. False: it cannot be stored, and this replica is of no use any more.
  virtual bool Publish(const Entry& entry) = 0;
  // A new replica: everything published up to `since` has to be READ from the primary; then Replica::CaughtUp of this
  // replica, and no other.
  virtual void CatchUp(const Member& primary, const Position& since) = 0;
  // It is the primary no more: of what it wrote, what is not published may be so yet, or another entry at that number.
  virtual void Deposed() = 0;
  // This replica is in no configuration, and asks to join with what it has published. From now on it is another one, which
  // does not hold what was not published, `dropped`. Returns its incarnation, which nobody has had.
  virtual uint64_t ComeBack(const char* why, const std::vector<Entry>& dropped) = 0;
  // This replica's memory is of no use any more.
  virtual void StartAnew(const char* why) = 0;
};

class Replica {
 public:
  // What is left of a former life: all of its memory, and the configuration that it held last. It is needed because a
  // register that is read for the first time may return an older one, in which this replica was not a member yet.
  struct Memory {
    Tail tail;
    Held held;
  };

  // nullopt: a new replica, which joins.
  Replica(Member self, const ReplicaSettings& settings, std::optional<Memory> memory,
          ReplicaHost* host, uint64_t now_us);

  // What the register holds, or has held.
  void Learn(const Held& held, uint64_t now_us);
  // Of the proposal of this replica, and of no former life; not while it is open.
  void Heard(const Outcome& outcome, uint64_t now_us);
  void Receive(const Append& append, uint64_t now_us);
  void Receive(const Ack& ack, uint64_t now_us);
  void Receive(const Join& join, uint64_t now_us);
  void Receive(const HandOver& hand_over, uint64_t now_us);
  void Receive(const StreamMessage& message, uint64_t now_us) {
    std::visit([&](const auto& one) { Receive(one, now_us); }, message);
  }
  // A part of a message has come, or was taken by a server: who sends it, or takes it, is not silent however long the
  // message is.
  void HearPart(uint64_t now_us);
  void HearOf(const std::string& server, uint64_t now_us);
  // The connection to a server has ended, and nobody answers where it was: its replica need not be waited for. Not
  // again until it was connected to.
  void Lost(const std::string& server, uint64_t now_us);
  void CaughtUp() { has_caught_up_ = is_whole_ = true; }
  // Publishes some of what its primary has; a primary nothing. False: there was nothing. Often, as Tick.
  bool GoOn();
  // Its primary is to take no more. It hears of it with the next acknowledgement.
  void SetFull(Full full) { full_ = full; }
  // The log has the first `count` of what ReplicaHost::Keep was given.
  void HasKept(uint64_t count, uint64_t now_us);
  // All that it holds, for a log that is to begin with this: what is published is elsewhere. Not of one that is new.
  Append Everything() const;
  // Its memory is of no use any more: ReplicaHost::StartAnew follows, and nothing after that.
  void GiveUp(const char* why);
  // Often: a few times in each of the times above, after what has arrived was received.
  void Tick(uint64_t now_us);

  const Member& self() const { return self_; }
  // Whether this very replica is in the configuration that it holds.
  bool is_member() const;
  const std::optional<Held>& held() const { return held_; }
  uint64_t epoch() const { return held_ ? held_->shard.epoch : 0; }
  const Tail& tail() const { return tail_; }
  // Whether it is the primary and has published all that it began with, unless it was deposed and has not heard of it.
  bool serves() const { return lead_ && lead_->serves; }

  // Whether Write may be called; and whether for clients, for whom there have to be enough replicas.
  bool takes_entries() const { return serves() && !lead_->successor; }
  bool takes_writes() const;
  // Of a primary: another member that is full; nullptr: none is.
  const Follower* full_member() const;
  // The replica that joins, once it has this primary's stream: the next entry is among what it gets. nullopt: there is none.
  std::optional<uint64_t> joining() const;

  // Makes another member the primary, without the wait of S4: takes no more writes, and when all is published clears
  // its oath and closes its readers' connections, on which leases rest. It stays a member. Nothing happens unless it
  // serves and `incarnation` is a member that stays; it may be called again.
  void HandOverTo(uint64_t incarnation);

  // It is to go, as its server is to end or the shard is moved: a primary hands over to a member that stays, any other
  // asks to be dropped, and what is no member gives up, if it leaves for good, and else joins no more in this life. Until
  // then it goes on as ever, so that nobody waits for it.
  void Leave(bool for_good) {
    leaves_ = true;
    leaves_for_good_ |= for_good;
  }
  // Nothing is better by its going on: it is in no configuration, or no other member stays.
  bool has_left() const;

  // A primary's next entry, which is published later, or never. Only while takes_entries(). Returns its place.
  Position Write(std::string data, uint64_t now_us);

  // S8: what was found, before or after Ask, may be answered once MayAnswer: it was so when it was found, or when it was
  // asked. It waits for an acknowledgement of what is sent after Ask: of entries, or of what Press sends where there are
  // none. Where the epoch has ended and this has been the primary all the time, it is asked again; else it is never
  // answered.
  // rests_on: the number of the newest entry that the answer rests on, where that is not published, as a refusal may.
  struct Question {
    uint64_t epoch;
    uint64_t sent_us;  // of all that was sent before
    uint64_t rests_on;
  };
  Question Ask(uint64_t rests_on = 0) const;
  void Press(const Question& question, uint64_t now_us);
  bool MayAnswer(const Question& question, uint64_t now_us) const;

 private:
  enum class Change : uint8_t { kTakeOver, kHandedOver, kAdd, kDrop };

  struct Proposal {
    Change change;
    uint64_t since_us;
  };
  // Of a primary.
  struct Lead {
    bool serves;
    uint64_t publishes_from_us;
    uint64_t beat_us;          // the last one
    uint64_t sent_us = 0;      // the last message; of two the later one has the greater time
    uint64_t sent_all_us = 0;  // the last one that all followers were sent
    std::optional<uint64_t> successor;  // its incarnation
    SafeTime safe_time = {};            // its own
    Followers followers;
  };

  uint64_t LeaseEnd(uint64_t begin_us) const;

  void Show(uint64_t epoch);
  // The oath as the rules have it while there is no proposal.
  void ShowOwn();

  // What it holds of the entries, and whether it is known in which configuration, as far as a life to come knows.
  uint64_t held_number() const;
  bool is_epoch_kept() const { return !settings_.has_log || kept_.epoch() == epoch(); }
  void Keep(Append held);
  void KeepConfiguration();

  void ComeBack(const char* why, uint64_t now_us);
  // It came back, and was no member as far as it knows: it may have been added since.
  bool is_undecided() const { return held_ && !is_new_ && !is_back_ && !follows_ && !is_member(); }

  // Before the entries that a follower is sent first.
  Position FirstBefore(const Follower& follower) const;

  Tail::Fit Take(const Append& append);
  Tail::Fit TakeFirst(const Append& append);
  void Acknowledge(const std::string& to, bool has_gap, uint64_t now_us);
  void PublishNext();
  bool PublishSome();
  void PublishUpTo(uint64_t number);
  size_t past_bytes_max() const;

  void Propose(Change change, const Shard& next, uint64_t now_us);
  void TakeOver(Change change, uint64_t now_us);
  void HandOverNow(uint64_t now_us);
  const Follower* MemberThatStays() const;
  // Its proposal was accepted.
  void Enter(const Held& held, const Proposal& proposal, uint64_t now_us);
  // A silent follower is dropped, one that has caught up is added.
  void ChangeMembers(uint64_t now_us);
  void Beat(uint64_t now_us);
  // The time of a message that is sent now.
  uint64_t Stamp(uint64_t now_us);
  void Send(Follower* follower, const Position& before, std::vector<Entry> entries, bool is_first,
            uint64_t sent_us);
  // With what follows, or as much as one message has of the past.
  void SendFrom(Follower* follower, const Position& before, uint64_t sent_us) {
    Send(follower, before, tail_.After(before.number, settings_.piece_bytes), false, sent_us);
  }
  void SendFirst(Follower* follower, uint64_t sent_us);
  // Of a follower, or of this primary itself, as far as it is known now; 0: it is not.
  uint64_t SafeTimeOf(SafeTime* one, uint64_t now_us) const;
  void ShowOwnSafeTime(uint64_t now_us);
  // Publishes what all hold, and serves when that is everything.
  void Advance(uint64_t now_us);

  Member self_;
  ReplicaSettings settings_;
  ReplicaHost* host_;
  Tail tail_;
  Kept kept_;                    // where there is a log
  uint64_t waits_until_us_ = 0;  // for who may come back, too
  bool is_new_;                  // it has nothing of the shard's history
  bool is_whole_;                // what it has published is all that there was up to there
  bool is_back_ = false;         // it asks to join with that
  bool is_given_up_ = false;
  bool has_caught_up_ = false;
  bool leaves_ = false, leaves_for_good_ = false;
  Full full_ = Full::kNot;
  std::optional<Held> held_;
  uint64_t oath_ = 0;
  bool follows_ = false;        // it has the tail of the epoch's primary
  uint64_t heard_us_;           // of the primary, or since when it has been another's
  uint64_t asked_us_ = 0;       // for the configuration, or to join
  size_t published_bytes_ = 0;  // since the last GoOn
  uint64_t published_ = 0;      // by a primary, up to this number
  uint64_t sent_us_ = 0;        // the primary's time of the newest Append of this epoch
  ComingSafeTime safe_time_;
  std::optional<Proposal> proposal_;
  std::optional<Lead> lead_;
};

}  // namespace plov::cluster
