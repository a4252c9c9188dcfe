// Requester: the client's side of a run: posts requests, takes and checks their replies.
#pragma once

#include <cstdint>
#include <expected>
#include <vector>

#include "bench/verbs/endpoint.h"

namespace plov::bench {

class Requester {
 public:
  Requester(Endpoint* endpoint, const Run& run);

  // Posts the receives of the first replies. Before the server may send.
  std::expected<void, Error> Open();

  uint64_t posted() const { return posted_; }
  uint64_t answered() const { return answered_; }
  uint64_t reads() const { return reads_; }

  // Posts that many further requests, with one doorbell.
  std::expected<void, Error> Post(uint64_t count);

  // Takes the replies that have come, in their order. kCorrupt: one is wrong.
  std::expected<void, Error> Poll();

  // Why the oldest request has no reply: what is in its place is no reply, or not this one's.
  std::string Missing() const;

 private:
  uint64_t SlotOf(uint64_t operation) const { return operation % window_; }
  bool HasReply(uint64_t operation) const;
  std::expected<void, Error> PollReceives();
  std::expected<void, Error> PollReads();
  void PollMemory();
  std::unexpected<Error> Wrong(uint64_t operation) const;

  Endpoint* endpoint_;
  const Combination* combination_;
  uint64_t window_;
  uint64_t posted_ = 0;
  uint64_t answered_ = 0;
  uint64_t reads_ = 0;
  std::vector<uint64_t> done_;  // READs
  std::vector<bool> arrived_;   // of the operations in flight, by slot
};

}  // namespace plov::bench
