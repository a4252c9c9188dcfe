#include "server/passed_fds.h"

#include <numeric>

#if PLOV_SYSTEMD
#include <systemd/sd-daemon.h>
#endif

namespace plov::server {

std::vector<int> TakePassedFds() {
  std::vector<int> fds;
#if PLOV_SYSTEMD
  if (const int count = ::sd_listen_fds(1); count > 0) fds.resize(static_cast<size_t>(count));
  std::iota(fds.begin(), fds.end(), SD_LISTEN_FDS_START);
#endif
  return fds;
}

}  // namespace plov::server
