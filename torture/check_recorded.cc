// Check: what is wrong with a recorded history, and how it is told.

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "torture/check_command.h"
#include "torture/interval_checker.h"
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

Excerpt ExcerptOf(const Recorded& recorded, const RecordedKey& key) {
  std::vector<RegisterCall> calls = ShrinkRegister(key.calls);
  const size_t impossible = CheckRegister(calls).impossible;
  const RegisterCall wrong = calls[impossible];
  const RecordedCall& told = recorded.calls[wrong.source];
  Excerpt excerpt;
  excerpt.title = fmt::format("{}: no order explains line {}: {} {} → {}", NameOf(key), told.line,
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
  return excerpt;
}

// By versions, as this tool's own runs are judged.
void CheckVersions(const RecordedKey& key, Checked* checked) {
  IntervalChecker checker({.initial = key.initial, .recent_count = key.operations.size()});
  for (const Operation& operation : key.operations) checker.Feed(operation);
  checker.Finish();
  for (const Violation& violation : checker.TakeViolations()) {
    if (violation.reason == Reason::kTooAmbiguous) {
      checked->undecided.push_back(NameOf(key));
      continue;
    }
    Excerpt excerpt = ExcerptOf(Explain(violation, key.initial));
    excerpt.title = fmt::format("{}: {}, at {} ns", NameOf(key), ReasonText(violation.reason),
                                violation.instant);
    checked->findings.push_back({key.name, std::move(excerpt)});
  }
}

void CheckValues(const Recorded& recorded, const RecordedKey& key, Checked* checked) {
  const RegisterResult result = CheckRegister(key.calls);
  if (result.verdict == SearchResult::kUndecided) checked->undecided.push_back(NameOf(key));
  if (result.verdict != SearchResult::kBad) return;
  checked->findings.push_back({key.name, ExcerptOf(recorded, key)});
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

Checked CheckRecorded(const Recorded& recorded) {
  Checked checked;
  checked.keys = recorded.keys.size();
  for (const RecordedKey& key : recorded.keys) {
    checked.operations += key.calls.size() + key.operations.size();
    if (key.operations.empty()) {
      CheckValues(recorded, key, &checked);
    } else {
      CheckVersions(key, &checked);
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
