// WarmStart: a shard's start from memory that outlived its server, beside a log (--warm with --log).
//
// Which of the two counts:
//   no memory, or of before the host restarted, or half restored   the log; the memory is made from it
//   memory that was served with this log last                      the memory; the log gets what it lacks
//   memory, and no log yet                                         the memory; all of it is logged
//   memory of another log, or the log went on without it           refused: nobody knows which is meant
//
// Threads: one at a time. Steps, in this order: Open, Prepare, Check, Recover, Finish.
#pragma once

#include <cstdint>
#include <expected>
#include <optional>
#include <string>

#include "server/durable_log.h"
#include "server/sessions.h"
#include "server/store.h"
#include "server/unlogged.h"
#include "server/warm_tail.h"

namespace plov::server {

class WarmStart {
 public:
  // kNoSpace, kPermission, kInvalidArgument, kSystem.
  static std::expected<WarmStart, Error> Open(const std::string& warm_path);

  // What the memory file holds is to be given up, for the log has it.
  bool discards() const;
  // The memory may be all that is needed.
  bool may_take_over() const;
  // The log has been opened and nobody else has it; the memory is about to be. It counts from then on that it
  // is only being restored.
  void Prepare();
  // The memory has been opened. kInvalidArgument.
  std::expected<void, Error> Check(const Store& store, const DurableLog& log);
  // Brings the memory to where memory and log lead together. As DurableLog::Recover.
  std::expected<void, Error> Recover(DurableLog* log, Store* store, Sessions* sessions);
  // The log has begun: brings it to the same. kNoSpace, kSystem.
  std::expected<void, Error> Finish(DurableLog* log, const Store& store);

  WarmTail* tail() { return &tail_; }

 private:
  enum class Kind {
    kFresh,  // from the log
    kTaken,  // memory and log go on together
    kBegun,  // a log begins
  };

  WarmStart(std::string warm_path, WarmTail tail)
      : warm_path_(std::move(warm_path)), tail_(std::move(tail)) {}

  std::unexpected<Error> Refuse() const;

  std::string warm_path_;
  WarmTail tail_;
  Kind kind_ = Kind::kFresh;
  std::optional<Unlogged> unlogged_;
};

}  // namespace plov::server
