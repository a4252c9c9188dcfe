#include <fmt/core.h>

#include <algorithm>
#include <string>

#include "client/cli/commands.h"
#include "client/cli/json.h"
#include "client/cli/options.h"
#include "client/cli/probes.h"

namespace plov::cli {

namespace {

std::string_view NameOf(Severity severity) {
  switch (severity) {
    case Severity::kOk:
      return "ok";
    case Severity::kNote:
      return "note";
    case Severity::kProblem:
      break;
  }
  return "PROBLEM";
}

Findings Examine(const Options& options) {
  const program::Machine machine;
  Findings findings;
  ProbeKernel(machine, &findings);
  ProbeSharedMemory(&findings);
  ProbeRuntimeFolder(options.server, &findings);
  ProbeMemory(machine, options.memory_bytes, &findings);
  ProbeLimits(options.memory_bytes, &findings);
  ProbePages(machine, options.memory_bytes, &findings);
  ProbeProcessors(machine, &findings);
  ProbeRdma(machine, options.server, options.memory_bytes, &findings);
  if (!options.log_folder.empty()) {
    ProbeLog(machine, options.log_folder, options.memory_bytes, &findings);
  }
  if (!options.cluster.uri.empty()) {
    ProbeCluster(options.cluster.uri, options.cluster.auth_file, options.timeout, &findings);
  } else {
    ProbeServer(options.server, options.timeout, &findings);  // after RDMA, which it may depend on
  }
  return findings;
}

std::string TextOf(const Findings& findings) {
  std::string text;
  for (const Finding& finding : findings.all()) {
    text +=
        fmt::format("{:<8} {}: {}\n", NameOf(finding.severity), finding.subject, finding.meaning);
    if (!finding.mend.empty()) text += fmt::format("{:<8}   mend: {}\n", "", finding.mend);
  }
  return text;
}

program::Json JsonOf(const Findings& findings, size_t problems) {
  program::Json list = program::Json::array();
  for (const Finding& finding : findings.all()) {
    program::Json object = program::Json::object();
    object["subject"] = finding.subject;
    object["verdict"] = NameOf(finding.severity);
    object["meaning"] = finding.meaning;
    if (!finding.mend.empty()) object["mend"] = finding.mend;
    list.push_back(std::move(object));
  }
  program::Json all = program::Json::object();
  all["problems"] = problems;
  all["findings"] = std::move(list);
  return all;
}

}  // namespace

Outcome Doctor(const Options& options, program::Output* output) {
  const Findings findings = Examine(options);
  const auto problems = static_cast<size_t>(
      std::ranges::count(findings.all(), Severity::kProblem, &Finding::severity));
  output->Write(options.json ? program::LineOf(JsonOf(findings, problems)) : TextOf(findings));
  if (problems == 0) return {};
  return Fail(Code::kSystem,
              fmt::format("{} PROBLEM{} found: run what is shown to mend {}", problems,
                          problems == 1 ? "" : "S", problems == 1 ? "it" : "them"));
}

}  // namespace plov::cli
