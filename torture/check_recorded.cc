// Check: what is wrong with a recorded history, and how it is told.

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "torture/check_command.h"
#include "torture/interval_checker.h"
#include "torture/lives.h"
#include "torture/register_checker.h"
#include "torture/report.h"
#include "torture/shrink.h"

namespace plov::torture {

namespace {

// With what stands before and after it 40 lines, which a screen holds.
constexpr size_t kOperationsShown = 36;

std::string NameOf(const RecordedKey& key) {
  return key.name.empty() ? "the register" : "key " + key.name;
}

// The reason, where the loss of something at a kill explains it; else "".
std::string LossOf(const std::vector<RegisterCall>& calls, RegisterOptions options) {
  const auto is_right = [&](Commit commit) {
    options.commit = commit;
    return CheckRegister(calls, options).verdict == SearchResult::kGood;
  };
  const Commit commit = options.commit;
  if (options.kills.empty()) return {};
  if (commit == Commit::kStrict && is_right(Commit::kAcked)) {
    return std::string(ReasonText(Reason::kReadThenLost));
  }
  if (commit != Commit::kAsync && is_right(Commit::kAsync)) {
    return std::string(ReasonText(Reason::kLost));
  }
  return {};
}

void AddKills(const std::vector<RegisterCall>& calls, std::span<const Instant> kills,
              Excerpt* excerpt) {
  if (calls.empty()) return;
  const Instant first = calls.front().start;
  for (const Instant kill : kills) {
    if (kill <= first || kill > excerpt->instant) continue;
    AddRow(KillRow(kill), excerpt);
  }
}

Excerpt ExcerptOf(const Recorded& recorded, const RecordedKey& key,
                  const RegisterOptions& options) {
  std::vector<RegisterCall> calls = ShrinkRegister(key.calls, options);
  const size_t impossible = CheckRegister(calls, options).impossible;
  const RegisterCall wrong = calls[impossible];
  const RecordedCall& told = recorded.calls[wrong.source];
  const std::string loss = LossOf(calls, options);
  Excerpt excerpt;
  excerpt.title = fmt::format("{}: {}: {} {} → {}", NameOf(key),
                              loss.empty() ? fmt::format("no order explains line {}", told.line)
                                           : fmt::format("{}, line {}", loss, told.line),
                              told.process, told.call, told.result);
  excerpt.before = "absent";
  excerpt.instant = wrong.end;
  std::ranges::sort(calls, {},
                    [](const RegisterCall& call) { return std::pair(call.start, call.source); });
  for (const RegisterCall& call : calls) {
    const RecordedCall& text = recorded.calls[call.source];
    excerpt.rows.push_back({.start = call.start,
                            .end = call.end,
                            .is_open = call.is_open,
                            .stores = call.stores,
                            .is_impossible = call.source == wrong.source,
                            .process = text.process,
                            .call = text.call,
                            .result = text.result});
  }
  AddKills(calls, options.kills, &excerpt);
  return excerpt;
}

// By versions, as this tool's own runs are judged.
std::vector<Violation> ViolationsOf(const RecordedKey& key, Commit commit) {
  std::vector<Violation> violations;
  if (key.restarts.empty() || commit == Commit::kStrict) {
    IntervalChecker checker({.initial = key.initial, .recent_count = key.operations.size()});
    for (const Operation& operation : key.operations) checker.Feed(operation);
    checker.Finish();
    violations = checker.TakeViolations();
  } else {
    const SearchResult result = CheckLives(key.operations, {key.initial, key.restarts, commit});
    if (result == SearchResult::kGood) return {};
    const bool is_bad = result == SearchResult::kBad;
    const auto loss = LossIn(key.operations, {key.initial, key.restarts, commit});
    violations.push_back(
        {.reason = is_bad ? loss.value_or(Reason::kNoOrder) : Reason::kTooAmbiguous,
         .instant = std::ranges::max(key.operations, {}, &Operation::end).end,
         .window = key.operations,
         .window_is_whole = true});
  }
  for (Violation& violation : violations) {
    violation.restarts = key.restarts;
    violation.commit = commit;
  }
  return violations;
}

void CheckVersions(const RecordedKey& key, Commit commit, Checked* checked) {
  for (const Violation& violation : ViolationsOf(key, commit)) {
    if (violation.reason == Reason::kTooAmbiguous) {
      checked->undecided.push_back(NameOf(key));
      continue;
    }
    const Finding finding = Explain(violation, key.initial);
    Excerpt excerpt = ExcerptOf(finding);
    excerpt.title = fmt::format("{}: {}, at {} ns", NameOf(key), finding.reason, violation.instant);
    checked->findings.push_back({key.name, std::move(excerpt)});
  }
}

void CheckValues(const Recorded& recorded, const RecordedKey& key, Commit commit,
                 Checked* checked) {
  std::vector<Instant> kills;
  for (const Restart& restart : key.restarts) kills.push_back(restart.at);
  const RegisterOptions options = {.kills = kills, .commit = commit};
  const RegisterResult result = CheckRegister(key.calls, options);
  if (result.verdict == SearchResult::kUndecided) checked->undecided.push_back(NameOf(key));
  if (result.verdict != SearchResult::kBad) return;
  checked->findings.push_back({key.name, ExcerptOf(recorded, key, options)});
}

std::string_view VerdictName(int exit_status) {
  if (exit_status == 0) return "pass";
  return exit_status == 1 ? "violation" : "too little";
}

}  // namespace

int Checked::exit_status() const {
  if (!findings.empty()) return 1;
  return operations == 0 || !undecided.empty() ? 4 : 0;
}

Checked CheckRecorded(const Recorded& recorded, std::optional<Commit> commit) {
  Checked checked;
  checked.keys = recorded.keys.size();
  for (const RecordedKey& key : recorded.keys) {
    const Commit of_key = commit.value_or(key.commit.value_or(Commit::kStrict));
    checked.operations += key.calls.size() + key.operations.size();
    if (key.operations.empty()) {
      CheckValues(recorded, key, of_key, &checked);
    } else {
      CheckVersions(key, of_key, &checked);
    }
  }
  return checked;
}

std::string CheckedText(const Checked& checked) {
  std::string text;
  const auto smallest = std::ranges::min_element(
      checked.findings, {},
      [](const CheckFinding& finding) { return finding.excerpt.rows.size(); });
  for (const CheckFinding& finding : checked.findings) {
    if (&finding == &*smallest) {
      text = TimelineText(finding.excerpt, kOperationsShown) + text;
    } else {
      text += finding.excerpt.title + "\n";
    }
  }
  if (!text.empty()) text += '\n';
  const auto add = [&text](std::string_view name, const std::string& value) {
    text += fmt::format("{:<16} {}\n", name, value);
  };
  add("operations", std::to_string(checked.operations));
  add("keys", std::to_string(checked.keys));
  for (const std::string& key : checked.undecided) {
    add("undecided", key + ": too many of its operations never ended");
  }
  add("violations", std::to_string(checked.findings.size()));
  constexpr std::string_view kVerdicts[] = {"PASS", "VIOLATION"};
  const int status = checked.exit_status();
  add("verdict", std::string(status == 4 ? "TOO LITTLE could be decided"
                                         : kVerdicts[static_cast<size_t>(status)]));
  return text;
}

std::string CheckedJson(const Checked& checked, const std::string& file) {
  using Object = nlohmann::ordered_json;
  Object findings = Object::array();
  for (const CheckFinding& finding : checked.findings) {
    Object operations = Object::array();
    for (const ExcerptRow& row : finding.excerpt.rows) {
      Object end = nullptr;
      if (!row.is_open) end = row.end;
      operations.push_back({{"process", row.process},
                            {"call", row.call},
                            {"result", row.result},
                            {"start", row.start},
                            {"end", end},
                            {"impossible", row.is_impossible}});
    }
    findings.push_back({{"key", finding.key},
                        {"reason", finding.excerpt.title},
                        {"operations", std::move(operations)}});
  }
  const Object whole = {{"verdict", VerdictName(checked.exit_status())},
                        {"exit_status", checked.exit_status()},
                        {"file", file},
                        {"operations", checked.operations},
                        {"keys", checked.keys},
                        {"undecided", checked.undecided},
                        {"findings", std::move(findings)}};
  return whole.dump(2, ' ', false, Object::error_handler_t::replace) + "\n";
}

}  // namespace plov::torture
