#include "program/given.h"

#include <algorithm>
#include <vector>

namespace plov::program {

namespace po = boost::program_options;

std::expected<Given, Error> Given::Parse(const po::options_description& described,
                                         std::span<const std::string> words, std::string program,
                                         const char* positional) {
  Given given(std::move(program));
  po::positional_options_description arguments;
  if (positional != nullptr) arguments.add(positional, 1);
  try {
    namespace style = po::command_line_style;
    po::store(po::command_line_parser(std::vector<std::string>(words.begin(), words.end()))
                  .options(described)
                  .positional(arguments)
                  .style(style::allow_long | style::long_allow_adjacent | style::long_allow_next |
                         style::allow_short | style::allow_dash_for_short | style::short_allow_next)
                  .run(),
              given.map_);
  } catch (const po::error& error) {
    const bool tells = std::ranges::none_of(words, HasPlaceholder);
    return given.Invalid(tells ? error.what() : kPlaceholderError);
  }
  return given;
}

std::expected<void, Error> Given::FillDuration(const char* name, std::chrono::seconds most,
                                               std::chrono::microseconds* to) const {
  if (!Has(name)) return {};
  const auto duration = ParseDuration(Text(name));
  if (!duration) return Invalid(fmt::format("--{}: {}", name, duration.error().message));
  if (duration->count() == 0 || *duration > most) {
    const auto hours = std::chrono::floor<std::chrono::hours>(most);
    const std::string bound =
        hours == most ? fmt::format("{}h", hours.count()) : fmt::format("{}s", most.count());
    return Invalid(fmt::format("--{} '{}' is not between 1us and {}", name, Text(name), bound));
  }
  *to = *duration;
  return {};
}

}  // namespace plov::program
