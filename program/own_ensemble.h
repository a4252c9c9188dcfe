// Own ensemble: three ZooKeepers of Debian's package that the tool starts, stops and kills, on ports that are free.
//
// Threads: one, which starts and ends them (program/process.h).
#pragma once

#include <array>
#include <cstdint>
#include <expected>
#include <memory>
#include <optional>
#include <string>

#include "program/process.h"
#include "verify/error.h"

namespace plov::program {

class OwnEnsemble {
 public:
  static constexpr size_t kMembers = 3;

  // Why there can be none on this machine; nothing when there can.
  static std::string Missing();

  // Starts it; AwaitReady says when it serves. folder: of its files, there already. kSystem, kUnavailable.
  static std::expected<std::unique_ptr<OwnEnsemble>, Error> Start(const std::string& folder);

  // Whether one leads and the others follow, within three minutes.
  bool AwaitReady() const;
  // The one that leads, of those that answer.
  std::optional<size_t> Leader() const;

  std::expected<void, Error> Start(size_t member);
  void Kill(size_t member) { members_[member].process->Kill(); }
  void Stop(size_t member) { members_[member].process->Stop(); }
  void Continue(size_t member) { members_[member].process->Continue(); }
  void StopAll();
  void ContinueAll();
  // All are killed and begin with nothing. kSystem, kUnavailable.
  std::expected<void, Error> Wipe();

  // "zk://127.0.0.1:PORT,...": all members, in another order by `first`; the root is to follow.
  std::string Uri(size_t first = 0) const;
  uint16_t PortOf(size_t member) const { return members_[member].client_port; }

 private:
  struct Member {
    uint16_t client_port = 0, quorum_port = 0, election_port = 0;
    std::optional<Process> process;
  };

  explicit OwnEnsemble(const std::string& folder) : folder_(folder) {}
  std::expected<void, Error> Configure();
  std::string FolderOf(size_t member) const { return folder_ + "/" + std::to_string(member + 1); }
  // "leader", "follower"; nothing when it does not serve.
  std::string ModeOf(size_t member) const;

  std::string folder_;
  std::array<Member, kMembers> members_;
};

}  // namespace plov::program
