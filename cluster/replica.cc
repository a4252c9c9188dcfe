#include "cluster/replica.h"

#include <algorithm>
#include <cassert>
#include <utility>

namespace plov::cluster {

namespace {

// Of the time after which a primary is suspected: how long one that joins and its primary may be silent.
constexpr uint64_t kJoiningPeriods = 2;
// Of entries that a member publishes between two GoOns: so its server's other replicas are not silent meanwhile.
constexpr size_t kPublishedBytes = size_t{64} << 10;
// Of the past that is let go of, with each entry that is published and each tick.
constexpr int kForgottenPerEntry = 2, kForgottenPerTick = 1000;

const Member* PrimaryOf(const Shard& shard) {
  const auto found = std::ranges::find(shard.in_sync, shard.primary, &Member::server);
  return found == shard.in_sync.end() ? nullptr : &*found;
}

// And the same life of it, which has all that it ever sent.
bool HasSamePrimary(const Shard& a, const Shard& b) {
  const Member* one = PrimaryOf(a);
  const Member* other = PrimaryOf(b);
  return one != nullptr && other != nullptr && *one == *other && a.begun == b.begun;
}

}  // namespace

Replica::Replica(Member self, const ReplicaSettings& settings, std::optional<Memory> memory,
                 ReplicaHost* host, uint64_t now_us)
    : self_(std::move(self)),
      settings_(settings),
      host_(host),
      tail_(memory ? std::move(memory->tail) : Tail({})),
      is_new_(!memory),
      is_whole_(!is_new_),
      heard_us_(now_us) {
  if (memory) held_ = std::move(memory->held);
  host_->ShowOath(0);
  if (!is_new_ && settings_.has_log) {
    waits_until_us_ = now_us + settings_.return_us;
    if (held_->shard.primary != self_.server) heard_us_ = waits_until_us_;
    Keep(Everything());
  }
}

bool Replica::is_member() const {
  return held_ && std::ranges::find(held_->shard.in_sync, self_) != held_->shard.in_sync.end();
}

uint64_t Replica::LeaseEnd(uint64_t begin_us) const {
  return begin_us + settings_.lease_us + settings_.lease_us * settings_.rate_error_ppm / 1'000'000 +
         1;
}

void Replica::Show(uint64_t epoch) {
  if (oath_ == epoch) return;
  oath_ = epoch;
  host_->ShowOath(epoch);
}

void Replica::ShowOwn() {
  const bool is_in_sync = lead_ ? lead_->serves : follows_;
  Show(is_member() && is_in_sync && is_epoch_kept() && !proposal_ ? epoch() : 0);
}

void Replica::GiveUp(const char* why) {
  if (std::exchange(is_given_up_, true)) return;
  lead_.reset();
  Show(0);
  host_->StartAnew(why);
}

void Replica::ComeBack(const char* why, uint64_t now_us) {
  if (!is_whole_) return GiveUp(why);
  Show(0);
  self_.incarnation = host_->ComeBack(why, tail_.Unpublished());
  tail_.Cut();
  published_ = tail_.published().number;
  kept_.BeginAnew();
  Keep({.is_first = true, .before = tail_.published(), .held = held_});
  follows_ = has_caught_up_ = false;
  is_back_ = true;
  sent_us_ = asked_us_ = 0;
  heard_us_ = now_us;
}

void Replica::Learn(const Held& held, uint64_t now_us) {
  // What becomes of a proposal is heard first: it tells what is held then.
  if (is_given_up_ || proposal_) return;
  if (held_ && held.shard.epoch <= epoch()) {
    if (held.shard.epoch == epoch() && held.revision > held_->revision) held_ = held;
    if (held.shard.epoch == epoch() && is_undecided()) ComeBack("it was dropped", now_us);
    return;
  }
  const bool goes_on =
      held_ && held.shard.epoch == epoch() + 1 && HasSamePrimary(held.shard, held_->shard);
  const bool was_member = is_member();
  held_ = held;
  if (std::exchange(lead_, std::nullopt)) host_->Deposed();
  sent_us_ = 0;
  if (!goes_on) {
    follows_ = false;
    heard_us_ = now_us;
  }
  if (is_new_ && is_member()) return GiveUp("the configuration names memory that it has lost");
  if (!is_new_ && !is_back_ && !is_member() && (was_member || !follows_)) {
    return ComeBack("it is not in the shard's configuration", now_us);
  }
  KeepConfiguration();
  ShowOwn();
}

void Replica::Propose(Change change, const Shard& next, uint64_t now_us) {
  assert(!proposal_);
  proposal_ = Proposal{change, now_us};
  Show(0);  // S1
  host_->Propose(*held_, next);
}

void Replica::TakeOver(Change change, uint64_t now_us) {
  Shard next = held_->shard;
  if (change == Change::kTakeOver) {
    std::erase_if(next.in_sync, [&](const Member& member) {
      return member.server == next.primary && member != self_;
    });
  }
  next.primary = self_.server;
  next.begun = epoch() + 1;
  next.joining.clear();
  Propose(change, next, now_us);
}

void Replica::Heard(const Outcome& outcome, uint64_t now_us) {
  if (is_given_up_ || !proposal_ || outcome.verdict == Verdict::kOpen) return;
  const Proposal proposal = *std::exchange(proposal_, std::nullopt);
  if (outcome.verdict == Verdict::kAccepted) {
    return Enter(*outcome.held, proposal, now_us);
  }
  heard_us_ = now_us;
  if (outcome.held) {
    Learn(*outcome.held, now_us);
  } else {
    host_->ReadConfiguration();
  }
  ShowOwn();
}

void Replica::Enter(const Held& held, const Proposal& proposal, uint64_t now_us) {
  held_ = held;
  if (!lead_) {
    const bool has_leases = proposal.change == Change::kTakeOver;
    lead_ = Lead{.serves = false,
                 .publishes_from_us = has_leases ? LeaseEnd(proposal.since_us) : 0,  // S4
                 .beat_us = now_us,
                 .successor = std::nullopt,
                 .followers = {}};
    follows_ = false;
  }
  lead_->followers.Set(held.shard.in_sync, self_.server, now_us);
  KeepConfiguration();
  ShowOwn();
  Beat(now_us);
  Advance(now_us);
}

void Replica::Receive(const Append& append, uint64_t now_us) {
  if (is_given_up_ || append.to != self_.incarnation) return;
  if (append.epoch > epoch() && append.held) Learn(*append.held, now_us);
  if (is_given_up_) return;
  if (append.epoch > epoch()) return host_->ReadConfiguration();
  // The sender hears that it is deposed.
  if (append.epoch < epoch()) return Acknowledge(append.from, false, now_us);
  if (proposal_) return;  // S2
  heard_us_ = now_us;
  const Tail::Fit fit = Take(append);
  if (fit == Tail::Fit::kForeign) return GiveUp("its history is not the primary's");
  if (fit == Tail::Fit::kGap && append.is_first) {
    return GiveUp("the primary does not have any more what it lacks");
  }
  if (follows_) {
    sent_us_ = std::max(sent_us_, append.sent_us);
    published_ = std::max(published_, append.published);
    safe_time_.Hear(append.safe_us, append.published);
    has_caught_up_ |= is_whole_ && tail_.end().number >= append.published;
    PublishSome();
    if (is_given_up_) return;
  }
  // Of entries it tells when its log has them.
  const bool tells_later = follows_ && !append.is_first && !append.entries.empty() &&
                           fit == Tail::Fit::kFits && held_number() < tail_.end().number;
  if (!tells_later) Acknowledge(append.from, fit == Tail::Fit::kGap, now_us);
}

Tail::Fit Replica::Take(const Append& append) {
  if (!follows_ && append.is_first) return TakeFirst(append);
  if (!follows_) return Tail::Fit::kFits;  // it asks for that one
  const uint64_t end = tail_.end().number;
  const auto fit = tail_.Append(append.before, append.entries);
  if (settings_.has_log && tail_.end().number > end) {
    Keep({.before = append.before, .entries = append.entries});
  }
  return fit;
}

Tail::Fit Replica::TakeFirst(const Append& append) {
  if (is_new_) tail_ = Tail(append.before);
  // S4. What an undecided one holds it has from this primary, which may count on it and sends a piece of the past.
  const bool replaces = !is_undecided();
  const auto fit = replaces ? tail_.Replace(append.before, append.entries)
                            : tail_.Append(append.before, append.entries);
  if (fit != Tail::Fit::kFits) return fit;
  if (replaces) kept_.CutAfter(std::max(append.before.number, tail_.published().number));
  Keep({.is_first = replaces, .before = append.before, .entries = append.entries, .held = held_});
  if (std::exchange(is_new_, false)) host_->CatchUp(*PrimaryOf(held_->shard), append.before);
  follows_ = true;
  is_back_ = false;
  ShowOwn();
  return fit;
}

Position Replica::FirstBefore(const Follower& follower) const {
  const Position& has = follower.has;
  const bool is_known = follower.is_joining && has.number != 0 && tail_.At(has.number) == has;
  return is_known ? has : tail_.published();
}

uint64_t Replica::held_number() const {
  if (!settings_.has_log) return tail_.end().number;
  return is_epoch_kept() ? kept_.number() : 0;
}

void Replica::Keep(Append held) {
  if (!settings_.has_log) return;
  held.epoch = epoch();
  held.from = held_->shard.primary;
  held.to = self_.incarnation;
  held.published = tail_.published().number;
  kept_.Give(epoch(), tail_.end().number);
  host_->Keep(held);
}

void Replica::KeepConfiguration() {
  if (!is_new_) Keep({.before = tail_.end(), .held = held_});
}

void Replica::HasKept(uint64_t count, uint64_t now_us) {
  if (is_given_up_) return;
  const uint64_t before = held_number();
  kept_.SetDurable(count);
  ShowOwn();
  if (lead_) return Advance(now_us);
  if (follows_ && held_number() > before) Acknowledge(held_->shard.primary, false, now_us);
}

Append Replica::Everything() const {
  return {.epoch = epoch(),
          .from = held_->shard.primary,
          .to = self_.incarnation,
          .is_first = true,
          .before = tail_.published(),
          .entries = tail_.Unpublished(),
          .published = tail_.published().number,
          .held = held_};
}

void Replica::Acknowledge(const std::string& to, bool has_gap, uint64_t now_us) {
  host_->Send(to, Ack{.epoch = epoch(),
                      .from = self_.incarnation,
                      .follows = follows_,
                      .has_gap = has_gap,
                      .has_caught_up = has_caught_up_,
                      .leaves = leaves_,
                      .full = full_,
                      .end = held_number(),
                      .sent_us = sent_us_,
                      .clock_us = now_us});
}

void Replica::PublishNext() {
  const Entry& entry = tail_.Publish();
  published_bytes_ += entry.data->size();
  if (!host_->Publish(entry)) return GiveUp("it cannot store what is published");
  tail_.TrimPast(past_bytes_max(), kForgottenPerEntry);
}

size_t Replica::past_bytes_max() const {
  const bool all_are_there = held_->shard.in_sync.size() >= settings_.replicas;
  return all_are_there ? settings_.past_bytes : settings_.past_bytes_max;
}

bool Replica::PublishSome() {
  bool did = false;
  while (!is_given_up_ && !tail_.empty() && tail_.published().number < published_ &&
         published_bytes_ < kPublishedBytes) {
    PublishNext();
    did = true;
  }
  if (is_given_up_) return did;
  const bool has_all = is_member() || is_whole_;  // else what was before its stream may be missing
  if (has_all && safe_time_.Take(tail_.published().number)) host_->ShowSafeTime(safe_time_.us());
  return did;
}

bool Replica::GoOn() {
  published_bytes_ = 0;
  return !lead_ && PublishSome();
}

void Replica::PublishUpTo(uint64_t number) {
  while (!is_given_up_ && !tail_.empty() && tail_.published().number < number) PublishNext();
}

void Replica::Receive(const Ack& ack, uint64_t now_us) {
  if (is_given_up_) return;
  if (ack.epoch > epoch()) return host_->ReadConfiguration();
  Follower* from = lead_ && ack.epoch == epoch() ? lead_->followers.Find(ack.from) : nullptr;  // S5
  if (from == nullptr) return;
  from->heard_us = now_us;
  if (!ack.follows) return SendFirst(from, Stamp(now_us));
  from->follows = true;
  from->has_caught_up |= ack.has_caught_up;
  from->leaves |= ack.leaves;
  from->full = ack.full;
  from->held = std::max(from->held, ack.end);
  from->sent_us = std::max(from->sent_us, ack.sent_us);
  SafeTimeOf(&from->safe_time, now_us);
  from->safe_time.Hear(ack.clock_us, lead_->sent_us);
  // What it has not, or was not sent yet: one that comes back gets the past piece by piece.
  const uint64_t known = ack.has_gap ? ack.end : from->sent;
  if (ack.has_gap || (known < tail_.end().number && from->held >= known)) {
    const auto before = tail_.At(known);
    if (before) {
      SendFrom(from, *before, Stamp(now_us));
    } else {
      SendFirst(from, Stamp(now_us));
    }
  }
  Advance(now_us);
}

void Replica::HearPart(uint64_t now_us) {
  if (!lead_ && follows_) heard_us_ = now_us;
}

void Replica::HearOf(const std::string& server, uint64_t now_us) {
  if (lead_) lead_->followers.Heard(server, now_us);
}

// A restart that is over before anybody asks is no silence; this one is, though the server may be back soon.
void Replica::Lost(const std::string& server, uint64_t now_us) {
  if (lead_) return lead_->followers.Lost(server);
  if (!follows_ || held_->shard.primary != server) return;
  heard_us_ = std::min(heard_us_, now_us - std::min(now_us, settings_.detect_us + 1));
}

// Not while a configuration is proposed: a late one, of a former life of who is being added, would take its place among
// those that are waited for (S3).
void Replica::Receive(const Join& join, uint64_t now_us) {
  if (!serves() || join.epoch != epoch() || proposal_) return;
  // Its server's former life, or what it was before, has to be dropped first.
  const auto& members = held_->shard.in_sync;
  const auto former = std::ranges::find(members, join.replica.server, &Member::server);
  if (former != members.end()) {
    Follower* follower = lead_->followers.Find(former->incarnation);
    if (follower != nullptr && *former != join.replica) follower->leaves = true;
    return;
  }
  lead_->followers.Add(join.replica, join.has, now_us);
  Follower* joining = lead_->followers.Find(join.replica.incarnation);
  if (joining != nullptr && !joining->follows) SendFirst(joining, Stamp(now_us));
}

void Replica::Receive(const HandOver& hand_over, uint64_t now_us) {
  const bool is_meant = hand_over.to == self_.incarnation && hand_over.epoch == epoch();
  if (is_given_up_ || !is_meant || proposal_ || !follows_) return;
  TakeOver(Change::kHandedOver, now_us);
}

bool Replica::takes_writes() const {
  return takes_entries() && held_->shard.in_sync.size() >= settings_.min_replicas;
}

const Follower* Replica::full_member() const {
  if (!lead_) return nullptr;
  const auto& all = lead_->followers.all();
  const auto full = std::ranges::find_if(
      all, [](const Follower& one) { return !one.is_joining && one.full != Full::kNot; });
  return full == all.end() ? nullptr : &*full;
}

std::optional<uint64_t> Replica::joining() const {
  const Follower* joining = lead_ ? lead_->followers.joining() : nullptr;
  if (joining == nullptr || !joining->follows) return std::nullopt;
  return joining->replica.incarnation;
}

void Replica::HandOverTo(uint64_t incarnation) {
  const Follower* to = serves() ? lead_->followers.Find(incarnation) : nullptr;
  const bool can = to != nullptr && !to->is_joining && to->follows && !to->leaves;
  if (can) lead_->successor = incarnation;
}

const Follower* Replica::MemberThatStays() const {
  const auto& all = lead_->followers.all();
  const auto found = std::ranges::find_if(
      all, [](const Follower& one) { return !one.is_joining && one.follows && !one.leaves; });
  return found == all.end() ? nullptr : &*found;
}

bool Replica::has_left() const {
  if (is_given_up_ || !is_member()) return true;
  return lead_ ? MemberThatStays() == nullptr : held_->shard.in_sync.size() == 1;
}

void Replica::HandOverNow(uint64_t now_us) {
  const Follower* to = lead_->followers.Find(*lead_->successor);
  if (to == nullptr) return lead_->successor.reset();  // it was dropped
  const Member successor = to->replica;
  lead_.reset();
  heard_us_ = now_us;  // if the successor does not, it takes over itself
  ShowOwn();
  host_->CloseReaders();
  host_->Deposed();
  host_->Send(successor.server, HandOver{epoch(), successor.incarnation});
}

void Replica::Tick(uint64_t now_us) {
  if (is_given_up_) return;
  if (leaves_for_good_ && held_ && !is_member()) return GiveUp("it was to go");
  const bool joins = (is_new_ || is_back_) && !leaves_;
  if ((!held_ || joins || is_undecided()) && now_us >= asked_us_ + settings_.detect_us) {
    asked_us_ = now_us;
    host_->ReadConfiguration();
    const Position has = is_back_ ? tail_.published() : Position{};
    if (held_ && joins) host_->Send(held_->shard.primary, Join{epoch(), self_, has});
  }
  if (held_) tail_.TrimPast(past_bytes_max(), kForgottenPerTick);
  GoOn();
  const bool is_silent = now_us > heard_us_ + settings_.detect_us;
  if (lead_) {
    const bool chooses = leaves_ && !lead_->successor;
    const Follower* successor = chooses ? MemberThatStays() : nullptr;
    if (successor != nullptr) HandOverTo(successor->replica.incarnation);
    if (now_us >= lead_->beat_us + settings_.beat_us) Beat(now_us);
    ChangeMembers(now_us);
    Advance(now_us);
    ShowOwnSafeTime(now_us);
  } else if (is_silent && is_member()) {
    if (!proposal_ && host_->CanPropose()) TakeOver(Change::kTakeOver, now_us);
  } else if (is_silent && follows_) {
    // It may have been added: it looks first.
    if (now_us > heard_us_ + kJoiningPeriods * settings_.detect_us) {
      return ComeBack("the primary is silent", now_us);
    }
    host_->ReadConfiguration();
  }
}

void Replica::ChangeMembers(uint64_t now_us) {
  if (proposal_ || !host_->CanPropose()) return;
  Shard next = held_->shard;
  for (const Follower& one : lead_->followers.all()) {
    // One that joins delays nobody, and has much to do.
    if (one.is_joining && one.has_caught_up && now_us > one.heard_us + settings_.drop_us) {
      lead_->followers.Postpone(one.replica.incarnation);
    }
    const uint64_t silence_us =
        one.is_joining ? kJoiningPeriods * settings_.detect_us : settings_.drop_us;
    if (!one.leaves && now_us <= one.heard_us + silence_us) continue;
    if (!one.leaves && !one.is_joining && now_us < waits_until_us_) continue;
    if (one.is_joining) return lead_->followers.Remove(one.replica.incarnation);
    std::erase(next.in_sync, one.replica);
    return Propose(Change::kDrop, next, now_us);
  }
  const Follower* joining = lead_->followers.joining();
  if (joining != nullptr && joining->has_caught_up &&
      joining->held >= tail_.published().number) {  // S6
    next.in_sync.push_back(joining->replica);
    Propose(Change::kAdd, next, now_us);
  }
}

uint64_t Replica::Stamp(uint64_t now_us) {
  return lead_->sent_us = std::max(now_us, lead_->sent_us + 1);
}

void Replica::Send(Follower* follower, const Position& before, std::vector<Entry> entries,
                   bool is_first, uint64_t sent_us) {
  if (is_first || !entries.empty()) {
    follower->sent = entries.empty() ? before.number : entries.back().at.number;
  }
  host_->Send(follower->replica.server,
              Append{.epoch = epoch(),
                     .from = self_.server,
                     .to = follower->replica.incarnation,
                     .is_first = is_first,
                     .before = before,
                     .entries = std::move(entries),
                     .published = tail_.published().number,
                     .sent_us = sent_us,
                     .safe_us = SafeTimeOf(&follower->safe_time, sent_us),
                     .held = follower->sent_us == 0 ? held_ : std::nullopt});
}

void Replica::SendFirst(Follower* follower, uint64_t sent_us) {
  const Position before = FirstBefore(*follower);
  Send(follower, before, tail_.After(before.number, settings_.piece_bytes), true, sent_us);
}

void Replica::Beat(uint64_t now_us) {
  // After a pause of its own.
  if (now_us > lead_->beat_us + settings_.drop_us / 2) lead_->followers.HeardAll(now_us);
  lead_->beat_us = now_us;
  const uint64_t sent_us = lead_->sent_all_us = Stamp(now_us);
  for (Follower& one : lead_->followers.all()) {
    if (one.follows) {
      Send(&one, tail_.At(one.sent).value_or(tail_.published()), {}, false, sent_us);
    } else {
      SendFirst(&one, sent_us);
    }
  }
}

void Replica::Advance(uint64_t now_us) {
  if (now_us < lead_->publishes_from_us) return;
  PublishUpTo(std::min(held_number(), lead_->followers.HeldByAll(tail_.end().number)));  // S3
  if (is_given_up_ || !tail_.empty() || !is_epoch_kept()) return;
  if (lead_->successor && !proposal_) return HandOverNow(now_us);
  lead_->serves = true;
  ShowOwn();
}

void Replica::ShowOwnSafeTime(uint64_t now_us) {
  if (!lead_) return;
  const uint64_t safe_us = SafeTimeOf(&lead_->safe_time, now_us);
  if (safe_us != 0) host_->ShowSafeTime(safe_us);
  lead_->safe_time.Hear(now_us, lead_->sent_us);
}

uint64_t Replica::SafeTimeOf(SafeTime* one, uint64_t now_us) const {
  if (one->is_asked() && MayAnswer({epoch(), one->since_us(), 0}, now_us)) one->Confirm();
  return one->us();
}

Position Replica::Write(std::string data, uint64_t now_us) {
  assert(takes_entries());
  const Position before = tail_.end();
  const Entry& entry = tail_.Add(epoch(), std::move(data));
  const Position at = entry.at;
  if (settings_.has_log) Keep({.before = before, .entries = {entry}});
  const uint64_t sent_us = Stamp(now_us);
  bool all_follow = true;
  // Also to one that has not acknowledged its first message yet: it would miss what is published until it has.
  for (Follower& one : lead_->followers.all()) {
    if (one.sent == before.number) Send(&one, before, {entry}, false, sent_us);
    all_follow = all_follow && (one.is_joining || one.follows);
  }
  if (all_follow) lead_->sent_all_us = sent_us;
  Advance(now_us);
  return at;
}

Replica::Question Replica::Ask(uint64_t rests_on) const {
  return {epoch(), lead_ ? lead_->sent_us : 0, rests_on};
}

void Replica::Press(const Question& question, uint64_t now_us) {
  if (lead_ && question.epoch == epoch() && lead_->sent_all_us <= question.sent_us) Beat(now_us);
}

bool Replica::MayAnswer(const Question& question, uint64_t now_us) const {
  if (!serves() || oath_ != epoch() || question.epoch != epoch()) return false;
  if (tail_.published().number < question.rests_on) return false;
  const uint64_t lease_us =
      settings_.lease_us - settings_.lease_us * settings_.rate_error_ppm / 1'000'000;
  const auto& followers = lead_->followers;
  return followers.AllHeardSince(question.sent_us) ||
         (lease_us > 0 && followers.AllHeardSince(now_us - lease_us));
}

}  // namespace plov::cluster
