// ShellWorker: the process that runs the commands of a shell at a terminal. Ctrl-C ends it, and with it the
// command that runs; the shell, which ignores the signal, starts another one for the next command. Until
// then it keeps its connection. Ctrl-Z stops it, which the shell ignores as well, and then stops itself.
//
// Threads: one, which is the only one of the process.
#pragma once

#include <sys/types.h>

#include <expected>
#include <string>

#include "client/cli/options.h"
#include "fabric/os.h"

namespace plov::cli {

class ShellWorker {
 public:
  explicit ShellWorker(const Options& defaults) : defaults_(defaults) {}
  ShellWorker(const ShellWorker&) = delete;
  ShellWorker& operator=(const ShellWorker&) = delete;
  ~ShellWorker() { End(); }

  // Runs one line. Returns its exit status. kSystem: the worker was ended meanwhile, which needs no message
  // where the user has interrupted it; or it cannot be started.
  std::expected<int, Error> Run(const std::string& line);

 private:
  std::expected<void, Error> Start();
  // Until there is one, or the worker has ended.
  void AwaitStatus() const;
  [[noreturn]] void Work(int lines, int statuses) const;
  // Closes its input, which ends an idle one, and waits for it; returns the signal that ended it, or 0.
  int End();

  const Options& defaults_;
  pid_t pid_ = -1;  // -1: there is none
  fabric::Fd lines_;
  fabric::Fd statuses_;
};

}  // namespace plov::cli
