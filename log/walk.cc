#include "log/walk.h"

#include <algorithm>
#include <utility>

namespace plov::log {

namespace {

// One read of the disk, unless a batch is larger.
constexpr uint64_t kWindowBytes = uint64_t{4} << 20;

std::string Counted(std::string_view what, uint64_t number) {
  return std::string(what) + " " + std::to_string(number);
}

std::string NameFor(verify::LogFile kind, const verify::LogHead& head) {
  return kind == verify::LogFile::kSegment ? SegmentName(head.shard, head.number)
                                           : SnapshotName(head.shard, head.number);
}

std::unexpected<Error> FailHead(const std::string& path, Code code) {
  switch (code) {
    case Code::kProtocol:
      return Fail(code, path + ": another version of plov wrote this file; use that one");
    case Code::kInvalidArgument:
      return Fail(code, path + ": this is another kind of file");
    default:
      return Fail(code, path + ": its head fails its checksum");
  }
}

}  // namespace

std::string Damage::Line() const {
  return file + " at " + Counted("offset", offset) + ": " + what +
         "; whole operations behind: " + std::to_string(operations_behind);
}

bool IsDamage(const Error& error) {
  return error.code == Code::kCorrupt || error.code == Code::kInvalidArgument;
}

// Its message begins with the path, which Damage has.
Damage DamageOfHead(const std::string& path, const Error& error) {
  std::string what = error.message;
  if (what.starts_with(path + ": ")) what.erase(0, path.size() + 2);
  return {.file = path, .what = std::move(what)};
}

std::expected<verify::LogHead, Error> ReadHead(Disk* disk, const std::string& name,
                                               verify::LogFile kind) {
  const std::string path = disk->PathOf(name);
  const auto file = disk->Open(name, Disk::Mode::kRead);
  if (!file) return std::unexpected(file.error());
  verify::LogBlock block;
  if ((*file)->bytes() < block.size()) {
    return Fail(Code::kCorrupt, path + ": the file is shorter than its head");
  }
  if (auto read = (*file)->Read(0, block); !read) return std::unexpected(read.error());
  const auto head = verify::CheckLogHead(kind, block);
  if (!head) return FailHead(path, head.error());
  const std::string own_name = NameFor(kind, *head);
  if (own_name != name && Unfinished(own_name) != name)
    return Fail(Code::kCorrupt, path + ": its head says that it is " + own_name);
  if ((*file)->bytes() < head->file_bytes) {
    return Fail(Code::kCorrupt, path + ": the file is shorter than its head says");
  }
  return *head;
}

std::expected<Bytes, Error> Walk::Reader::BytesAt(uint64_t offset, uint64_t bytes) {
  if (offset >= head.file_bytes) return Bytes();
  bytes = std::min(bytes, head.file_bytes - offset);
  if (offset < window_at || offset + bytes > window_at + window.size()) {
    window.resize(std::min(std::max(bytes, kWindowBytes), head.file_bytes - offset));
    window_at = offset;
    if (auto read = file->Read(offset, window); !read) {
      window.clear();
      return std::unexpected(read.error());
    }
  }
  return Bytes(window).subspan(offset - window_at, bytes);
}

std::expected<std::optional<verify::BatchHead>, Error> Walk::Reader::GuessAt(uint64_t offset) {
  const auto bytes = BytesAt(offset, verify::kBatchHeadBytes);
  if (!bytes) return std::unexpected(bytes.error());
  if (bytes->size() < verify::kBatchHeadBytes) return std::nullopt;
  return verify::GuessBatchHead(*bytes, head.file_bytes - offset);
}

std::expected<std::optional<Walk::Batch>, Error> Walk::Reader::WholeAt(
    uint64_t offset, const verify::BatchHead& guess) {
  const auto bytes = BytesAt(offset, guess.bytes);
  if (!bytes) return std::unexpected(bytes.error());
  if (!verify::CheckBatch(*bytes, guess, verify::BatchSeed(head.id, head.number, offset))) {
    return std::nullopt;
  }
  return Batch{.head = guess,
               .segment = head.number,
               .offset = offset,
               .operations = bytes->subspan(verify::kBatchHeadBytes)};
}

std::expected<std::expected<Walk, Damage>, Error> Walk::Open(Disk* disk, const ShardFiles& files,
                                                             const Start& start) {
  using Opened = std::expected<Walk, Damage>;
  Walk walk;
  walk.disk_ = disk;
  walk.start_ = start;
  auto damage = walk.ReadHeads(files);
  if (!damage) return std::unexpected(damage.error());
  if (!*damage) *damage = walk.CheckStart();
  if (*damage) return Opened(std::unexpect, **std::move(damage));
  if (walk.segments_.empty()) {
    walk.is_over_ = true;
    return walk;
  }
  walk.head_ = walk.segments_.front().head;
  walk.end_.next_batch = walk.head_.first_batch;
  walk.end_.chain = walk.head_.chain;
  if (auto entered = walk.Enter(0); !entered) return std::unexpected(entered.error());
  return walk;
}

std::expected<std::optional<Damage>, Error> Walk::ReadHeads(const ShardFiles& files) {
  for (auto number = files.segments.lower_bound(start_.segment); number != files.segments.end();
       ++number) {
    Segment next{.name = SegmentName(start_.shard, *number), .head = {}};
    auto head = ReadHead(disk_, next.name, verify::LogFile::kSegment);
    const std::string path = disk_->PathOf(next.name);
    if (!head && !IsDamage(head.error())) return std::unexpected(head.error());
    if (!head) return DamageOfHead(path, head.error());
    next.head = *head;
    if (auto damage = CheckNext(next)) return damage;
    bytes_total_ += head->file_bytes;
    end_.next_segment = head->number + 1;
    segments_.push_back(std::move(next));
  }
  return std::nullopt;
}

// What is wrong with the segment after those that were read, as far as the heads tell.
std::optional<Damage> Walk::CheckNext(const Segment& next) const {
  const auto damage = [&](std::string what) {
    return Damage{.file = disk_->PathOf(next.name), .what = std::move(what)};
  };
  if (segments_.empty()) return std::nullopt;
  const verify::LogHead& before = segments_.back().head;
  const verify::LogHead& head = next.head;
  if (head.number != before.number + 1) {
    const std::string missing = SegmentName(start_.shard, before.number + 1);
    return Damage{.file = disk_->PathOf(missing), .what = "the file is missing"};
  }
  if (head.id != before.id || head.shard_count != before.shard_count ||
      head.hash_seed != before.hash_seed || head.cluster_id != before.cluster_id ||
      head.is_replica != before.is_replica) {
    return damage("its head is of another log than that of " + segments_.back().name);
  }
  if (head.first_batch < before.first_batch ||
      (head.first_batch == before.first_batch && head.chain != before.chain)) {
    return damage("its head does not go on from " + segments_.back().name);
  }
  return std::nullopt;
}

// Whether the segments begin early enough for what the walk is to tell.
std::optional<Damage> Walk::CheckStart() const {
  const uint64_t wanted = std::max<uint64_t>(1, start_.segment);
  const bool is_missing = segments_.empty()
                              ? start_.segment > 0 || start_.batch > 1 || start_.needs > 0
                              : start_.segment > 0 && segments_.front().head.number != wanted;
  if (is_missing) {
    const std::string missing = SegmentName(start_.shard, wanted);
    return Damage{
        .file = disk_->PathOf(missing), .batch = start_.batch, .what = "the file is missing"};
  }
  if (segments_.empty() || start_.batch == 0) return std::nullopt;
  const Segment& first = segments_.front();
  if (first.head.first_batch <= start_.batch) return std::nullopt;
  return Damage{.file = disk_->PathOf(first.name),
                .batch = start_.batch,
                .what = "it begins with " + Counted("batch", first.head.first_batch) +
                        ", and the log before it, from " + Counted("batch", start_.batch) +
                        " on, is missing"};
}

std::expected<Walk::Reader, Error> Walk::OpenSegment(size_t segment) const {
  auto file = disk_->Open(segments_[segment].name, Disk::Mode::kRead);
  if (!file) return std::unexpected(file.error());
  return Reader{.file = *std::move(file), .head = segments_[segment].head, .window = {}};
}

std::expected<void, Error> Walk::Enter(size_t segment) {
  auto reader = OpenSegment(segment);
  if (!reader) return std::unexpected(reader.error());
  std::swap(reader->window, reader_.window);  // its memory
  reader->window.clear();
  if (segment > 0) bytes_before_ += reader_.head.file_bytes;
  reader_ = *std::move(reader);
  segment_ = segment;
  at_ = verify::kLogBlockBytes;
  bytes_read_ = bytes_before_ + at_;
  if (reader_.head.floor > 0) {
    end_.last_version = std::max(end_.last_version, reader_.head.floor - 1);
  }
  return {};
}

const Walk::Segment* Walk::next() const {
  return segment_ + 1 < segments_.size() ? &segments_[segment_ + 1] : nullptr;
}

std::expected<Walk::Told, Error> Walk::Next() {
  const auto told = [](std::expected<Damage, Error> damage) -> std::expected<Told, Error> {
    if (!damage) return std::unexpected(damage.error());
    return Told(std::unexpect, *std::move(damage));
  };
  while (!is_over_) {
    if (next() != nullptr && next()->head.first_batch == end_.next_batch) {
      if (next()->head.chain != end_.chain) {
        return told(DamageHere("what lies before is not what " + next()->name + " goes on from"));
      }
      if (auto entered = Enter(segment_ + 1); !entered) return std::unexpected(entered.error());
      continue;
    }
    const auto batch = TakeBatch();
    if (!batch) return std::unexpected(batch.error());
    if (!*batch && next() != nullptr) return told(DamageBeforeNext("is not whole"));
    if (!*batch) {
      auto damage = EndHere();
      if (!damage) return std::unexpected(damage.error());
      if (*damage) return told(**std::move(damage));
      break;
    }
    if ((*batch)->head.kind == verify::BatchHead::Kind::kClosed) {
      if (next() != nullptr) return told(DamageBeforeNext("is missing"));
      return told(DamageHere("it says that the log goes on in " +
                             SegmentName(start_.shard, (*batch)->head.number) +
                             ", which is missing"));
    }
    Accept(**batch);
    const bool is_told = (*batch)->head.kind == verify::BatchHead::Kind::kOperations &&
                         (*batch)->head.number >= start_.batch;
    if (is_told) return *batch;
  }
  return std::nullopt;
}

// The batch that comes next, or the segment's `closed`, if it is whole.
std::expected<std::optional<Walk::Batch>, Error> Walk::TakeBatch() {
  const auto guess = reader_.GuessAt(at_);
  if (!guess) return std::unexpected(guess.error());
  if (!*guess || !Follows(**guess)) return std::nullopt;
  return reader_.WholeAt(at_, **guess);
}

bool Walk::Follows(const verify::BatchHead& head) const {
  const bool is_closed = head.kind == verify::BatchHead::Kind::kClosed;
  return head.chain == end_.chain &&
         head.number == (is_closed ? reader_.head.number + 1 : end_.next_batch);
}

void Walk::Accept(const Batch& batch) {
  end_.chain = batch.head.checksum;
  end_.last_version = std::max(end_.last_version, batch.head.last_version);
  end_.time_us = std::max(end_.time_us, batch.head.time_us);
  ++end_.next_batch;
  at_ += verify::RoundUpToBlock(batch.head.bytes);
  bytes_read_ = bytes_before_ + std::min(at_, reader_.head.file_bytes);
}

std::expected<Damage, Error> Walk::DamageHere(std::string what) {
  auto operations = CountBehind();
  if (!operations) return std::unexpected(operations.error());
  return Damage{.file = disk_->PathOf(segments_[segment_].name),
                .offset = at_,
                .batch = end_.next_batch,
                .operations_behind = *operations,
                .what = std::move(what)};
}

std::expected<Damage, Error> Walk::DamageBeforeNext(const std::string& name) {
  return DamageHere(Counted("batch", end_.next_batch) + " " + name + ", and " + next()->name +
                    " says that all before " + Counted("batch", next()->head.first_batch) +
                    " was durable");
}

// D5: the batch that comes next is not whole, in the last segment.
std::expected<std::optional<Damage>, Error> Walk::EndHere() {
  const uint64_t batch = end_.next_batch;
  const auto behind = Scan(&reader_, at_, batch, UINT64_MAX);
  if (!behind) return std::unexpected(behind.error());
  const std::string not_whole = Counted("batch", batch) + " is not whole, and ";
  if (behind->attest >= batch) {
    const std::string by =
        behind->is_closed ? "what closes the segment" : Counted("batch", behind->attested_by);
    return DamageHere(not_whole + by + " says that it was durable");
  }
  if (start_.needs >= batch) {
    return DamageHere(not_whole + "a snapshot needs the log up to " +
                      Counted("batch", start_.needs));
  }
  if (auto cut = Cut(*behind); !cut) return std::unexpected(cut.error());
  is_over_ = true;
  bytes_read_ = bytes_total_;
  return std::nullopt;
}

std::expected<void, Error> Walk::Cut(const Behind& behind) {
  const auto guess = reader_.GuessAt(at_);
  if (!guess) return std::unexpected(guess.error());
  uint64_t end = behind.end;
  if (*guess && (*guess)->number == end_.next_batch) {
    end = std::max(end, at_ + verify::RoundUpToBlock((*guess)->bytes));
  }
  if (end > at_) torn_ = Torn{disk_->PathOf(segments_[segment_].name), at_, end - at_};
  return {};
}

// From `from` on, where `batch` was to be; those from `next_batch` on lie in another segment. A batch that
// cannot have been written there after `batch` is not worth its checksum: it is a recycled file's.
std::expected<Walk::Behind, Error> Walk::Scan(Reader* reader, uint64_t from, uint64_t batch,
                                              uint64_t next_batch) {
  Behind behind;
  const uint64_t limit =
      std::min(next_batch - batch, reader->head.file_bytes / verify::kLogBlockBytes);
  uint64_t step = verify::kLogBlockBytes;
  for (uint64_t at = from; at < reader->head.file_bytes; at += step) {
    step = verify::kLogBlockBytes;
    const auto guess = reader->GuessAt(at);
    if (!guess) return std::unexpected(guess.error());
    if (!*guess) continue;
    const bool is_closed = (*guess)->kind == verify::BatchHead::Kind::kClosed;
    if (is_closed ? (*guess)->number != reader->head.number + 1
                  : (*guess)->number - batch >= limit) {
      continue;
    }
    const auto whole = reader->WholeAt(at, **guess);
    if (!whole) return std::unexpected(whole.error());
    if (!*whole) continue;
    step = verify::RoundUpToBlock((*guess)->bytes);
    behind.operations += (*guess)->operations;
    behind.end = at + step;
    if ((*guess)->attest > behind.attest) {
      behind.attest = (*guess)->attest;
      behind.attested_by = (*guess)->number;
      behind.is_closed = is_closed;
    }
  }
  return behind;
}

// Operations in whole batches from here to the log's end.
std::expected<uint64_t, Error> Walk::CountBehind() {
  uint64_t operations = 0;
  for (size_t i = segment_; i < segments_.size(); ++i) {
    const bool is_here = i == segment_;
    auto reader = OpenSegment(i);
    if (!reader) return std::unexpected(reader.error());
    const uint64_t next_batch =
        i + 1 < segments_.size() ? segments_[i + 1].head.first_batch : UINT64_MAX;
    const auto behind = Scan(&*reader, is_here ? at_ : verify::kLogBlockBytes,
                             is_here ? end_.next_batch : reader->head.first_batch, next_batch);
    if (!behind) return std::unexpected(behind.error());
    operations += behind->operations;
  }
  return operations;
}

}  // namespace plov::log
