// Unlogged: what a killed server had stored in its warm memory and not yet written to its log. The next server
// logs it, in the order of the versions, before it serves; so nothing is lost, in any mode (plov(7), rule D12).
//
// Of a memory that was kept without a log so far this is all of it.
//
// Threads: one, before the shard's. Memory: 16 bytes for each item that is logged.
#pragma once

#include <cstdint>
#include <expected>
#include <string>
#include <vector>

#include "log/group_commit.h"
#include "server/sessions.h"
#include "server/store.h"
#include "server/warm_tail.h"

namespace plov::server {

class Unlogged {
 public:
  // `logged`: the greatest version that the log has, whose replay is over. The store outlives it.
  Unlogged(Store* store, uint64_t logged) : store_(store), logged_(logged) {}

  // What the tail says of writes that the log has not, and then as Find: keys that were deleted are, and the
  // sessions know whose writes were applied. kCorrupt.
  std::expected<void, Error> Take(const WarmTail& tail, Sessions* sessions);
  // Finds the items.
  void Find();
  uint64_t count() const { return items_.size() + absent_.size(); }
  // Appends all of it, and that versions up to the store's last are given out, and has it synced. kNoSpace,
  // kSystem.
  std::expected<void, Error> Log(log::GroupCommit* log) const;

 private:
  struct Item {
    uint64_t version;
    uint64_t place;  // of the store's
  };
  // Whose write a version was.
  struct Writer {
    uint64_t version;
    uint64_t client_id;
    uint64_t sequence;
  };
  // A write that left no item: a DELETE of the key, or without one a write that was superseded.
  struct Absent {
    uint64_t version;
    std::string key;
  };

  bool IsLogged(uint64_t version) const;
  const Writer* WriterOf(uint64_t version) const;
  std::expected<void, Error> LogItem(const Item& item, log::GroupCommit* log) const;
  std::expected<void, Error> LogAbsent(const Absent& absent, log::GroupCommit* log) const;
  std::expected<void, Error> Append(verify::Logged operation, log::GroupCommit* log) const;

  Store* store_;
  uint64_t logged_;
  // Each in the order of versions.
  std::vector<Item> items_;
  std::vector<Absent> absent_;
  std::vector<Writer> writers_;
};

}  // namespace plov::server
