// Options that several commands have, and how they show what they came to.
#pragma once

#include <boost/program_options.hpp>
#include <chrono>
#include <cstdint>
#include <expected>
#include <initializer_list>
#include <string>
#include <vector>

#include "bench/page/page.h"
#include "bench/shared/device.h"
#include "program/given.h"
#include "program/output.h"
#include "verify/error.h"

namespace plov::bench {

using program::Given;
using Outcome = std::expected<void, Error>;

// An option that takes a text, shown as `name`.
boost::program_options::typed_value<std::string>* Text(const char* name);

// What all commands are told.
struct OutputSettings {
  bool quick = false;
  bool json = false;
  std::string html = {};  // a file; empty: none
};

// Those that measure in rounds, and those that start a plovd. Their settings begin with these.
struct RoundSettings : OutputSettings {
  uint32_t rounds = 0;
  std::chrono::microseconds duration{};  // of each measurement in each round
};
struct StudySettings : RoundSettings {
  std::string plovd = {};  // its path
};

// The options of the command `name`: these. They have the defaults that the settings have.
boost::program_options::options_description OutputOptions(const char* name);
boost::program_options::options_description RoundOptions(const char* name,
                                                         const RoundSettings& defaults);
boost::program_options::options_description StudyOptions(const char* name,
                                                         const StudySettings& defaults);

// Sets them, the study's last. kInvalidArgument with one line that says what is wrong; kUnavailable
// where there is no plovd, or no way to write pages.
Outcome FillOutput(const Given& given, OutputSettings* settings);
Outcome FillRounds(const Given& given, RoundSettings* settings);
Outcome FillStudy(const Given& given, StudySettings* settings);

// The first that failed, if one did.
Outcome AllOf(std::initializer_list<Outcome> outcomes);

// What --html or the like says; it is not empty.
Outcome FillFile(const Given& given, const char* name, std::string* file);
// --plovd, else the one that is found. kUnavailable: there is none.
Outcome FillPlovd(const Given& given, std::string* plovd);

// --fabric, --device and --address of a command whose default is rdma or not.
struct FabricChoice {
  bool is_rdma = false;
  WantedDevice device = {};
};
// Describes --device and --address.
void AddDeviceOptions(boost::program_options::options_description* options);
Outcome FillFabric(const Given& given, FabricChoice* choice);

// What stands between the commas, also where it is empty.
std::vector<std::string> SplitList(const std::string& list);

// Numbers, or sizes with units, with commas between, from `least` to `most`: ascending, each once.
// Stays as it is where the option is not given. kInvalidArgument.
Outcome FillNumbers(const Given& given, const char* name, uint32_t least, uint32_t most,
                    std::vector<uint32_t>* numbers);

// "3 rounds of 500 ms".
std::string RoundsOf(uint32_t rounds, std::chrono::microseconds duration);

// Writes JSON or the page's text, and the page where one is wanted.
Outcome Show(const OutputSettings& settings, const Page& page, const program::Json& figures,
             program::Output* output);

// A command: settings filled from what was given, what they measure, and that shown by PageOf and
// JsonOf.
template <typename Settings, typename Study>
Outcome MeasureAndShow(const Given& given, Outcome (*fill)(const Given&, Settings*),
                       std::expected<Study, Error> (*measure)(const Settings&),
                       program::Output* output) {
  Settings settings;
  if (auto filled = fill(given, &settings); !filled) return filled;
  const std::expected<Study, Error> study = measure(settings);
  if (!study) return std::unexpected(study.error());
  return Show(settings, PageOf(*study), JsonOf(*study), output);
}

}  // namespace plov::bench
