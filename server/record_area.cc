#include "server/record_area.h"

#include <algorithm>
#include <bit>
#include <cassert>
#include <utility>

#include "verify/record.h"

namespace plov::server {

namespace {

constexpr size_t kBlockBytesMin = size_t{128} << 10;
constexpr size_t kBlockBytesMax = size_t{1} << 20;
// Cleaning begins when less than this part of the memory is free, or so many blocks.
constexpr size_t kReservePart = 64;
constexpr size_t kReserveBlocks = 4;

size_t PagesFor(size_t bytes) { return (bytes + kPageBytes - 1) / kPageBytes * kPageBytes; }

// A READ costs by the lines it touches, so records are whole lines where that costs little.
constexpr size_t kLinePart = 8;  // of a record, may be lost to fill its last line

}  // namespace

size_t RecordArea::BlockBytesFor(size_t budget_bytes, size_t blocks) {
  return std::clamp(std::bit_floor(budget_bytes / blocks), kBlockBytesMin, kBlockBytesMax);
}

uint32_t RecordArea::PlacedBytes(size_t record_bytes) {
  const size_t words = verify::RoundUpToWord(record_bytes);
  const size_t lines = (words + verify::kLineBytes - 1) / verify::kLineBytes * verify::kLineBytes;
  return static_cast<uint32_t>((lines - words) * kLinePart <= words ? lines : words);
}

RecordArea::RecordArea(Region* region, Memory* memory, size_t block_bytes)
    : region_(region),
      memory_(memory),
      block_bytes_(block_bytes != 0 ? block_bytes : BlockBytesFor(memory->budget_bytes())),
      reserve_min_bytes_(
          std::max(kReserveBlocks * block_bytes_, memory->budget_bytes() / kReservePart)),
      blocks_(region->memory().size() / block_bytes_) {
  assert(std::has_single_bit(block_bytes_) && block_bytes_ >= kPageBytes);
}

bool RecordArea::IsRun(size_t record_bytes) const {
  return PlacedBytes(record_bytes) > block_bytes_ / kWorthPart;
}

// True when nothing keeps a block but what lives in it.
bool RecordArea::IsIdle(const Block& block) const {
  return (block.state == State::kClosed || block.state == State::kDamaged) && block.pins == 0;
}

std::optional<uint64_t> RecordArea::Allocate(size_t record_bytes) {
  assert(record_bytes >= verify::kRecordHeaderBytes && record_bytes <= verify::kRecordBytesMax);
  auto offset = IsRun(record_bytes) ? AllocateRun(record_bytes) : Append(&fresh_, record_bytes);
  // What cleaning has gained may be no whole block. Its place is not touched while it has no spare.
  if (!offset && !IsRun(record_bytes) && spare_ && HasRoom(moved_, record_bytes)) {
    offset = Append(&moved_, record_bytes);
  }
  if (!offset) CloseSparse();
  return offset;
}

std::optional<uint64_t> RecordArea::AllocateRun(size_t record_bytes) {
  if (!KeepSpare()) return std::nullopt;
  const size_t bytes = PagesFor(record_bytes);
  const auto offset = memory_->Take(bytes, kPageBytes, Memory::End::kLow);
  if (!offset) return std::nullopt;
  if (!memory_->Commit(*offset, bytes)) {
    memory_->Give(*offset, bytes);
    return std::nullopt;
  }
  run_bytes_ += bytes;
  verify::WriteDeadHead(verify::WordsAt(region_->data(), *offset), record_bytes);
  return offset;
}

bool RecordArea::HasRoom(const Index& open, size_t record_bytes) const {
  return open && blocks_[*open].used_bytes + PlacedBytes(record_bytes) <= block_bytes_;
}

// A new record leaves a spare block; a moved one may take it.
std::optional<uint64_t> RecordArea::Append(Index* open, size_t record_bytes) {
  const uint32_t bytes = PlacedBytes(record_bytes);
  if (*open && blocks_[**open].live_bytes == 0 && blocks_[**open].pins == 0) {
    blocks_[**open].used_bytes = 0;  // as good as a fresh one
  }
  if (!HasRoom(*open, record_bytes)) {
    if (open == &fresh_ && !KeepSpare()) return std::nullopt;
    Index next = TakeBlock(State::kOpen);
    if (!next && open == &moved_ && spare_) {
      next = std::exchange(spare_, std::nullopt);
      blocks_[*next].state = State::kOpen;
    }
    if (!next) return std::nullopt;
    Close(open);
    *open = next;
  }
  Block& block = blocks_[**open];
  const uint64_t offset = **open * block_bytes_ + block.used_bytes;
  block.used_bytes += bytes;
  block.live_bytes += bytes;
  live_bytes_ += bytes;
  verify::WriteDeadHead(verify::WordsAt(region_->data(), offset), record_bytes);
  return offset;
}

RecordArea::Index RecordArea::BlockWithMostDead() const {
  Index most;
  uint32_t most_bytes = 0;
  for (size_t i = 0; i < blocks_end_; ++i) {
    const Block& block = blocks_[i];
    const uint32_t dead_bytes = block.used_bytes - block.live_bytes;
    if (block.state != State::kClosed || block.pins > 0 || dead_bytes <= most_bytes) continue;
    most_bytes = dead_bytes;
    most = i;
  }
  return most;
}

// Whether nothing is left there, or what a dead record fills.
bool RecordArea::IsGap(size_t bytes) {
  return bytes == 0 || (bytes >= verify::kRecordHeaderBytes && PlacedBytes(bytes) == bytes);
}

// Where in a block dead records, one behind the other, are as long as one that is exactly so long,
// or longer by a gap. The walk has to meet all that is known to live in the block: what a former
// life left behind its last record may look like anything.
std::optional<RecordArea::Hole> RecordArea::FindHole(size_t index, size_t bytes) {
  Block& block = blocks_[index];
  std::optional<Hole> found;
  size_t hole = 0;
  size_t live_bytes = 0;
  for (size_t at = 0; at + verify::kRecordHeaderBytes <= block.used_bytes;) {
    const verify::OwnHead head = verify::OwnRecordHead(region_->data(), index * block_bytes_ + at);
    const size_t next = at + PlacedBytes(head.record_bytes);
    if (head.record_bytes == 0 || IsRun(head.record_bytes) || next > block.used_bytes) break;
    if (head.live) {
      live_bytes += next - at;
      hole = next;
    } else if (!found) {
      if (IsRun(next - hole)) hole = at;
      const size_t hole_bytes = next - hole;
      const bool fits = hole_bytes >= bytes && IsGap(hole_bytes) && IsGap(hole_bytes - bytes);
      if (fits) found = Hole{hole, hole_bytes};
    }
    if (found && live_bytes == block.live_bytes) return found;
    at = next;
  }
  if (live_bytes != block.live_bytes) {
    block.state = State::kDamaged;
    ++damaged_blocks_;
  }
  return std::nullopt;
}

std::optional<uint64_t> RecordArea::AllocateInHole(size_t record_bytes) {
  if (IsRun(record_bytes)) return std::nullopt;
  const uint32_t bytes = PlacedBytes(record_bytes);
  const Index index = BlockWithMostDead();
  if (!index) return std::nullopt;
  const auto hole = FindHole(*index, bytes);
  if (!hole) return std::nullopt;
  Block& block = blocks_[*index];
  const uint64_t offset = *index * block_bytes_ + hole->begin;
  uint64_t* place = verify::WordsAt(region_->data(), offset);
  // The block can be walked at any instant: the hole becomes one dead record, then the head of what
  // is left of it is written inside of that, and then it is cut in two.
  const size_t left_bytes = hole->bytes - bytes;
  verify::WriteDeadHead(place, hole->bytes);
  if (left_bytes > 0) {
    verify::WriteDeadHead(verify::WordsAt(region_->data(), offset + bytes), left_bytes);
  }
  verify::WriteDeadHead(place, record_bytes);
  block.live_bytes += bytes;
  live_bytes_ += bytes;
  if (victim_ == index) victim_.reset();
  return offset;
}

std::optional<uint64_t> RecordArea::MoveTo(size_t record_bytes) {
  const auto offset = Append(&moved_, record_bytes);
  if (offset) {
    ++moved_records_;
    moved_bytes_ += PlacedBytes(record_bytes);
  } else {
    move_failed_ = true;
  }
  return offset;
}

bool RecordArea::KeepSpare() {
  if (!spare_) spare_ = TakeBlock(State::kSpare);
  return spare_.has_value();
}

RecordArea::Index RecordArea::TakeBlock(State state) {
  const auto offset = memory_->Take(block_bytes_, block_bytes_, Memory::End::kLow);
  if (!offset) return std::nullopt;
  if (!memory_->Commit(*offset, block_bytes_)) {
    memory_->Give(*offset, block_bytes_);
    return std::nullopt;
  }
  const size_t index = *offset / block_bytes_;
  blocks_[index] = {.state = state};
  blocks_end_ = std::max(blocks_end_, index + 1);
  ++block_count_;
  return index;
}

void RecordArea::Close(Index* open) {
  if (!*open) return;
  Block& block = blocks_[**open];
  block.state = State::kClosed;
  no_victim_ = false;
  if (block.live_bytes == 0 && block.pins == 0) Drop(**open);
  open->reset();
}

// Memory is full: what is dead in the open blocks is worth cleaning too.
void RecordArea::CloseSparse() {
  for (Index* open : {&fresh_, &moved_}) {
    if (!*open) continue;
    const Block& block = blocks_[**open];
    if (block.used_bytes - block.live_bytes >= WorthBytes()) Close(open);
  }
}

// Gives back a block in which nothing lives.
void RecordArea::Drop(size_t index) {
  if (victim_ == index) victim_.reset();
  if (!spare_) {
    blocks_[index] = {.state = State::kSpare};
    spare_ = index;
    return;
  }
  blocks_[index] = {};
  --block_count_;
  memory_->Give(index * block_bytes_, block_bytes_);
}

// Nothing is stored any more: all memory is for the table.
void RecordArea::GiveAll() {
  Close(&fresh_);
  Close(&moved_);
  if (!spare_) return;
  const size_t spare = *spare_;
  Drop(spare);
  spare_.reset();
}

void RecordArea::Free(uint64_t offset, size_t record_bytes) {
  if (IsRun(record_bytes)) {
    run_bytes_ -= PagesFor(record_bytes);
    memory_->Give(offset, PagesFor(record_bytes));
  } else {
    const uint32_t bytes = PlacedBytes(record_bytes);
    const size_t index = offset / block_bytes_;
    Block& block = blocks_[index];
    assert(block.state != State::kNone && block.live_bytes >= bytes);
    block.live_bytes -= bytes;
    live_bytes_ -= bytes;
    freed_bytes_ += bytes;
    if (block.live_bytes == 0 && IsIdle(block)) Drop(index);
  }
  if (allocated_bytes() == 0) GiveAll();
}

void RecordArea::Pin(uint64_t offset, size_t record_bytes) {
  if (!IsRun(record_bytes)) ++blocks_[offset / block_bytes_].pins;
}

void RecordArea::Unpin(uint64_t offset, size_t record_bytes) {
  if (IsRun(record_bytes)) return;
  const size_t index = offset / block_bytes_;
  Block& block = blocks_[index];
  assert(block.pins > 0);
  if (--block.pins > 0) return;
  no_victim_ = false;
  if (block.live_bytes == 0 && IsIdle(block)) Drop(index);
}

bool RecordArea::wants_cleaning() const {
  return memory_->available_bytes() < std::max(reserve_min_bytes_, reserve_bytes_) &&
         (victim_ || !no_victim_ || freed_bytes_ >= WorthBytes());
}

bool RecordArea::MayFit(size_t record_bytes) const {
  const size_t dead_bytes = block_count_ * block_bytes_ - live_bytes_;
  return record_bytes + block_bytes_ <= memory_->available_bytes() + dead_bytes;
}

size_t RecordArea::WorthBytes(size_t wanted_bytes) const {
  if (wanted_bytes > block_bytes_ / kWorthPart) return WorthBytes();
  return std::max<size_t>(PlacedBytes(wanted_bytes), block_bytes_ / kWorthPartWhenFull);
}

// The block in which the most was freed, if it is worth it and what lives in it has a place.
bool RecordArea::FindVictim(size_t worth_bytes) {
  if (victim_ && IsIdle(blocks_[*victim_])) return true;
  victim_.reset();
  if (no_victim_) {
    const bool is_usual = worth_bytes == WorthBytes();
    if (freed_bytes_ + (is_usual ? 0 : most_dead_bytes_) < worth_bytes) return false;
  }
  size_t room = block_bytes_;
  if (!spare_ && memory_->available_bytes() < block_bytes_) {
    room = moved_ ? block_bytes_ - blocks_[*moved_].used_bytes : 0;
  }
  most_dead_bytes_ = 0;
  for (size_t i = 0; i < blocks_end_; ++i) {
    const Block& block = blocks_[i];
    if (block.state != State::kClosed || block.pins > 0 || block.live_bytes > room) continue;
    const size_t dead_bytes = block.used_bytes - block.live_bytes;
    if (dead_bytes <= most_dead_bytes_) continue;
    most_dead_bytes_ = dead_bytes;
    victim_ = i;
  }
  freed_bytes_ = 0;
  no_victim_ = most_dead_bytes_ < worth_bytes;
  if (no_victim_) victim_.reset();
  cursor_ = 0;
  return victim_.has_value();
}

bool RecordArea::Clean(size_t bytes, const Relocate& relocate, size_t wanted_bytes) {
  bool cleaned = false;
  move_failed_ = false;
  const size_t worth_bytes = WorthBytes(wanted_bytes);
  for (size_t done = 0; done < bytes && !move_failed_; done += WalkOne(relocate)) {
    if (!FindVictim(worth_bytes)) return cleaned;
    cleaned = true;
  }
  return cleaned && !move_failed_;
}

// Looks at the victim's next record. Returns what it cost: a dead one is a look at its head. What
// is freed to the last record is dropped by Free, so who comes to the end has met records that
// nobody owns up to, or lengths that are not true; of an adopted block what lies behind its last
// record may be anything.
size_t RecordArea::WalkOne(const Relocate& relocate) {
  Block& block = blocks_[*victim_];
  const uint64_t offset = *victim_ * block_bytes_ + cursor_;
  const size_t rest_bytes = block.used_bytes - cursor_;
  verify::OwnHead head = {};
  if (rest_bytes >= verify::kRecordHeaderBytes) {
    head = verify::OwnRecordHead(region_->data(), offset);
  }
  if (head.record_bytes == 0 || IsRun(head.record_bytes) ||
      PlacedBytes(head.record_bytes) > rest_bytes) {
    block.state = State::kDamaged;
    ++damaged_blocks_;
    victim_.reset();
    return verify::kRecordHeaderBytes;
  }
  cursor_ += PlacedBytes(head.record_bytes);
  if (!head.live) return verify::kRecordHeaderBytes;
  relocate(offset, head.record_bytes);
  if (move_failed_) {  // until more is free; the block is sound
    victim_.reset();
    no_victim_ = true;
    most_dead_bytes_ = freed_bytes_ = 0;
  }
  return head.record_bytes;
}

bool RecordArea::AdoptRun(uint64_t offset, size_t record_bytes) {
  const size_t bytes = PagesFor(record_bytes);
  if (offset % kPageBytes != 0 || !memory_->Claim(offset, bytes)) return false;
  run_bytes_ += bytes;
  return true;
}

bool RecordArea::Adopt(uint64_t offset, size_t record_bytes) {
  if (offset % verify::kWordBytes != 0 || record_bytes < verify::kRecordHeaderBytes ||
      record_bytes > verify::kRecordBytesMax) {
    return false;
  }
  if (IsRun(record_bytes)) return AdoptRun(offset, record_bytes);
  const size_t index = offset / block_bytes_;
  const uint32_t bytes = PlacedBytes(record_bytes);
  if (index >= blocks_.size() || offset % block_bytes_ + bytes > block_bytes_) return false;
  Block& block = blocks_[index];
  if (block.state == State::kNone) {
    if (!memory_->Claim(index * block_bytes_, block_bytes_)) return false;
    block = {.used_bytes = static_cast<uint32_t>(block_bytes_), .state = State::kClosed};
    blocks_end_ = std::max(blocks_end_, index + 1);
    ++block_count_;
  }
  if (block.state != State::kClosed) return false;
  block.live_bytes += bytes;
  live_bytes_ += bytes;
  return true;
}

}  // namespace plov::server
