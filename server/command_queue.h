// CommandQueue: what operators ask of a running server (`plov config`, `plov drain`), on its way from the
// thread of a shard, which never waits for it, to the main thread, which answers.
//
// Threads: Post is the shard's, Take and Answer are the main thread's.
#pragma once

#include <atomic>
#include <expected>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "fabric/os.h"
#include "verify/error.h"

namespace plov::server {

struct Command {
  std::string name;
  std::string argument;
  bool may_change = false;  // whoever asks is root, the server's user, or vouched for by nobody

  // The answer; the main thread's until is_answered.
  Code status = Code::kOk;
  std::string text = {};                  // lines of "name value", or why it is refused
  std::atomic<bool> is_answered = false;  // stored with release, loaded with acquire by the shard
};

class CommandQueue {
 public:
  // wake: called when a command has been answered. kSystem.
  static std::expected<std::unique_ptr<CommandQueue>, Error> Create(std::function<void()> wake) {
    auto event = fabric::CreateEventFd();
    if (!event) return std::unexpected(event.error());
    return std::unique_ptr<CommandQueue>(new CommandQueue(std::move(*event), std::move(wake)));
  }

  // A client has one command under way, so there are no more than clients.
  void Post(std::shared_ptr<Command> command) {
    {
      const std::lock_guard lock(mutex_);
      waiting_.push_back(std::move(command));
    }
    fabric::Ring(event_.get());
  }

  // Readable while commands wait.
  int fd() const { return event_.get(); }
  std::vector<std::shared_ptr<Command>> Take() {
    fabric::ClearEvent(event_.get());
    const std::lock_guard lock(mutex_);
    return std::exchange(waiting_, {});
  }
  void Answer(Command* command, std::expected<std::string, Error> answer) {
    if (!answer) command->status = answer.error().code;
    command->text = answer ? std::move(*answer) : std::move(answer.error().message);
    command->is_answered.store(true, std::memory_order_release);
    wake_();
  }

 private:
  CommandQueue(fabric::Fd event, std::function<void()> wake)
      : event_(std::move(event)), wake_(std::move(wake)) {}

  fabric::Fd event_;
  std::function<void()> wake_;
  std::mutex mutex_;
  std::vector<std::shared_ptr<Command>> waiting_;  // oldest first
};

}  // namespace plov::server
