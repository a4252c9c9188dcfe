#include "service/log_output.h"

#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#if PLOV_SYSTEMD
#include <spdlog/sinks/systemd_sink.h>
#endif

namespace plov::service {

namespace {

void LogTo(spdlog::sink_ptr sink, const std::string& program) {
  const auto level = spdlog::get_level();
  spdlog::set_default_logger(std::make_shared<spdlog::logger>(program, std::move(sink)));
  spdlog::set_level(level);
}

spdlog::sink_ptr StandardError() { return std::make_shared<spdlog::sinks::stderr_color_sink_mt>(); }

std::expected<spdlog::sink_ptr, Error> Journal([[maybe_unused]] const std::string& program) {
#if PLOV_SYSTEMD
  constexpr auto kSocket = "/run/systemd/journal/socket";
  if (::access(kSocket, W_OK) != 0)
    return FailErrno(std::string("--log-output journal: ") + kSocket, errno);
  return std::make_shared<spdlog::sinks::systemd_sink_mt>(program);
#else
  return Fail(Code::kSystem,
              "--log-output journal: this " + program + " was built without libsystemd");
#endif
}

}  // namespace

std::expected<LogOutput, Error> LogOutput::Begin(const std::string& where, const std::string& level,
                                                 const std::string& program) {
  LogOutput output;
  output.program_ = program;
  spdlog::set_level(spdlog::level::from_str(level));
  if (where == "stderr") {
    LogTo(StandardError(), program);
  } else if (where == "journal") {
    auto journal = Journal(program);
    if (!journal) return std::unexpected(journal.error());
    LogTo(std::move(*journal), program);
  } else {
    auto file = LogFile::Open(where);
    if (!file) return std::unexpected(file.error());
    output.file_ = std::move(*file);
    LogTo(output.file_, program);
  }
  return output;
}

void LogOutput::End() {
  if (file_ == nullptr) return;
  LogTo(StandardError(), program_);
  file_.reset();
}

}  // namespace plov::service
