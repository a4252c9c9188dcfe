#include "torture/server_tally.h"

#include <algorithm>
#include <charconv>
#include <string_view>
#include <utility>

namespace plov::torture {

namespace {

struct Field {
  std::string_view name;
  uint64_t ServerCounts::*member;
};
constexpr Field kFields[] = {{"displacements", &ServerCounts::displacements},
                             {"growths", &ServerCounts::growths},
                             {"no_space", &ServerCounts::no_space},
                             {"retries_answered", &ServerCounts::retries_answered},
                             {"gets_by_message", &ServerCounts::gets_by_message},
                             {"corrupt", &ServerCounts::corrupt},
                             {"records_used_bytes", &ServerCounts::record_memory_bytes}};

// "name value\n" lines.
void AddLine(std::string_view line, ServerCounts* counts) {
  for (const Field& field : kFields) {
    if (!line.starts_with(field.name) || line.substr(field.name.size(), 1) != " ") continue;
    const std::string_view number = line.substr(field.name.size() + 1);
    uint64_t value = 0;
    std::from_chars(number.data(), number.data() + number.size(), value);
    counts->*field.member += value;
  }
}

}  // namespace

ServerCounts& ServerCounts::operator+=(const ServerCounts& other) {
  for (const Field& field : kFields) this->*field.member += other.*field.member;
  return *this;
}

ServerCounts& ServerCounts::operator-=(const ServerCounts& other) {
  for (const Field& field : kFields) this->*field.member -= other.*field.member;
  return *this;
}

ServerCounts ReadServerCounts(std::span<const std::string> texts) {
  ServerCounts counts;
  for (std::string_view text : texts) {
    while (!text.empty()) {
      const std::string_view line = text.substr(0, text.find('\n'));
      AddLine(line, &counts);
      text.remove_prefix(std::min(text.size(), line.size() + 1));
    }
  }
  return counts;
}

void ServerTally::BeginAt(const ServerCounts& counts) {
  before_ = now_ = counts;
  before_.record_memory_bytes = 0;
}

void ServerTally::Observe(const ServerCounts& counts) {
  const uint64_t memory_bytes = std::max(now_.record_memory_bytes, counts.record_memory_bytes);
  now_ = counts;
  now_.record_memory_bytes = memory_bytes;
}

void ServerTally::EndLife() {
  former_ = sum();
  before_ = now_ = {};
}

ServerCounts ServerTally::sum() const {
  ServerCounts sum = former_;
  sum += now_;
  sum -= before_;
  return sum;
}

}  // namespace plov::torture
