// A child process of a test: started by exec or by fork, ended by its id, never left behind.
#pragma once

#include <sys/types.h>

#include <functional>
#include <string>
#include <vector>

namespace plov::test {

class Child {
 public:
  // Runs a program; its standard output goes to `output_path`, its errors too.
  static Child Exec(const std::vector<std::string>& arguments, const std::string& output_path);
  // Runs a function in a forked process, which exits with what it returns, or 99 when it throws.
  // Fork before threads.
  static Child Fork(const std::function<int()>& body);

  Child(Child&& other) noexcept;
  Child& operator=(Child&& other) noexcept;
  ~Child();  // kills what still runs

  pid_t pid() const { return pid_; }
  // After SIGSTOP returns only when the process stands: until then it may still answer.
  void Signal(int signal) const;
  // Waits for the end, at most `seconds`; the exit status, or -signal, or -1000 when it still runs.
  int Wait(int seconds = 60);

 private:
  explicit Child(pid_t pid) : pid_(pid) {}

  pid_t pid_ = -1;
};

// User and system time of a process so far, in microseconds, from its threads' schedstat.
uint64_t CpuUsOf(pid_t pid);

}  // namespace plov::test
