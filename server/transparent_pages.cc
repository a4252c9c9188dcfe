#include "server/transparent_pages.h"

#include <fmt/format.h>
#include <linux/magic.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>

#include <fstream>

namespace plov::server {

namespace {

// The word in brackets, of a file that lists all there are.
std::string ChosenIn(const std::string& path) {
  std::string text;
  std::getline(std::ifstream(path), text);
  const size_t from = text.find('[') + 1;
  return text.substr(from, text.find(']', from) - from);
}

// The option huge= of the mounted tmpfs; empty where it has none.
std::string MountOptionOf(dev_t device, const std::string& root) {
  constexpr std::string_view kOption = ",huge=";
  const std::string number = fmt::format(" {}:{} ", ::major(device), ::minor(device));
  std::ifstream mounts(root + "/proc/self/mountinfo");
  for (std::string line; std::getline(mounts, line);) {
    if (line.find(number) == std::string::npos) continue;
    const size_t at = line.rfind(kOption);
    if (at == std::string::npos) return {};
    const size_t from = at + kOption.size();
    return line.substr(from, line.find_first_of(", ", from) - from);
  }
  return {};
}

}  // namespace

TransparentPages TransparentPagesOf(int fd, const std::string& root) {
  using enum TransparentPages;
  struct statfs system;
  struct stat status;
  if (::fstatfs(fd, &system) != 0 || static_cast<uint64_t>(system.f_type) != TMPFS_MAGIC ||
      ::fstat(fd, &status) != 0) {
    return kNever;
  }
  // Before Linux 5.14 no page can be committed by its mapping.
  if (::madvise(nullptr, 0, MADV_POPULATE_WRITE) != 0) return kNever;
  std::string mode = ChosenIn(root + "/sys/kernel/mm/transparent_hugepage/shmem_enabled");
  // A file with a name is of a mounted tmpfs; of the rest of the modes only these two are for it.
  if (status.st_nlink != 0 && mode != "deny" && mode != "force") {
    mode = MountOptionOf(status.st_dev, root);
  }
  if (mode == "advise") return kAdvised;
  return mode == "always" || mode == "within_size" || mode == "force" ? kAlways : kNever;
}

}  // namespace plov::server
