#include "server/host_memory.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <fstream>
#include <optional>
#include <sstream>

namespace plov::server {

namespace {

// From this part of a limit on, caches are squeezed and the kernel's out-of-memory killer is near.
constexpr uint64_t kNearlyAllPercent = 90;

std::optional<std::string> TextAt(const std::string& path) {
  std::ifstream file(path);
  if (!file) return std::nullopt;
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

// The number at the beginning of a text.
std::optional<uint64_t> NumberIn(std::string_view text) {
  text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
  uint64_t number = 0;
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (failure != std::errc() || end == text.data()) return std::nullopt;
  return number;
}

std::optional<uint64_t> ReadNumber(const std::string& path) {
  const auto text = TextAt(path);
  return text ? NumberIn(*text) : std::nullopt;
}

// Of a file with lines of a name and a number.
std::optional<uint64_t> ReadField(const std::string& path, std::string_view name) {
  const auto text = TextAt(path);
  if (!text) return std::nullopt;
  const size_t at = ("\n" + *text).find("\n" + std::string(name));
  if (at == std::string::npos) return std::nullopt;
  return NumberIn(std::string_view(*text).substr(at + name.size()));
}

struct Limit {
  std::string whose;
  uint64_t bytes;
  uint64_t used_bytes;
};

Limit HostLimitOf(const std::string& root) {
  const std::string path = root + "/proc/meminfo";
  const uint64_t physical = static_cast<uint64_t>(::sysconf(_SC_PHYS_PAGES)) *
                            static_cast<uint64_t>(::sysconf(_SC_PAGESIZE));
  const auto total = ReadField(path, "MemTotal:");
  const auto available = ReadField(path, "MemAvailable:");
  if (!total || !available) return {"the host's", physical, 0};
  return {"the host's", *total << 10, (*total - std::min(*total, *available)) << 10};
}

// Of a control group's files; what it could drop at once is not in use.
struct GroupFiles {
  const char* mark;  // before the group's path, in /proc/self/cgroup
  const char* top;
  const char* limit;
  const char* usage;
};
constexpr GroupFiles kGroupFiles[] = {
    {"0::", "/sys/fs/cgroup", "memory.max", "memory.current"},
    {":memory:", "/sys/fs/cgroup/memory", "memory.limit_in_bytes", "memory.usage_in_bytes"},
};

// The limits of this process's groups, its own first.
std::vector<Limit> GroupLimitsOf(const std::string& root) {
  std::vector<Limit> limits;
  const std::string groups = "\n" + TextAt(root + "/proc/self/cgroup").value_or("");
  for (const GroupFiles& files : kGroupFiles) {
    const size_t at = groups.find(files.mark);
    if (at == std::string::npos) continue;
    const size_t from = at + std::string_view(files.mark).size();
    std::string group = groups.substr(from, groups.find('\n', from) - from);
    while (true) {
      const std::string folder = root + files.top + (group == "/" ? "" : group) + "/";
      const auto limit = ReadNumber(folder + files.limit);
      const auto used = ReadNumber(folder + files.usage);
      const uint64_t cached = ReadField(folder + "memory.stat", "inactive_file ").value_or(0);
      if (limit && used) {
        limits.push_back({fmt::format("control group {}'s", group.empty() ? "/" : group), *limit,
                          *used - std::min(*used, cached)});
      }
      if (group.empty() || group == "/") break;
      group.erase(group.rfind('/'));
    }
  }
  return limits;
}

}  // namespace

uint64_t WarmBytes(const ServerOptions& options) {
  uint64_t bytes = 0;
  for (const auto& [number, slots] : options.shards.hosted) {
    struct stat status;
    if (options.warm_path.empty()) break;
    if (::stat(options.WarmPathOf(number).c_str(), &status) != 0) continue;
    bytes += static_cast<uint64_t>(status.st_blocks) * 512;
  }
  return bytes;
}

std::string WarnOfHostMemory(const ServerOptions& options, uint64_t own_bytes,
                             const std::string& root) {
  if (options.huge_pages == HugePages::kYes) return {};  // these are nobody else's
  std::vector<Limit> limits = GroupLimitsOf(root);
  limits.push_back(HostLimitOf(root));
  for (const Limit& limit : limits) {
    const uint64_t others = limit.used_bytes - std::min(limit.used_bytes, own_bytes);
    const uint64_t wanted = options.memory_bytes + others;
    if (wanted / 100 < limit.bytes / 100 * kNearlyAllPercent / 100) continue;
    return fmt::format(
        "--memory, {} MiB, and the {} MiB that others use come to {} % of {} {} MiB: once it is "
        "full, the kernel may end processes for want of memory, this one among them; lower "
        "--memory",
        options.memory_bytes >> 20, others >> 20, wanted / std::max<uint64_t>(limit.bytes / 100, 1),
        limit.whose, limit.bytes >> 20);
  }
  return {};
}

}  // namespace plov::server
