#include "torture/faults.h"

#include <algorithm>

namespace plov::torture {

std::expected<FaultSet, Error> ParseFaults(std::string_view list) {
  if (list == "all") return FaultSet().set();
  if (list == "none") return FaultSet();
  FaultSet faults;
  for (;;) {
    const std::string_view name = list.substr(0, list.find(','));
    const auto* found = std::ranges::find(kFaultNames, name);
    if (found == kFaultNames.end()) {
      return Fail(Code::kInvalidArgument,
                  "'" + std::string(name) +
                      "' is not a fault; there are all, none, or some of pause, stop, kill-client, "
                      "kill-server, growth, full, deadline, clock, stop-server, move, zookeeper, "
                      "cut, with commas between");
    }
    faults.set(static_cast<size_t>(found - kFaultNames.begin()));
    if (name.size() == list.size()) return faults;
    list.remove_prefix(name.size() + 1);
  }
}

std::string FaultText(const FaultSet& faults) {
  std::string text;
  for (size_t i = 0; i < kFaults; ++i) {
    if (faults.test(i)) text.append(text.empty() ? "" : ",").append(kFaultNames[i]);
  }
  return text.empty() ? "none" : text;
}

}  // namespace plov::torture
