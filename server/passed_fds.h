// Passed descriptors: what systemd hands to plovd of a .socket unit (sd_listen_fds(3)).
#pragma once

#include <vector>

namespace plov::server {

// Those that are for this process; no child of it gets them. Empty without systemd.
std::vector<int> TakePassedFds();

}  // namespace plov::server
