#include "fabric/shm/ring.h"

#include <linux/futex.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <ctime>

namespace plov::fabric::shm {

namespace {

// The run of bytes from `position` to the end of the data or of the message.
size_t RunBytes(std::span<std::byte> data, uint64_t position, size_t bytes) {
  return std::min(bytes, data.size() - (position & (data.size() - 1)));
}

uint64_t* WordsFrom(std::span<std::byte> data, uint64_t position) {
  return verify::WordsAt(data.data(), position & (data.size() - 1));
}

// Shared with another process, unlike std::atomic's wait. The kernel compares the word for itself.
void Futex(std::atomic<uint32_t>* word, int operation, uint32_t value, const timespec* timeout) {
  ::syscall(SYS_futex, word, operation, value, timeout, nullptr, 0);
}

}  // namespace

void RingWriter::Put(uint64_t position, const std::byte* from, size_t bytes) {
  const size_t run = RunBytes(data_, position, bytes);
  verify::CopyToShared(WordsFrom(data_, position), 0, from, run);
  if (run < bytes) verify::CopyToShared(WordsFrom(data_, 0), 0, from + run, bytes - run);
}

RingWriter::Result RingWriter::Write(std::span<const std::byte> message) {
  const uint64_t head = control_->head.load(std::memory_order_acquire);
  const uint64_t used = tail_ - head;
  if (used > data_.size()) return Result::kBroken;
  const size_t needed = RingBytesOf(message.size());
  if (needed > data_.size() - used) return Result::kNoRoom;
  verify::StoreWord(WordsFrom(data_, tail_), message.size());
  Put(tail_ + kRingHeadBytes, message.data(), message.size());
  tail_ += needed;
  control_->tail.store(tail_, std::memory_order_seq_cst);
  return Result::kWritten;
}

bool RingWriter::TakeSleeper() {
  if (control_->sleeps.load(std::memory_order_seq_cst) == 0) return false;
  const uint32_t how = control_->sleeps.exchange(0, std::memory_order_acq_rel);
  if (how == kSleepsHere) Futex(&control_->sleeps, FUTEX_WAKE, 1, nullptr);
  return how != 0 && how != kSleepsHere;
}

void RingReader::Get(uint64_t position, std::byte* to, size_t bytes) const {
  const size_t run = RunBytes(data_, position, bytes);
  verify::CopyFromShared(to, WordsFrom(data_, position), run);
  if (run < bytes) verify::CopyFromShared(to + run, WordsFrom(data_, 0), bytes - run);
}

RingReader::Result RingReader::Read(std::span<std::byte> buffer, size_t* bytes) {
  const uint64_t tail = control_->tail.load(std::memory_order_acquire);
  if (tail == head_) return Result::kNone;
  const uint64_t filled = tail - head_;
  if (filled > data_.size() || filled % verify::kWordBytes != 0) return Result::kBroken;
  const uint64_t length = verify::LoadWord(WordsFrom(data_, head_));
  if (length > buffer.size() || RingBytesOf(length) > filled) return Result::kBroken;
  Get(head_ + kRingHeadBytes, buffer.data(), length);
  head_ += RingBytesOf(length);
  control_->head.store(head_, std::memory_order_release);
  *bytes = length;
  return Result::kMessage;
}

bool RingReader::Announce(uint32_t how) {
  control_->sleeps.store(how, std::memory_order_seq_cst);
  if (control_->tail.load(std::memory_order_seq_cst) == head_) return true;
  StayAwake();
  return false;
}

void RingReader::SleepHere(std::chrono::nanoseconds most) {
  if (!Announce(kSleepsHere)) return;
  const auto seconds = std::chrono::floor<std::chrono::seconds>(most);
  const timespec timeout{.tv_sec = seconds.count(), .tv_nsec = (most - seconds).count()};
  Futex(&control_->sleeps, FUTEX_WAIT, kSleepsHere, &timeout);
  StayAwake();
}

uint32_t ThisCore() { return static_cast<uint32_t>(::sched_getcpu() + 1); }

}  // namespace plov::fabric::shm
