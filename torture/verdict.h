// Verdict: what a run has shown, as people and as programs read it.
#pragma once

#include <array>
#include <cstdint>
#include <expected>
#include <string>
#include <vector>

#include "torture/auditor.h"
#include "torture/report.h"
#include "torture/run_memory.h"
#include "torture/server_tally.h"
#include "torture/tool_options.h"

namespace plov::torture {

// All that the verdict of a run rests on.
struct Evidence {
  ToolOptions options;
  double seconds = 0;
  std::string interrupt;  // what ended it early, as AwaitInterrupt says; empty: nothing
  Audited audited;
  Counts counts{};
  ServerCounts server;
  std::array<uint64_t, kFaults> injected{};
  uint64_t server_lives = 1;
  uint64_t fail_overs = 0;  // to another server of the same name
  uint64_t promotions = 0;  // of a replica to its shard's primary
  uint64_t surveyed = 0;    // keys that the tool got after restarts on a log, or at the end
  // What no history is needed for: values that do not prove themselves, processes that died.
  std::vector<std::string> wrongs;
};

struct Verdict {
  enum class Type { kPass, kViolation, kTooLittle };

  Type type = Type::kPass;
  std::vector<std::string> missing;  // what there was too little of, and how to get more
  std::vector<Finding> findings;
  std::vector<std::string> wrongs;

  int exit_status() const;
};

// Shrinks the violations, which may take seconds.
Verdict Decide(const Evidence& evidence);

std::string VerdictText(const Evidence& evidence, const Verdict& verdict);
std::string VerdictJson(const Evidence& evidence, const Verdict& verdict);
std::string VerdictPage(const Evidence& evidence, const Verdict& verdict);

// Writes --json and --html, and for each finding FILE.keyN.json, FILE.keyN.edn and FILE.keyN.txt
// beside it; without --json into the working directory. Returns what was written. Errors: kSystem.
std::expected<std::vector<std::string>, Error> Save(const Evidence& evidence,
                                                    const Verdict& verdict);

std::string Grouped(uint64_t number);  // 1,234,567

}  // namespace plov::torture
