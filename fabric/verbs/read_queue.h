// ReadQueue: a connection's READs on their way, in order; a queue pair completes them in order.
//
//   taken ops   [collected .. finished .. posted .. taken)   at most `depth`
//   pieces      what is posted of them, one work request each
//   bounce      a ring of registered bytes where a piece lands, in the order of the pieces
//
// The memory that READs go to is not registered (registering costs more than a small READ), so
// what arrives is copied out of the bounce memory once it is complete: about 0.1 ns a byte, one
// more pass over bytes that a checksum is about to read anyway. A READ longer than a piece is cut;
// pieces are whole words, so words are never torn.
//
// The caller's memory is touched only inside Complete, so a READ that no caller waits for any more
// does no harm before its completion is polled.
#pragma once

#include <infiniband/verbs.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "fabric/fabric.h"
#include "fabric/verbs/memory.h"

namespace plov::fabric::verbs {

// What a card copies in a few microseconds; several fit under the bounce memory, so that the wire
// stays busy while one is copied out.
inline constexpr uint32_t kPieceBytes = 32 << 10;
inline constexpr uint32_t kBounceBytes = 256 << 10;

struct RemoteRegion {
  uint64_t address = 0;
  uint64_t bytes = 0;
  uint32_t rkey = 0;
};

class ReadQueue {
 public:
  ReadQueue(const RemoteRegion& region, uint32_t depth, RegisteredPages bounce);

  // As many as fit under the depth.
  size_t Take(std::span<const ReadOp> batch);

  // Fills in the work request of the next piece, but for its wr_id and flags; false when there is
  // none, or no room for it.
  bool NextPiece(ibv_send_wr* request, ibv_sge* destination);

  // The oldest piece that was posted has arrived: its bytes go to the caller's memory.
  void Complete();
  // Nothing more arrives: every READ that is not finished ends with kPeerGone. The bounce
  // memory is registered no more.
  void Fail();

  size_t Collect(std::span<Completion> completions);
  bool has_finished() const;
  bool idle() const { return collected_ == taken_; }

 private:
  struct Op {
    ReadOp read;
    uint32_t posted_bytes = 0;
    uint32_t arrived_bytes = 0;
    Status status = Status::kDone;
  };
  struct Piece {
    uint32_t op;  // its index in ops_
    uint32_t at;  // in the READ
    uint32_t bytes;
    uint32_t bounce_at;
    uint32_t bounce_bytes;  // with what was left over at the ring's end
  };

  Op& op(uint64_t number) { return ops_[number % ops_.size()]; }
  const Op& op(uint64_t number) const { return ops_[number % ops_.size()]; }
  bool InRange(const ReadOp& read) const;
  bool MakePiece(Op* op, uint32_t index, Piece* piece);

  RemoteRegion region_;
  RegisteredPages bounce_;
  std::vector<Op> ops_;
  uint64_t taken_ = 0;
  uint64_t posted_ = 0;  // ops of which nothing is left to post
  uint64_t collected_ = 0;
  std::vector<Piece> pieces_;  // a ring, too
  uint64_t piece_head_ = 0;
  uint64_t piece_tail_ = 0;
  uint32_t bounce_tail_ = 0;
  uint32_t bounce_used_ = 0;
  bool failed_ = false;
};

}  // namespace plov::fabric::verbs
