// Options that several commands have, and how they show their results.
#pragma once

#include <boost/program_options.hpp>
#include <chrono>
#include <cstdint>
#include <expected>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "bench/page/page.h"
#include "bench/shared/network.h"
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
  RoundSettings(uint32_t count, std::chrono::milliseconds each) : rounds(count), duration(each) {}

  uint32_t rounds;
  std::chrono::microseconds duration;  // of each measurement in each round
};
struct StudySettings : RoundSettings {
  using RoundSettings::RoundSettings;

  std::string plovd = {};  // its path
};

// The options of the command `name`: those of its settings. They have the defaults that these have.
boost::program_options::options_description OptionsWith(std::string_view name,
                                                        const OutputSettings& defaults);
boost::program_options::options_description OptionsWith(std::string_view name,
                                                        const RoundSettings& defaults);
boost::program_options::options_description OptionsWith(std::string_view name,
                                                        const StudySettings& defaults);
template <typename Settings>
boost::program_options::options_description OptionsOf(std::string_view name) {
  return OptionsWith(name, Settings());
}

// Sets them, the study's last. kInvalidArgument with one line that says what is wrong; kUnavailable
// where there is no plovd, or no way to write pages.
Outcome FillOutput(const Given& given, OutputSettings* settings);
Outcome FillRounds(const Given& given, RoundSettings* settings);
Outcome FillStudy(const Given& given, StudySettings* settings);

// The first that failed, if one did.
Outcome AllOf(std::initializer_list<Outcome> outcomes);

// What --html or the like says; it is not empty.
Outcome FillFile(const Given& given, const char* name, std::string* file);
Outcome FillFolder(const Given& given, const char* name, std::string* folder);
// --plovd, else the one that is found. kUnavailable: there is none.
Outcome FillPlovd(const Given& given, std::string* plovd);

// --fabric, --device and --address of a command whose default is rdma or not.
struct FabricChoice {
  bool is_rdma = false;
  WantedDevice device = {};
};
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

template <typename Settings>
std::expected<Settings, Error> SettingsOf(Outcome (*fill)(const Given&, Settings*),
                                          const Given& given) {
  Settings settings;
  if (auto filled = fill(given, &settings); !filled) return std::unexpected(filled.error());
  return settings;
}

// A command: settings filled from what was given, what they measure, and that shown by PageOf and
// JsonOf.
template <auto fill, auto measure>
Outcome MeasureAndShow(const Given& given, program::Output* output) {
  const auto filled = SettingsOf(fill, given);
  if (!filled) return std::unexpected(filled.error());
  const auto study = measure(*filled);
  if (!study) return std::unexpected(study.error());
  return Show(*filled, PageOf(*study), JsonOf(*study), output);
}

}  // namespace plov::bench
