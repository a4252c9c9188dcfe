#include "bench/tool/lists.h"

#include <fmt/core.h>

#include <algorithm>
#include <sstream>

#include "verify/quantity.h"

namespace plov::bench {

std::vector<std::string> SplitList(const std::string& list) {
  std::vector<std::string> parts;
  std::istringstream text(list + ",");
  for (std::string part; std::getline(text, part, ',');) parts.push_back(part);
  return parts;
}

std::expected<std::vector<uint32_t>, Error> NumbersOf(const torture::Given& given, const char* name,
                                                      uint32_t least, uint32_t most) {
  std::vector<uint32_t> numbers;
  for (const std::string& part : SplitList(given.Text(name))) {
    const auto number = ParseSize(part);
    if (!number || *number < least || *number > most) {
      return given.Invalid(fmt::format("--{} '{}' is not a list of numbers from {} to {}", name,
                                       given.Text(name), least, most));
    }
    numbers.push_back(static_cast<uint32_t>(*number));
  }
  std::ranges::sort(numbers);
  numbers.erase(std::ranges::unique(numbers).begin(), numbers.end());
  return numbers;
}

std::expected<void, Error> FillNumbers(const torture::Given& given, const char* name,
                                       uint32_t least, uint32_t most,
                                       std::vector<uint32_t>* numbers) {
  if (!given.Has(name)) return {};
  auto listed = NumbersOf(given, name, least, most);
  if (!listed) return std::unexpected(listed.error());
  *numbers = std::move(*listed);
  return {};
}

}  // namespace plov::bench
