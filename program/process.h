// Process: a child of the tool that does not outlive it.
//
// Started as by vfork and exec: no page of the tool is copied, among them those that an RDMA device
// writes to. When Start returns, the program runs, in a group of its own, and nothing that is sent
// to the tool's group reaches it.
//
// Threads: started by the main thread, for the kernel kills a child when the thread that started
//          it ends (PR_SET_PDEATHSIG).
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <expected>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "verify/error.h"

namespace plov::program {

struct ProcessFiles {
  int output = -1;     // its standard output; -1: as the tool's
  int errors = -1;     // its standard error, likewise
  int inherited = -1;  // stays open under its number
};

class Process {
 public:
  // arguments: the program's path first. Errors: kSystem, also when there is no such program.
  static std::expected<Process, Error> Start(const std::vector<std::string>& arguments,
                                             const ProcessFiles& files);
  // A copy of this one, which does `work` and exits with what that returns. It stays in the tool's
  // group. Before there are threads. Errors: kSystem.
  static std::expected<Process, Error> Fork(const std::function<int()>& work);
  Process(Process&& other) noexcept;
  Process& operator=(Process&& other) noexcept;
  ~Process();  // kills what still runs

  pid_t pid() const { return pid_; }

  // That it has used, of all its threads. kSystem: it has ended.
  std::expected<std::chrono::nanoseconds, Error> CpuTime() const;
  // Its resident set, what it shares with others too; 0 when it has ended.
  uint64_t ResidentBytes() const;

  void Stop();  // returns when it stands
  void Continue();
  void Kill();       // returns when it is gone
  void Terminate();  // asks it to end

  // Whether it has ended, by itself or asked to; once true it stays true.
  bool HasEnded();
  bool Await(std::chrono::milliseconds limit);
  // Of one that has ended: "exit status 3", "signal 11".
  std::string ending() const;

 private:
  explicit Process(pid_t pid) : pid_(pid) {}

  pid_t pid_ = -1;
  std::optional<int> status_;
};

// What a process writes to `output`, until it is `whole`, or all that comes, or within the limit.
std::string ReadUntil(int output, bool (*whole)(std::string_view), std::chrono::milliseconds limit);

// The path of this program's own file.
std::string OwnPath();

// The path of a program by its name, of the PATH. Empty: there is none.
std::string FindInPath(const std::string& name);

}  // namespace plov::program
