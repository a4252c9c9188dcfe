// Log output: where plovd's messages go (--log-output): standard error, systemd's journal, or a file.
//
// Threads: the main thread.
#pragma once

#include <expected>
#include <memory>
#include <string>

#include "server/log_file.h"
#include "verify/error.h"

namespace plov::server {

class LogOutput {
 public:
  // From now on spdlog writes there, from `level` on. where: "stderr", "journal" or a path. kSystem, kPermission,
  // kInvalidArgument.
  static std::expected<LogOutput, Error> Begin(const std::string& where, const std::string& level);

  // A file is opened anew.
  void Reopen() {
    if (file_ != nullptr) file_->Reopen();
  }
  // Standard error has them again, and the file has all that came before.
  void End();

 private:
  std::shared_ptr<LogFile> file_;
};

}  // namespace plov::server
