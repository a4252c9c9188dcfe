// Given: what a program that serves was given by its command line, a file and the environment, and by which name,
// so that what is wrong can be said of what the user wrote.
#pragma once

#include <boost/program_options.hpp>
#include <expected>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "verify/error.h"

namespace plov::service {

// Where a program's options come from beside its command line.
struct GivenSources {
  std::string variables;           // the beginning of their names, "PLOVD_"
  std::set<std::string> repeated;  // options that may stand in a file more than once
};

class Given {
 public:
  // The command line wins over the file that --config or PLOVD_CONFIG names, the file over variables
  // PLOVD_NAME, or as the sources name them. Errors: kInvalidArgument, with one line that says where and what.
  static std::expected<Given, Error> Read(const boost::program_options::options_description& known,
                                          const GivenSources& sources, int argc,
                                          const char* const* argv);

  // The same of a command line alone.
  static std::expected<Given, Error> ReadCommandLineAlone(
      const boost::program_options::options_description& known, int argc, const char* const* argv);

  // All that is given, by option, as text.
  std::map<std::string, std::string> texts() const;
  bool Has(const std::string& option) const { return values_.count(option) > 0; }
  template <typename Value>
  const Value& As(const std::string& option) const {
    return values_[option].as<Value>();
  }
  // "--memory", "PLOVD_MEMORY" or "/etc/plovd.conf:3: memory"
  std::string NameOf(const std::string& option) const;

 private:
  using Outcome = std::expected<void, Error>;

  Given(const boost::program_options::options_description& known, GivenSources sources)
      : known_(known), sources_(std::move(sources)) {}

  Outcome ReadCommandLine(int argc, const char* const* argv);
  Outcome ReadFile(const std::string& path);
  Outcome ReadEnvironment();
  std::string VariableOf(const std::string& option) const;
  // Whether no source that wins has it.
  bool IsLeft(const std::string& option) const {
    return !Has(option) || values_[option].defaulted();
  }

  const boost::program_options::options_description& known_;
  GivenSources sources_;
  boost::program_options::variables_map values_;
  std::map<std::string, std::string> names_;  // of options that are not from the command line
};

}  // namespace plov::service
