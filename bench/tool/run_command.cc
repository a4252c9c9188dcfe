// plov-bench run.

#include <cerrno>
#include <fstream>

#include "bench/tool/command.h"
#include "bench/tool/run_study.h"

namespace plov::bench {

Outcome RunRun(const Given& given, cli::Output* output) {
  const auto settings = RunSettingsOf(given);
  if (!settings) return std::unexpected(settings.error());
  const auto study = StudyRun(*settings);
  if (!study) {
    Error error = study.error();
    if (error.code == Code::kNoSpace) error.message += ": give the server more --memory";
    return std::unexpected(std::move(error));
  }
  output->Write(settings->json ? JsonOf(*study) : TextOf(*study));
  if (settings->html.empty()) return {};
  std::ofstream file(settings->html);
  file << PageOf(*study) << std::flush;
  return file ? Outcome() : FailErrno("cannot write " + settings->html, errno);
}

}  // namespace plov::bench
