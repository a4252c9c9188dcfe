#include "client/cli/server_process.h"

#include <fmt/core.h>

#include <charconv>

#include "fabric/verbs/verbs.h"
#include "verify/counters.h"

namespace plov::cli {

std::optional<ServerProcess> ProcessOf(std::string_view uri, std::string_view text,
                                       const program::Machine& machine) {
  const std::string_view told = verify::TextValue(text, "pid");
  pid_t id = 0;
  const auto [rest, failure] = std::from_chars(told.data(), told.data() + told.size(), id);
  const bool is_number = failure == std::errc() && rest == told.data() + told.size() && id > 0;
  if (!is_number || fabric::verbs::IsRdma(uri)) return std::nullopt;
  const auto stat = machine.Read(fmt::format("/proc/{}/stat", id));
  constexpr std::string_view kName = " (plovd) ";
  const size_t at = stat ? stat->find(kName) : std::string::npos;
  if (at == std::string::npos || at + kName.size() == stat->size()) return std::nullopt;
  const char state = (*stat)[at + kName.size()];
  return ServerProcess{id, state == 'T' || state == 't'};
}

}  // namespace plov::cli
