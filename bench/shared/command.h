// The commands of plov-bench: the options that each takes, and what it does.
#pragma once

#include <boost/program_options.hpp>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "bench/shared/options.h"
#include "program/output.h"

namespace plov::bench {

// Does what the words after the program's name say. Returns the exit status, that of plov (plov(1))
// for the same kind of error, which is printed as one line on standard error.
int RunTool(std::span<const std::string> words);

struct Option {
  const char* name;
  const char* value;  // what it takes; empty: it is a switch
  std::string help;
};

struct Command {
  std::string_view name;
  std::string_view summary;
  // Those that come with its settings (OptionsOf), before its own; and --help.
  boost::program_options::options_description (*common)(std::string_view name);
  std::vector<Option> options;
  // kInvalidArgument is a wrong command line; all other codes end with the status of an error.
  Outcome (*run)(const Given& given, program::Output* output);
};
extern const Command kBusyCommand, kClusterCommand, kCompareCommand, kDesignsCommand,
    kDurableCommand, kEvictCommand, kFabricCommand, kRunCommand, kScaleCommand, kTableCommand,
    kVerbsCommand;

}  // namespace plov::bench
