// A real plovd on a socket in a temporary folder of its own.
#pragma once

#include <plov/client.h>

#include <memory>
#include <string>
#include <vector>

#include "tests/support/child.h"
#include "tests/support/folder.h"

namespace plov::test {

// The program under test.
std::string PlovdPath();

// Where a server of a test listens: over shared memory, by this name in the folder; with PLOV_TEST_RDMA=1 and
// PLOV_RDMA_ADDRESS, as in a machine of tests/vm.sh, over RDMA.
std::string UriIn(const std::string& folder, const std::string& name);

class Plovd {
 public:
  // Starts and waits for "ready"; throws std::runtime_error with the log when it does not come.
  explicit Plovd(std::vector<std::string> options = {});

  const std::string& uri() const { return uri_; }
  const std::string& folder() const { return folder_.path(); }
  pid_t pid() const { return child_->pid(); }
  void Signal(int signal) const { child_->Signal(signal); }
  int Wait(int seconds = 60) { return child_->Wait(seconds); }
  std::string Log() const;
  // Starts again on the same name, after the former process ended, with these options in addition.
  void Restart(const std::vector<std::string>& more = {});

  // A connected client, whose timeout is longer on a slow machine; throws when that fails.
  Client Connect(const ClientOptions& options = {}) const;

 private:
  void Start();

  TemporaryFolder folder_;
  std::string uri_;
  std::vector<std::string> options_;
  std::unique_ptr<Child> child_;
};

}  // namespace plov::test
