// StreamListener: what a server listens on for the streams of its shards' replicas.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "fabric/fabric.h"
#include "server/region.h"
#include "server/stream_port.h"
#include "verify/superblock.h"

namespace plov::server {

class StreamListener {
 public:
  explicit StreamListener(const std::string& uri)
      : page_(*Region::Create({.budget_bytes = verify::kPageBytes})),
        listener_(*fabric::Listener::Listen(uri, Options())) {
    EXPECT_TRUE(page_.Commit(0, verify::kPageBytes));
  }

  fabric::Port* Expose(uint32_t shard) {
    return *listener_->Expose(StreamShardOf(shard),
                              {.region = page_.memory(), .region_fd = page_.fd()});
  }
  fabric::Listener* operator->() { return listener_.get(); }

 private:
  static fabric::ListenOptions Options() {
    fabric::ListenOptions options;
    options.format_version = verify::kFormatVersion;
    return options;
  }

  Region page_;
  std::unique_ptr<fabric::Listener> listener_;
};

}  // namespace plov::server
