// Responder: the server's side of a run: finds requests, checks them, replies.
#pragma once

#include <cstdint>
#include <expected>

#include "bench/verbs/endpoint.h"

namespace plov::bench {

class Responder {
 public:
  Responder(Endpoint* endpoint, const Run& run);

  // Posts the receives of the first requests, writes what READs find. Before the client may send.
  std::expected<void, Error> Open();

  // Replies to the requests that have come; returns how many. kCorrupt: one is wrong.
  std::expected<uint64_t, Error> Poll();

  uint64_t replied() const { return replied_; }

 private:
  std::expected<bool, Error> HasNext();
  std::expected<void, Error> Reply();

  Endpoint* endpoint_;
  const Combination* combination_;
  uint64_t window_;
  uint64_t replied_ = 0;
};

}  // namespace plov::bench
