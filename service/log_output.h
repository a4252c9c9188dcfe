// Log output: where a server's messages go (--log-output): standard error, systemd's journal, or a file.
//
// Threads: the main thread.
#pragma once

#include <expected>
#include <memory>
#include <string>

#include "service/log_file.h"
#include "verify/error.h"

namespace plov::service {

class LogOutput {
 public:
  // From now on spdlog writes there, from `level` on, in the name of `program`. where: "stderr", "journal" or a path.
  // kSystem, kPermission, kInvalidArgument.
  static std::expected<LogOutput, Error> Begin(const std::string& where, const std::string& level,
                                               const std::string& program = "plovd");

  // A file is opened anew.
  void Reopen() {
    if (file_ != nullptr) file_->Reopen();
  }
  // Standard error has them again, and the file has all that came before.
  void End();

 private:
  std::string program_;
  std::shared_ptr<LogFile> file_;
};

}  // namespace plov::service
