// The store's COMMITs: several writes that readers see all or none of (W12).
#include <algorithm>
#include <bit>

#include "server/store.h"
#include "verify/record.h"

namespace plov::server {

using verify::Bucket;
using verify::ItemView;
using verify::Operation;
using verify::Request;

namespace {

// The buckets that one write rewrites, at most, but for moves that make room for it: the old home, which says `forward`,
// the guest of a home with its old place and its home, the home, the bucket, and with the stash the home once more and
// the stash's.
constexpr size_t kBucketsPerWrite = 8;
// What a read or a write of one counts for: a COMMIT of many is a slice of its own.
constexpr size_t kWorkBytes = 1024;

constexpr size_t JournalBytes(size_t writes) {
  const size_t entries = cuckoo::Rewrites::kMovedMax + kBucketsPerWrite * std::bit_ceil(writes);
  return (entries * verify::kJournalWords * verify::kWordBytes + kPageBytes - 1) / kPageBytes *
         kPageBytes;
}

}  // namespace

std::optional<Code> Store::Place(const Request& put, uint64_t now_us, Writing* writing) {
  if (put.value.size() > options_.value_bytes_max) return Code::kTooLarge;
  if (FitsInline(put, now_us)) {
    SweepIfDue(kSweepPerWrite, now_us);
    return Work(&writing->room, 0) ? std::optional(Code::kOk) : std::nullopt;
  }
  const auto status = Prepare(put, now_us, writing);
  if (status == Code::kOk) {
    verify::WriteRecordValue(writing->place->shared, put.key.size(), put.value, writing->mask);
  }
  return status;
}

// inserts: keys that are not there.
Code Store::CheckTogether(const Together& together, uint64_t now_us, size_t* inserts) {
  Request request;
  Target target{};
  for (const verify::TransactionRead& read : together.reads) {
    request.operation = Operation::kPut;
    request.key = read.key;
    if (const Code status = FindTarget(request, now_us, &target); status != Code::kOk)
      return status;
    if ((target.present ? target.version : 0) != read.version) return Code::kVersionMismatch;
  }
  for (const Request& write : together.writes) {
    if (const Code status = FindTarget(write, now_us, &target); status != Code::kOk) return status;
    *inserts += !target.found && write.operation == Operation::kPut ? 1 : 0;
  }
  return Code::kOk;
}

// It stays, for the next ones.
bool Store::MakeJournalRoom(size_t writes) {
  const size_t bytes = JournalBytes(writes);
  if (options_.warm_path.empty() || commit_journal_bytes_ >= bytes) return true;
  const auto offset = memory_.Take(bytes, kPageBytes, Memory::End::kHigh);
  if (!offset) return false;
  if (!memory_.Commit(*offset, bytes)) {
    memory_.Give(*offset, bytes);
    return false;
  }
  if (commit_journal_bytes_ > 0) memory_.Give(commit_journal_.offset, commit_journal_bytes_);
  commit_journal_ = verify::CommitJournal::Of(region_.data(), *offset, incarnation());
  commit_journal_bytes_ = bytes;
  return true;
}

// Nothing of it can fail once it is ready: an insert has room in the stash, as in Defer, and the journal has room for all
// buckets. A cache is full always, and has free buckets.
std::optional<Code> Store::Ready(const Together& together, uint64_t now_us, RoomSearch* room) {
  size_t inserts = 0;
  if (const Code status = CheckTogether(together, now_us, &inserts); status != Code::kOk) {
    if (status == Code::kCorrupt) ++stats_.corrupt;
    if (status == Code::kVersionMismatch) ++stats_.commits_refused;
    return status;
  }
  work_bytes_ += (together.reads.size() + together.writes.size()) * kWorkBytes;
  if (together.writes.empty()) return Code::kOk;
  const size_t heap_bytes = inserts * cuckoo::Stash::HeapBytes(verify::kKeyBytesMax);
  const bool has_room =
      inserts == 0 || (MayStash(heap_bytes, evicts()) && MakeStashRoomFor(inserts));
  if (has_room && MakeJournalRoom(together.writes.size())) return Code::kOk;
  if (MakeRoom(room, 0, now_us)) return std::nullopt;
  ++stats_.no_space;
  return Code::kNoSpace;
}

// What the writes before it leave is what it finds.
uint64_t Store::Stage(const Request& write, uint64_t now_us, uint64_t after, size_t together,
                      Writing* writing) {
  Target target{};
  FindTarget(write, now_us, &target);
  superblock_.Pass(after);
  if (keeps_tail() && !tail_->announces()) tail_->Announce();
  if (write.operation == Operation::kDelete) {
    const uint64_t version = NextVersion();
    if (log_ != nullptr) AppendDelete(write, version, writing->client_id);
    pending_.Add(PendingDelete(write.key, target.hash, version), together);
    return version;
  }
  ItemView item;
  const Bucket bucket = writing->place ? RecordItem(write, target.hash, now_us, *writing, &item)
                                       : InlineItem(write, now_us, &item);
  LogPut(write, item, writing);
  pending_.Add(PendingPut(write, {target, bucket, item}, writing), together);
  return item.version;
}

// W12. A restart finds all of it as it was until Record, and as it is to be from then on.
void Store::PublishTogether(size_t count) {
  const uint64_t last = KeepStaged(count);
  Record({});
  if (keeps_tail()) tail_->Show();
  RetractStaged();
  ShowStaged();
  if (tail_ != nullptr) tail_->SetPublished(last);
  if (tail_ != nullptr && defers_) tail_->SetDurable(last);
}

uint64_t Store::KeepStaged(size_t count) {
  uint64_t last = 0;
  rewrites_.Begin();
  for (; count > 0; --count) {
    last = pending_.first().version;
    Publish(pending_.first());
    pending_.RemoveFirst();
  }
  return last;
}

void Store::ShowStaged() {
  rewrites_.Publish(commit_journal_);
  for (const verify::Reference& reference : free_later_) Free(reference);
  free_later_.clear();
}

}  // namespace plov::server
