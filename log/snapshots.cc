#include "log/snapshots.h"

#include <algorithm>
#include <utility>

namespace plov::log {

namespace {

// The log is worth a snapshot when so many segments of it would go.
constexpr uint64_t kSegmentsMin = 2;

}  // namespace

void Snapshots::Look() {
  {
    const std::lock_guard lock(mutex_);
    looks_ = true;
  }
  changed_.notify_one();
}

void Snapshots::Stop() {
  {
    const std::lock_guard lock(mutex_);
    stopped_ = true;
  }
  changed_.notify_one();
}

void Snapshots::Add(const ShardLog& log) {
  const std::lock_guard lock(step_mutex_);
  shards_.push_back(Shard{.log = log});
}

void Snapshots::Remove(uint32_t shard) {
  const std::lock_guard lock(step_mutex_);
  const auto is_it = [shard](const Shard& one) { return one.log.head.shard == shard; };
  const auto found = std::ranges::find_if(shards_, is_it);
  if (found == shards_.end()) return;
  const auto at = static_cast<size_t>(found - shards_.begin());
  if (active_ == at) {
    if (writer_) writer_->Abandon();
    writer_.reset();
    closed_ = false;
    active_.reset();
  } else if (active_ && *active_ > at) {
    --*active_;
  }
  shards_.erase(found);
}

void Snapshots::Run() {
  while (true) {
    const auto now = Clock::now();
    bool worked = false;
    Clock::time_point resume_at;
    {
      const std::lock_guard step(step_mutex_);
      worked = Step(now >= resume_at_);
      resume_at = resume_at_;
    }
    std::unique_lock lock(mutex_);
    if (stopped_) break;
    if (worked) continue;
    if (now < resume_at) {
      changed_.wait_until(lock, resume_at, [this] { return stopped_; });
    } else {
      changed_.wait(lock, [this] { return stopped_ || looks_; });
      looks_ = false;
    }
  }
  const std::lock_guard step(step_mutex_);
  if (writer_) writer_->Abandon();
  writer_.reset();
}

bool Snapshots::IsDue(const Shard& shard) const {
  const GroupCommit& commit = *shard.log.commit;
  const uint64_t written = commit.bytes_written();
  const uint64_t before = shard.counted_from == 0 ? shard.log.log_bytes : 0;
  const uint64_t least = std::max(kSegmentsMin * spares_->file_bytes(), shard.log.snapshot_bytes);
  return before + written - shard.counted_from > least && written >= shard.retry_from &&
         commit.failure() == Code::kOk;
}

bool Snapshots::Step(bool pause_is_over) {
  return active_ ? StepActive(pause_is_over) : BeginNext();
}

// The shards take turns.
bool Snapshots::BeginNext() {
  for (size_t i = 0; i < shards_.size(); ++i) {
    const size_t at = (next_ + i) % shards_.size();
    const Shard& shard = shards_[at];
    if (shard.log.feed->state() == SnapshotFeed::State::kIdle && IsDue(shard))
      shard.log.feed->Ask();
    if (shard.log.feed->state() != SnapshotFeed::State::kAsked) continue;
    active_ = at;
    next_ = at + 1;
    active_from_ = shard.log.commit->bytes_written();
    began_at_ = Clock::now();
    shard.log.feed->Want();
    return true;
  }
  return false;
}

bool Snapshots::StepActive(bool pause_is_over) {
  switch (shards_[*active_].log.feed->state()) {
    case SnapshotFeed::State::kWanted:
    case SnapshotFeed::State::kCancelled:
      return false;
    case SnapshotFeed::State::kIdle:
    case SnapshotFeed::State::kAsked:  // it was given up
      active_.reset();
      return true;
    case SnapshotFeed::State::kRunning:
    case SnapshotFeed::State::kOver:
      break;
  }
  if (!pause_is_over) return false;
  const auto worked = StepWriter();
  if (!worked) GiveUp(worked.error());
  return !worked || *worked;
}

std::expected<bool, Error> Snapshots::StepWriter() {
  if (!writer_) {
    if (auto begun = BeginFile(); !begun) return std::unexpected(begun.error());
  }
  return closed_ ? ReadBackNext() : WriteNext();
}

// What a shard cannot end by itself is cancelled; the shard says when it has noticed.
void Snapshots::GiveUp(const Error& error) {
  Shard& shard = shards_[*active_];
  if (writer_) writer_->Abandon();
  writer_.reset();
  closed_ = false;
  shard.retry_from = shard.log.commit->bytes_written() + spares_->file_bytes();
  tell_(shard.log.head.shard, std::unexpected(error));
  if (shard.log.feed->state() == SnapshotFeed::State::kOver) {
    shard.log.feed->SettleFailed();
    active_.reset();
  } else {
    shard.log.feed->Cancel();
  }
}

// The greatest segment that begins with the batch or before it: the batch lies there, or comes there, or in
// one behind it (rule D6).
std::expected<uint64_t, Error> Snapshots::SegmentOf(uint64_t batch) const {
  const uint32_t shard = shards_[*active_].log.head.shard;
  const auto folder = Folder::List(disk_);
  if (!folder) return std::unexpected(folder.error());
  const auto files = folder->shards.find(shard);
  if (files != folder->shards.end()) {
    const auto& segments = files->second.segments;
    for (auto number = segments.rbegin(); number != segments.rend(); ++number) {
      const auto head = ReadHead(disk_, SegmentName(shard, *number), verify::LogFile::kSegment);
      if (!head) return std::unexpected(head.error());
      if (head->first_batch <= batch) return *number;
    }
  }
  return Fail(Code::kSystem, disk_->PathOf(SegmentName(shard, 1)) + ": the log's files are gone");
}

std::expected<void, Error> Snapshots::BeginFile() {
  const ShardLog& log = shards_[*active_].log;
  const SnapshotFeed::Start start = log.feed->start();
  const auto segment = SegmentOf(start.batch);
  if (!segment) return std::unexpected(segment.error());
  verify::LogHead head = log.head;
  head.number = *segment;
  head.first_batch = start.batch;
  head.floor = start.items;
  auto writer = SnapshotWriter::Begin(disk_, head);
  if (!writer) return std::unexpected(writer.error());
  writer_ = std::move(*writer);
  return {};
}

std::expected<bool, Error> Snapshots::WriteNext() {
  SnapshotFeed* feed = shards_[*active_].log.feed;
  const bool is_over =
      feed->state() == SnapshotFeed::State::kOver;  // before the last block is looked for
  auto block = feed->TakeFull();
  if (block) {
    if (auto written = writer_->Write(block->content(), block->operations); !written) {
      return std::unexpected(written.error());
    }
    Pause(block->bytes);
    feed->NoteWritten(writer_->bytes_written());
    feed->Free(std::move(*block));
    return true;
  }
  if (!is_over) return false;
  const auto total = feed->total();
  if (!total) {
    return Fail(Code::kCorrupt, "something in memory fails its checksum, and only the log has it");
  }
  const auto closed = writer_->Close(*total, feed->TakeSessions());
  if (!closed) return std::unexpected(closed.error());
  closed_ = true;
  return true;
}

std::expected<bool, Error> Snapshots::ReadBackNext() {
  const uint64_t before = writer_->bytes_read_back();
  const auto more = writer_->ReadBack();
  if (!more) return more;
  Pause(writer_->bytes_read_back() - before);
  if (*more) return true;
  if (auto finished = Finish(); !finished) return std::unexpected(finished.error());
  return true;
}

// From here on nothing needs what lies before it.
std::expected<void, Error> Snapshots::Finish() {
  Shard& shard = shards_[*active_];
  Taken taken{.shard = shard.log.head.shard,
              .items = shard.log.feed->total()->items,
              .bytes = writer_->bytes_written()};
  const auto removed = RemoveNeedless(taken.shard, shard.log.commit->segment());
  if (!removed) return std::unexpected(removed.error());
  taken.segments_removed = *removed;
  taken.took = std::chrono::duration_cast<std::chrono::microseconds>(Clock::now() - began_at_);
  shard.log.snapshot_bytes = taken.bytes;
  shard.counted_from = active_from_;
  writer_.reset();
  closed_ = false;
  active_.reset();
  shard.log.feed->SettleTaken(taken.bytes);
  tell_(taken.shard, taken);
  return {};
}

std::expected<size_t, Error> Snapshots::RemoveNeedless(uint32_t shard, uint64_t segment) {
  const auto folder = Folder::List(disk_);
  if (!folder) return std::unexpected(folder.error());
  const auto found = folder->shards.find(shard);
  if (found == folder->shards.end()) return 0;
  const ShardFiles& files = found->second;
  const size_t keep = keep_.load(std::memory_order_relaxed);
  if (files.snapshots.size() < keep) return 0;
  const uint64_t oldest = *std::prev(files.snapshots.end(), static_cast<std::ptrdiff_t>(keep));
  // Snapshots first: who links the files of one and still finds it then has all of its log.
  for (const uint64_t number : files.snapshots) {
    if (number >= oldest) break;
    std::ignore = disk_->Remove(SnapshotName(shard, number));  // in the way of nothing if it stays
  }
  size_t removed = 0;
  for (const uint64_t number : files.segments) {
    if (number >= std::min(oldest, segment)) break;
    spares_->Give(SegmentName(shard, number));
    ++removed;
  }
  return removed;
}

// So that, over time, no more than the rate is written and read.
void Snapshots::Pause(uint64_t bytes) {
  const auto now = Clock::now();
  const double rate = static_cast<double>(rate_bytes_.load(std::memory_order_relaxed));
  const double seconds = static_cast<double>(bytes) / rate;
  const auto pause =
      std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
  resume_at_ = std::max(now, resume_at_) + pause;
}

}  // namespace plov::log
