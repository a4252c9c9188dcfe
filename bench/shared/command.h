// The commands of plov-bench: what each is called, takes and does.
#pragma once

#include <boost/program_options.hpp>
#include <span>
#include <string>
#include <string_view>

#include "bench/shared/options.h"
#include "program/output.h"

namespace plov::bench {

struct Command {
  std::string_view name;
  std::string_view summary;  // one line of `plov-bench --help`
  std::string_view details;  // the rest of `plov-bench NAME --help`
  // Its own options; --help comes with them.
  boost::program_options::options_description (*options)();
  // kInvalidArgument is a wrong command line; all other codes end with the status of an error.
  Outcome (*run)(const Given& given, program::Output* output);
};

std::span<const Command> Commands();
const Command* FindCommand(std::string_view name);  // nullptr: there is none

// What --help prints, of one command or of plov-bench.
std::string HelpText(const Command& command);
std::string HelpText();

// Does what the words after the program's name say. Returns the exit status, that of plov (plov(1))
// for the same kind of error, which is told in one line on standard error.
int RunTool(std::span<const std::string> words);

boost::program_options::options_description BusyOptions();
Outcome RunBusy(const Given& given, program::Output* output);
boost::program_options::options_description CompareOptions();
Outcome RunCompare(const Given& given, program::Output* output);
boost::program_options::options_description VerbsOptions();
Outcome RunVerbs(const Given& given, program::Output* output);
boost::program_options::options_description FabricOptions();
Outcome RunFabric(const Given& given, program::Output* output);
boost::program_options::options_description RunOptions();
Outcome RunRun(const Given& given, program::Output* output);
boost::program_options::options_description DesignsOptions();
Outcome RunDesigns(const Given& given, program::Output* output);
boost::program_options::options_description TableOptions();
Outcome RunTable(const Given& given, program::Output* output);
boost::program_options::options_description ScaleOptions();
Outcome RunScale(const Given& given, program::Output* output);

}  // namespace plov::bench
