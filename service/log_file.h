// Log file: plovd's messages in a file (--log-output FILE), written by a thread of its own, so that no disk that
// is full, slow or gone keeps anybody waiting. Lines that cannot be written, and those that come faster than the
// disk takes them, are dropped and counted; the count is the first line once there is room again.
//
// The file is opened anew when its name leads to another one, or to none: whoever rotates it renames it.
//
// Threads: any.
#pragma once

#include <spdlog/sinks/base_sink.h>

#include <expected>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "verify/error.h"

namespace plov::service {

class LogFile final : public spdlog::sinks::base_sink<std::mutex> {
 public:
  // Appends to the file, which is made with mode 0640 where it is missing. kInvalidArgument (no regular file),
  // kPermission, kSystem.
  static std::expected<std::shared_ptr<LogFile>, Error> Open(const std::string& path);
  // Writes what waits, but does not wait for a disk that does not answer.
  ~LogFile() override;

  // As after a rotation, now.
  void Reopen();

 private:
  class Writer;

  explicit LogFile(std::shared_ptr<Writer> writer);
  void sink_it_(const spdlog::details::log_msg& message) override;
  void flush_() override {}

  std::shared_ptr<Writer> writer_;
  std::thread thread_;
};

}  // namespace plov::service
