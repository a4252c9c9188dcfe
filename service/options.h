// Options that every program has which serves, beside its own.
#pragma once

#include <boost/program_options.hpp>
#include <expected>
#include <string>

#include "service/given.h"
#include "verify/error.h"

namespace plov::service {

struct Options {
  enum class Action { kServe, kHelp, kVersion };

  Action action = Action::kServe;
  std::string metrics;  // HOST:PORT; empty: nowhere
  std::string log_level = "info";
  std::string log_output = "stderr";  // or "journal", or a file

  // Adds their descriptions.
  static void Describe(boost::program_options::options_description* described);
  // kInvalidArgument with what is wrong.
  std::expected<void, Error> Fill(const Given& given);
};

// For a program's help: where its options can be, beside its command line; `variables` begin so.
std::string OtherSources(const std::string& variables);

}  // namespace plov::service
