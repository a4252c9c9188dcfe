// Multi: what a connection has of a transaction that is to come: the keys that it watches, and its commands since MULTI.
//
// Threads: a worker's.
#pragma once

#include <plov/client.h>

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace plov::door::redis {

struct Command;

// What WATCH saw of its keys, kCommitItemsMax at most.
struct Watches {
  struct Watch {
    std::string key;
    Version version;  // 0: it was absent
  };
  std::vector<Watch> all;

  bool Has(std::string_view key) const;
  size_t bytes() const;
};

struct QueuedCommand {
  const Command* command;
  std::vector<std::string> arguments;

  // That it allocates, with room that a growing list of them has.
  static size_t BytesOf(std::span<const std::string_view> arguments);
};

class Multi {
 public:
  struct Queue {
    std::vector<QueuedCommand> commands;
    size_t argument_count = 0;
    size_t bytes = 0;
  };

  bool is_open() const { return is_open_; }
  void Open() { is_open_ = true; }
  // Within BytesOf, for which there is memory.
  void Add(const Command* command, std::span<const std::string_view> arguments);
  // A command was refused: EXEC is to do nothing.
  void Spoil() { is_spoiled_ = is_open_; }
  bool is_spoiled() const { return is_spoiled_; }

  // Those that are told now; WATCHes under way go on with them, also where they are forgotten.
  const std::shared_ptr<Watches>& watches() const { return watches_; }
  void Unwatch() { watches_ = std::make_shared<Watches>(); }
  Queue TakeQueue() { return std::exchange(queue_, {}); }
  // Ends it, with its queue and its watches.
  void Clear();

  size_t bytes() const { return queue_.bytes + watches_->bytes(); }

 private:
  bool is_open_ = false;
  bool is_spoiled_ = false;
  Queue queue_;
  std::shared_ptr<Watches> watches_ = std::make_shared<Watches>();
};

}  // namespace plov::door::redis
