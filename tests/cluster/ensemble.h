// A ZooKeeper ensemble of three members on this host, for as long as its object lives: Debian's package, ports that are
// free, a temporary folder, little memory.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "tests/support/child.h"
#include "tests/support/folder.h"

namespace plov::test {

class Ensemble {
 public:
  static constexpr size_t kMembers = 3;

  // Why there can be none on this machine; nothing when there can.
  static std::string Missing();

  // Starts it; AwaitReady says when it serves.
  Ensemble();

  // Whether one leads and the others follow within a minute.
  bool AwaitReady() const;
  // The one that leads, of those that answer.
  std::optional<size_t> Leader() const;

  void Start(size_t member);
  void Kill(size_t member) { members_[member].child.reset(); }
  void Signal(size_t member, int signal) const { members_[member].child->Signal(signal); }
  void SignalAll(int signal) const;

  // "zk://127.0.0.1:PORT,...": all members, in another order by `first`; the root is to follow.
  std::string Uri(size_t first = 0) const;
  std::string UriOf(size_t member) const;
  uint16_t PortOf(size_t member) const { return members_[member].client_port; }

 private:
  struct Member {
    uint16_t client_port, quorum_port, election_port;
    std::unique_ptr<Child> child;
  };

  std::string FolderOf(size_t member) const {
    return folder_.path() + "/" + std::to_string(member + 1);
  }
  // "leader", "follower"; nothing when it does not serve.
  std::string ModeOf(size_t member) const;

  TemporaryFolder folder_;
  std::array<Member, kMembers> members_{};
};

}  // namespace plov::test
