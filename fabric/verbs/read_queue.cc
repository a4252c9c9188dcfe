#include "fabric/verbs/read_queue.h"

#include <algorithm>
#include <cstring>

#include "verify/words.h"

namespace plov::fabric::verbs {

namespace {

constexpr uint32_t kLineBytes = 64;
// Pieces in flight: all that a full depth of small READs makes, and as many more of large ones.
constexpr size_t kPiecesPerOp = 2;

uint32_t RoundUpToLine(uint32_t bytes) {
  return (bytes + kLineBytes - 1) / kLineBytes * kLineBytes;
}

}  // namespace

ReadQueue::ReadQueue(const RemoteRegion& region, uint32_t depth, RegisteredPages bounce)
    : region_(region), bounce_(std::move(bounce)), ops_(depth), pieces_(kPiecesPerOp * depth) {}

bool ReadQueue::InRange(const ReadOp& read) const {
  return verify::WordsInside(read.offset, read.bytes, region_.bytes);
}

size_t ReadQueue::Take(std::span<const ReadOp> batch) {
  const size_t count = std::min<size_t>(batch.size(), ops_.size() - (taken_ - collected_));
  for (const ReadOp& read : batch.first(count)) {
    Op& fresh = op(taken_++);
    fresh = {.read = read};
    if (!failed_ && InRange(read)) continue;
    fresh.status = failed_ ? Status::kPeerGone : Status::kOutOfRange;
    fresh.posted_bytes = fresh.arrived_bytes = read.bytes;
  }
  return count;
}

// Room in the bounce ring that does not wrap: what is left at its end is given up with the piece.
bool ReadQueue::MakePiece(Op* op, uint32_t index, Piece* piece) {
  if (piece_tail_ - piece_head_ == pieces_.size()) return false;
  *piece = {.op = index, .at = op->posted_bytes, .bytes = 0, .bounce_at = 0, .bounce_bytes = 0};
  piece->bytes = std::min(op->read.bytes - op->posted_bytes, kPieceBytes);
  const uint32_t wanted = RoundUpToLine(piece->bytes);
  const uint32_t rest = kBounceBytes - bounce_tail_;
  const uint32_t skipped = wanted <= rest ? 0 : rest;
  if (skipped + wanted > kBounceBytes - bounce_used_) return false;
  piece->bounce_at = (bounce_tail_ + skipped) % kBounceBytes;
  piece->bounce_bytes = skipped + wanted;
  bounce_tail_ = (piece->bounce_at + wanted) % kBounceBytes;
  bounce_used_ += piece->bounce_bytes;
  return true;
}

bool ReadQueue::NextPiece(ibv_send_wr* request, ibv_sge* destination) {
  while (posted_ < taken_ && op(posted_).posted_bytes == op(posted_).read.bytes) ++posted_;
  if (posted_ == taken_) return false;
  Op& next = op(posted_);
  Piece piece;
  if (!MakePiece(&next, static_cast<uint32_t>(posted_ % ops_.size()), &piece)) return false;
  next.posted_bytes += piece.bytes;
  pieces_[piece_tail_++ % pieces_.size()] = piece;
  *destination = {AddressOf(bounce_.at(piece.bounce_at)), piece.bytes, bounce_.lkey()};
  *request = {};
  request->sg_list = destination;
  request->num_sge = 1;
  request->opcode = IBV_WR_RDMA_READ;
  request->wr.rdma.remote_addr = region_.address + next.read.offset + piece.at;
  request->wr.rdma.rkey = region_.rkey;
  return true;
}

void ReadQueue::Complete() {
  const Piece& piece = pieces_[piece_head_++ % pieces_.size()];
  Op& of = ops_[piece.op];
  std::memcpy(of.read.to + piece.at, bounce_.at(piece.bounce_at), piece.bytes);
  bounce_used_ -= piece.bounce_bytes;
  of.arrived_bytes += piece.bytes;
}

void ReadQueue::Fail() {
  failed_ = true;
  bounce_.mr.reset();
  for (uint64_t number = collected_; number < taken_; ++number) {
    Op& left = op(number);
    if (left.arrived_bytes == left.read.bytes && left.read.bytes > 0) continue;
    if (left.status == Status::kDone) left.status = Status::kPeerGone;
    left.posted_bytes = left.arrived_bytes = left.read.bytes;
  }
  piece_head_ = piece_tail_;
}

bool ReadQueue::has_finished() const {
  return collected_ < taken_ && op(collected_).arrived_bytes == op(collected_).read.bytes;
}

size_t ReadQueue::Collect(std::span<Completion> completions) {
  size_t count = 0;
  for (; count < completions.size() && has_finished(); ++count) {
    const Op& done = op(collected_);
    completions[count] = {done.read.tag, done.status};
    ++collected_;
    posted_ = std::max(posted_, collected_);
  }
  return count;
}

}  // namespace plov::fabric::verbs
