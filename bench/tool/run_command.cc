// plov-bench run.

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
  const Page page = PageOf(*study);
  output->Write(settings->json ? JsonOf(*study) : TextOf(page));
  return settings->html.empty() ? Outcome() : Save(settings->html, HtmlOf(page));
}

}  // namespace plov::bench
