#include "client/link.h"

#include <time.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <span>
#include <utility>

#include "verify/words.h"

namespace plov {

using fabric::Clock;
using verify::MessageReader;
using verify::MessageWriter;
using verify::Superblock;
using verify::SuperblockState;

namespace {

// Torn READs of a superblock before the lookups that wait for it ask the server: a writer that
// needs longer for a page than these take is not running, and waiting for its answer is cheaper.
constexpr uint32_t kTornSuperblocksMax = 100;
// A deadline that is shorter than the rewrite of the page, a server that is stopped in the middle of
// one and damage look the same.
constexpr auto kTornSuperblock =
    "the server's superblock was never whole: either plovd is stopped while it writes it, or its "
    "memory is damaged: then restart plovd";
// Messages without a reply for anybody that are passed over at a time: each of those in flight may
// bring one, and no honest server sends more.
constexpr uint32_t kMessagesPerCallMax = 2 * kMessagesInFlightMax;
// How long a READ or a reply of the set-up is polled for before the thread rests.
constexpr std::chrono::microseconds kSpin{20};

}  // namespace

uint64_t BootUs() {
  timespec now;
  ::clock_gettime(CLOCK_BOOTTIME, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1'000'000 + static_cast<uint64_t>(now.tv_nsec) / 1000;
}

std::expected<std::optional<cuckoo::ShardView>, Error> ViewOf(const Superblock& page,
                                                              uint32_t shard,
                                                              uint64_t region_bytes) {
  switch (verify::CheckSuperblock(page)) {
    case SuperblockState::kWhole:
      if (page.shard != shard || page.region_bytes != region_bytes) {
        return Fail(Code::kProtocol, "the server's memory is not the shard that was asked for");
      }
      return cuckoo::ShardView::Of(page);
    case SuperblockState::kTorn:
      return std::nullopt;
    case SuperblockState::kOtherFormat:
      return Fail(Code::kProtocol, "the server's memory has format version " +
                                       std::to_string(page.format) + ", this client reads " +
                                       std::to_string(verify::kFormatVersion) +
                                       ": use the same release of both");
    case SuperblockState::kNotPlov:
      break;
  }
  return Fail(Code::kProtocol, "the server's memory is not a plov shard");
}

std::expected<std::unique_ptr<Link>, Error> Link::Connect(const std::string& uri, uint32_t shard,
                                                          const Identity& identity,
                                                          fabric::Claimant* claimant,
                                                          Deadline deadline) {
  auto connection = fabric::Connection::Connect(uri, {.shard = shard,
                                                      .format_version = verify::kFormatVersion,
                                                      .client_id = identity.client_id,
                                                      .claim = claimant->claim(),
                                                      .administers = identity.administers,
                                                      .never_writes = identity.never_writes,
                                                      .deadline = deadline});
  if (!connection) return std::unexpected(std::move(connection.error()));
  claimant->OnConnected();
  auto link = std::make_unique<Link>(std::move(*connection), shard, identity.client_id);
  if (auto opened = link->Open(deadline); !opened) return std::unexpected(opened.error());
  return link;
}

Link::Link(std::unique_ptr<fabric::Connection> connection, uint32_t shard, uint64_t client_id)
    : shard_(shard),
      client_id_(client_id),
      reads_(connection->limits().read_depth),
      connection_(std::move(connection)),
      region_(connection_->region()),
      scratch_(connection_->limits().message_bytes_max) {}

std::expected<void, Error> Link::Open(Deadline deadline) {
  if (auto read = RefreshNow(deadline); !read) return read;
  refreshes_ = 0;
  confirm_due_ = true;
  return AwaitClock(deadline);
}

// Rests until there is something to collect; the error when there will be nothing in time.
std::optional<Error> Link::Wait(Deadline deadline, Deadline idle_since) {
  const Deadline now = Clock::now();
  if (!alive()) return Error{Code::kUnavailable, "the server went away"};
  if (now > deadline) return Error{Code::kTimeout, "the server's memory cannot be read in time"};
  if (now - idle_since > kSpin) fabric::Wait(connection_.get(), deadline);
  return std::nullopt;
}

std::expected<std::span<std::byte>, Error> Link::ReadNow(uint64_t offset, uint32_t bytes,
                                                         Deadline deadline) {
  const Deadline begun = Clock::now();
  std::optional<fabric::Status> ended;
  std::optional<Reads::Id> id;
  while (!ended) {
    if (!id) id = reads_.Add(offset, bytes, kNowOwner, &read_now_);
    PostReads();
    CollectReads(
        [&](Reads::Owner, fabric::Status status, ReadBuffer* memory) {
          read_now_.swap(*memory);
          ended = status;
        },
        [](const Refreshed&) {});
    if (ended) break;
    if (auto error = Wait(deadline, begun)) {
      if (id) reads_.Abandon(*id);
      return std::unexpected(std::move(*error));
    }
  }
  if (*ended == fabric::Status::kPeerGone) {
    return Fail(Code::kUnavailable, "the server went away");
  }
  if (*ended == fabric::Status::kOutOfRange) {
    return Fail(Code::kCorrupt, "the table points outside the server's memory");
  }
  return BytesOf(&read_now_, bytes);
}

std::expected<void, Error> Link::AcceptAge(uint64_t max_us, Deadline deadline) {
  age_ = ReplicaAge(max_us);
  const auto age_us = ReadAge(deadline);
  return age_us ? std::expected<void, Error>() : std::unexpected(age_us.error());
}

std::expected<uint64_t, Error> Link::ReadAge(Deadline deadline) {
  const auto word = ReadNow(verify::kSafeTimeOffset, sizeof(uint64_t), deadline);
  if (!word) return std::unexpected(word.error());
  uint64_t safe_us;
  std::memcpy(&safe_us, word->data(), sizeof(safe_us));
  age_.See(safe_us);
  const uint64_t age_us = age_.At(clock_.At(BootUs()));
  if (age_.Allows(age_us)) return age_us;
  return Fail(Code::kUnavailable, "no replica is new enough: the last one that was asked is " +
                                      std::to_string(age_us / 1000) +
                                      " ms old at most (ClientOptions::max_age)");
}

bool Link::IsNewEnough(uint64_t now_us) {
  if (!age_.is_bounded()) return true;
  RefreshClock(now_us);
  if (!region_.empty()) {
    const void* word = region_.data() + verify::kSafeTimeOffset;
    age_.See(verify::LoadWord(static_cast<const uint64_t*>(word)));
  }
  const uint64_t age_us = age_.At(clock_.At(now_us));
  is_age_due_ = region_.empty() && age_.IsDue(age_us);
  if (age_.Allows(age_us)) return true;
  if (!region_.empty()) Depose();
  return false;
}

void Link::LookAtAge() {
  if (!is_age_due_ || reads_age_ || stale_) return;
  reads_age_ = reads_.Add(verify::kSafeTimeOffset, sizeof(uint64_t), kAgeOwner).has_value();
}

void Link::OnAge(fabric::Status status, const ReadBuffer& memory) {
  reads_age_ = is_age_due_ = false;
  if (status != fabric::Status::kDone) return;
  age_.See(memory.front());
  has_age_come_ = true;
}

void Link::MarkStale() {
  if (!stale_) torn_superblocks_ = 0;
  stale_ = true;
}

bool Link::Refresh() {
  if (!stale_ || reading_superblock_ || reads_.in_flight() > 0) return false;
  if (!reads_.Add(0, sizeof(Superblock), kSuperblockOwner)) return false;
  reading_superblock_ = true;
  return PostReads();
}

// Nothing while it is not known: a torn one is READ once more, and a dead peer is handled by
// connecting anew, which reads the superblock as well.
std::optional<Link::Refreshed> Link::OnSuperblock(fabric::Status status, const ReadBuffer& memory) {
  reading_superblock_ = false;
  if (status == fabric::Status::kPeerGone) return std::nullopt;
  Superblock page;
  std::memcpy(&page, memory.data(), sizeof(page));
  const auto view = ViewOf(page, shard_, connection_->limits().region_bytes);
  if (view && !*view && ++torn_superblocks_ < kTornSuperblocksMax) return std::nullopt;
  stale_ = false;
  if (status != fabric::Status::kDone) {
    return Fail(Code::kProtocol, "the server's memory has no room for a superblock");
  }
  if (!view) return std::unexpected(view.error());
  return *view ? TakeView(**view) : false;
}

// Takes over a superblock that was READ; returns whether it is another one than before.
Link::Refreshed Link::TakeView(const cuckoo::ShardView& view) {
  ++refreshes_;
  if (view_.incarnation != 0 && view.incarnation != view_.incarnation) {
    return Fail(Code::kProtocol, "the server's memory changed its incarnation");
  }
  if (view.superblock_version == view_.superblock_version) return false;
  view_ = view;
  confirm_due_ = true;
  return true;
}

std::expected<void, Error> Link::RefreshNow(Deadline deadline) {
  const Deadline begun = Clock::now();
  const uint64_t before = refreshes_;
  std::optional<Error> failed;
  while (true) {
    MarkStale();
    Refresh();
    CollectReads([](Reads::Owner, fabric::Status, ReadBuffer*) {},
                 [&failed](const Refreshed& refreshed) {
                   if (!refreshed) failed = refreshed.error();
                 });
    if (failed) return std::unexpected(std::move(*failed));
    if (refreshes_ != before) return {};
    if (auto error = Wait(deadline, begun)) {
      if (error->code == Code::kTimeout && torn_superblocks_ > 0) error->message = kTornSuperblock;
      return std::unexpected(*error);
    }
  }
}

// A report, and the items that were found.
std::string Link::Told() {
  const verify::GetReport report = report_.value_or(verify::GetReport{});
  std::string told(sizeof(report), '\0');
  std::memcpy(told.data(), &report, sizeof(report));
  if (!std::exchange(tells_hits_, false)) return told;
  const auto hits = std::as_bytes(hits_.Take(Clock::now(), messages_sent_));
  const size_t bytes = std::min(hits.size(), HitBytesMax());
  return told.append(static_cast<const char*>(static_cast<const void*>(hits.data())), bytes);
}

bool Link::Confirm() {
  if (!confirm_due_ || !has_room()) return false;
  verify::Request request;
  request.operation = verify::Operation::kConfirm;
  request.request_id = NextControlId();
  request.expected_version = view_.superblock_version;
  std::string report;
  if (report_ || tells_hits_) report = Told();
  request.value = report;
  request.value_bytes = static_cast<uint32_t>(report.size());
  const uint64_t now_us = BootUs();
  if (!SendControl(request)) return false;
  report_.reset();
  exchange_id_ = request.request_id;
  exchange_sent_us_ = now_us;
  confirm_due_ = false;
  return true;
}

void Link::RefreshClock(uint64_t now_us) {
  if (exchange_id_ == 0 && clock_.IsOld(now_us)) confirm_due_ = true;
}

std::expected<void, Error> Link::AwaitClock(Deadline deadline) {
  const Deadline begun = Clock::now();
  while (true) {
    Confirm();
    NextReply();
    if (clock_.known()) return {};
    if (auto error = Wait(deadline, begun)) {
      if (error->code == Code::kTimeout) error->message = "the server does not answer";
      return std::unexpected(*error);
    }
  }
}

bool Link::Send(MessageWriter* message, uint64_t answered) {
  if (!connection_->Send(message->Finish({.answered = answered, .keeps_held = holds_ > 0}))) {
    return false;
  }
  ++messages_in_flight_;
  ++messages_sent_;
  return true;
}

bool Link::SendControl(const verify::Request& request) {
  if (!has_room()) return false;
  MessageWriter message = BeginMessage();
  message.Add(request);
  return Send(&message);
}

// Bounded: a server that sends messages without replies, or without end, is not listened to without
// end.
std::optional<verify::Reply> Link::NextReply() {
  for (uint32_t messages = 0; messages <= kMessagesPerCallMax;) {
    if (!replies_) {
      ++messages;
      const auto message = connection_->Receive();
      if (!message) return std::nullopt;
      if (messages_in_flight_ > 0) --messages_in_flight_;
      replies_ = MessageReader::Open(*message, client_id_, MessageReader::Holds::kReplies);
      if (replies_ && replies_->heading().answered > view_.superblock_version) MarkStale();
      continue;
    }
    const auto reply = replies_->NextReply();
    if (reply && reply->request_id != exchange_id_) return reply;
    if (reply) {
      clock_.Sample(exchange_sent_us_, BootUs(), replies_->heading().clock_us);
      exchange_id_ = 0;
      hits_.Want(reply->number == 1);
    } else {
      replies_.reset();
    }
  }
  return std::nullopt;
}

}  // namespace plov
