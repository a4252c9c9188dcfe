// Stats: what memcached's stats tell, from what the door counts.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "door/totals.h"

namespace plov::door::memcached {

struct Stat {
  std::string name;
  std::string text;
};
using Stats = std::vector<Stat>;

// argument: empty, settings, slabs, items; std::nullopt for every other one.
std::optional<Stats> StatsOf(std::string_view argument, const Totals& totals);

// As the text protocol tells them.
std::string StatsText(const std::optional<Stats>& stats);

}  // namespace plov::door::memcached
