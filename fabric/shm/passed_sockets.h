// Passed sockets: those on which the parent of this process listens for it already, as systemd does for a
// .socket unit. Clients that connect while no server runs wait there, and start one.
//
// The parent keeps a socket that it passes: its name stays when the server ends. The lock of the name
// (fabric/file_lock.h) is the server's as ever, so two servers never share one.
#pragma once

#include <expected>
#include <map>
#include <optional>
#include <span>
#include <string>

#include "fabric/os.h"
#include "verify/error.h"

namespace plov::fabric::shm {

class PassedSockets {
 public:
  // Takes descriptors that were passed. kInvalidArgument names one that is not a socket of SOCK_SEQPACKET
  // that listens, or is none of a server with these URIs.
  static std::expected<PassedSockets, Error> Take(std::span<const int> fds,
                                                  std::span<const std::string> uris);

  // The one that listens on this path, once.
  std::optional<Fd> Claim(const std::string& path);

 private:
  std::map<std::string, Fd> by_path_;
};

}  // namespace plov::fabric::shm
