// Mailbox: what other threads ask a worker's thread to do, in the order in which they ask.
//
// Who asks shares it, so it outlives a worker that has ended; what it holds then is never done.
//
// Threads: Post any; everything else the worker's.
#pragma once

#include <sys/eventfd.h>

#include <functional>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "fabric/os.h"

namespace plov::door {

class Mailbox {
 public:
  using Task = std::move_only_function<void()>;

  // fd: an eventfd.
  explicit Mailbox(fabric::Fd fd) : fd_(std::move(fd)) {}

  void Post(Task task) {
    {
      const std::lock_guard lock(mutex_);
      tasks_.push_back(std::move(task));
    }
    ::eventfd_write(fd_.get(), 1);
  }

  // Readable while there is something in it.
  int fd() const { return fd_.get(); }
  void RunAll() {
    eventfd_t count = 0;
    ::eventfd_read(fd_.get(), &count);
    std::vector<Task> tasks;
    {
      const std::lock_guard lock(mutex_);
      tasks.swap(tasks_);
    }
    for (Task& task : tasks) task();
  }

 private:
  const fabric::Fd fd_;
  std::mutex mutex_;
  std::vector<Task> tasks_;  // under mutex_
};

using SharedMailbox = std::shared_ptr<Mailbox>;

}  // namespace plov::door
