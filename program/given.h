// Given: the options that a command line gave, and what is said about a wrong one.
#pragma once

#include <fmt/core.h>

#include <boost/program_options.hpp>
#include <chrono>
#include <cstdint>
#include <expected>
#include <span>
#include <string>
#include <utility>

#include "verify/error.h"
#include "verify/quantity.h"

namespace plov::program {

class Given {
 public:
  // Only long options in full, and nothing but options and one argument, which is the option
  // `positional`; nullptr: none. kInvalidArgument with one line that says what is wrong, and to try
  // `program` --help.
  static std::expected<Given, Error> Parse(
      const boost::program_options::options_description& described,
      std::span<const std::string> words, std::string program, const char* positional = nullptr);

  bool Has(const char* name) const { return map_.count(name) > 0; }
  bool On(const char* name) const { return map_[name].as<bool>(); }
  std::string Text(const char* name) const {
    return Has(name) ? map_[name].as<std::string>() : std::string();
  }

  // Sets `to` when the option was given: a number, or a size with a unit, from `least` to `most`.
  template <typename Number>
  std::expected<void, Error> Fill(const char* name, uint64_t least, uint64_t most,
                                  Number* to) const {
    if (!Has(name)) return {};
    const auto number = ParseSize(Text(name));
    if (!number || *number < least || *number > most) {
      return Invalid(
          fmt::format("--{} '{}' is not a number from {} to {}", name, Text(name), least, most));
    }
    *to = static_cast<Number>(*number);
    return {};
  }

  // Sets `to` when the option was given: a duration from 1us on.
  std::expected<void, Error> FillDuration(const char* name, std::chrono::seconds most,
                                          std::chrono::microseconds* to) const;

  std::unexpected<Error> Invalid(std::string message) const {
    return Fail(Code::kInvalidArgument,
                fmt::format("{} (try {} --help)", std::move(message), program_));
  }

 private:
  explicit Given(std::string program) : program_(std::move(program)) {}

  std::string program_;
  boost::program_options::variables_map map_;
};

}  // namespace plov::program
