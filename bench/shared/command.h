// The commands of plov-bench: the options that each takes, and what it does.
#pragma once

#include <boost/program_options.hpp>
#include <span>
#include <string>
#include <string_view>

#include "bench/shared/options.h"
#include "program/output.h"

namespace plov::bench {

// Does what the words after the program's name say. Returns the exit status, that of plov (plov(1))
// for the same kind of error, which is told in one line on standard error.
int RunTool(std::span<const std::string> words);

boost::program_options::options_description BusyOptions();
Outcome RunBusy(const Given& given, program::Output* output);
boost::program_options::options_description CompareOptions();
Outcome RunCompare(const Given& given, program::Output* output);
boost::program_options::options_description DurableOptions();
Outcome RunDurable(const Given& given, program::Output* output);
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
