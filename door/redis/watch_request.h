// WatchRequest: WATCH, which remembers the versions of its keys. It runs alone: what its connection reads after it is
// no older than what it saw.
//
// Threads: a worker's.
#pragma once

#include <plov/client.h>

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "door/redis/lone_request.h"
#include "door/redis/multi.h"

namespace plov::door::redis {

inline constexpr std::string_view kTooManyWatched =
    "ERR plov: a connection watches 128 keys at most";

class WatchRequest final : public LoneRequest {
 public:
  // keys: kCommitItemsMax at most.
  WatchRequest(std::vector<std::string> keys, std::shared_ptr<Watches> watches)
      : keys_(std::move(keys)), watches_(std::move(watches)) {}

  void Start(Worker* worker) override;
  size_t bytes() const override;

 private:
  void TakeRead(size_t i, const Client::GetResult& result);
  void End();
  bool AddWatches();

  const std::vector<std::string> keys_;
  const std::shared_ptr<Watches> watches_;
  Worker* worker_ = nullptr;
  std::vector<Version> versions_;
  size_t left_ = 0;  // reads under way
  std::optional<Error> error_;
};

}  // namespace plov::door::redis
