// Transactions: several keys as they all were at one instant (R13), and writes that are applied all or none (W12).
//
// A Snapshot reads the keys in rounds. Where two rounds, one after the other, have the same evidence of every key, nothing
// about any of them changed between the end of the first and the begin of the second.
//
// Threads: the client's.
#pragma once

#include <plov/client.h>

#include <expected>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "client/get.h"
#include "client/write_queue.h"

namespace plov {

class Engine;

// A Commit as it is sent.
struct EncodedCommit {
  std::string key;  // its first
  std::string body;
  size_t writes = 0;

  Write AsWrite() const;
  // The version of its first write.
  Client::PutResult ResultOf(WriteResult result) const;
};

class Transactions {
 public:
  // It outlives this.
  explicit Transactions(Engine* engine) : engine_(engine) {}

  // The values' bytes stay until the next one.
  std::expected<std::vector<std::optional<Item>>, Error> Snapshot(
      std::span<const std::string_view> keys);
  Client::PutResult Commit(std::span<const CommitRead> reads, std::span<const CommitWrite> writes);
  std::expected<EncodedCommit, Error> Encode(std::span<const CommitRead> reads,
                                             std::span<const CommitWrite> writes) const;

 private:
  struct Seen {
    std::optional<Item> item;
    std::string value;
    Evidence evidence;
  };
  struct Round;

  std::optional<Error> WhyNot(std::span<const std::string_view> keys) const;

  Engine* engine_;
  std::vector<Seen> seen_;  // of the last Snapshot
};

}  // namespace plov
