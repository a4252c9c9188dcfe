// Transparent huge pages: whether the kernel gives a file in memory huge pages without being told to reserve
// them, as it is set for the host, or for the tmpfs that the file is on.
#pragma once

#include <string>

namespace plov::server {

enum class TransparentPages {
  kNever,
  kAdvised,  // to mappings that ask for them by MADV_HUGEPAGE
  kAlways,   // to all that do not refuse them by MADV_NOHUGEPAGE; fallocate cannot
};

// root: of /proc and /sys, for tests.
// Source: the kernel's Documentation/admin-guide/mm/transhuge.rst and filesystems/tmpfs.rst.
TransparentPages TransparentPagesOf(int fd, const std::string& root = "");

}  // namespace plov::server
