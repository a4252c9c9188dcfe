#include "torture/report.h"

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>

namespace plov::torture {

namespace {

bool ShowsValue(const Operation& operation) {
  if (IsStore(operation.kind)) return true;
  return operation.kind == Kind::kGet && operation.outcome == Outcome::kOk;
}

std::string CallText(const Operation& operation) {
  std::string text(KindName(operation.kind));
  if (IsStore(operation.kind)) text += " " + ValueName(operation.value);
  if (IsConditional(operation.kind)) text += " over " + std::to_string(operation.expected);
  return text;
}

std::string ResultText(const Operation& operation) {
  std::string text(OutcomeName(operation.outcome));
  if (operation.kind == Kind::kGet && operation.outcome == Outcome::kOk) {
    text = ValueName(operation.value);
  }
  if (operation.version != 0 && !IsOpen(operation)) {
    text += ", version " + std::to_string(operation.version);
  }
  return text;
}

// It ended at the instant of the violation; when what is shown is an end of the history that is
// wrong by itself, its last one that ended.
void MarkImpossible(Excerpt* excerpt) {
  ExcerptRow* last = nullptr;
  for (ExcerptRow& row : excerpt->rows) {
    if (row.is_open) continue;
    if (last == nullptr || row.end >= last->end) last = &row;
    if (row.end == excerpt->instant) {
      row.is_impossible = true;
      return;
    }
  }
  if (last != nullptr) last->is_impossible = true;
}

// A kill of the server ends its life where the next one begins.
ExcerptRow RowOf(const Restart& restart) {
  ExcerptRow row = KillRow(restart.at);
  if (restart.kept != 0) row.result += ", version " + std::to_string(restart.kept) + " was kept";
  return row;
}

}  // namespace

Excerpt ExcerptOf(const Finding& finding) {
  Excerpt excerpt;
  excerpt.title = "key " + std::to_string(finding.key) + ": " + finding.reason + ", at " +
                  std::to_string(finding.instant) + " ns";
  excerpt.before = finding.initial == Initial::kAbsent ? "absent" : "anything";
  excerpt.instant = finding.instant;
  excerpt.is_minimal = finding.is_minimal;
  for (const Operation& operation : ByStart(finding.history)) {
    excerpt.rows.push_back({.start = operation.start,
                            .end = operation.end,
                            .is_open = IsOpen(operation),
                            .stores = operation.kind != Kind::kGet,
                            .is_impossible = false,
                            .process = ProcessName(operation.process),
                            .call = CallText(operation),
                            .result = ResultText(operation)});
  }
  MarkImpossible(&excerpt);
  for (const Restart& restart : finding.restarts) AddRow(RowOf(restart), &excerpt);
  return excerpt;
}

std::string Timeline(const Finding& finding, size_t operations_max) {
  return TimelineText(ExcerptOf(finding), operations_max);
}

std::string Json(const Finding& finding) {
  auto operations = nlohmann::ordered_json::array();
  for (const Operation& operation : ByStart(finding.history)) {
    nlohmann::ordered_json one = {{"process", ProcessName(operation.process)},
                                  {"kind", KindName(operation.kind)},
                                  {"start", operation.start},
                                  {"end", nullptr},
                                  {"outcome", OutcomeName(operation.outcome)}};
    if (!IsOpen(operation)) one["end"] = operation.end;
    if (ShowsValue(operation)) one["value"] = ValueName(operation.value);
    if (operation.version != 0 && !IsOpen(operation)) one["version"] = operation.version;
    if (IsConditional(operation.kind)) one["expected"] = operation.expected;
    operations.push_back(std::move(one));
  }
  nlohmann::ordered_json whole = {
      {"key", finding.key},
      {"reason", finding.reason},
      {"instant", finding.instant},
      {"initial", finding.initial == Initial::kAbsent ? "absent" : "anything"},
      {"minimal", finding.is_minimal}};
  if (!finding.restarts.empty()) {
    auto kills = nlohmann::ordered_json::array();
    for (const Restart& restart : finding.restarts) {
      kills.push_back({{"restart", restart.at}, {"kept", restart.kept}});
    }
    whole["commit"] = CommitName(finding.commit);
    whole["kills"] = std::move(kills);
  }
  whole["operations"] = std::move(operations);
  return whole.dump(2) + "\n";
}

std::expected<void, Error> WriteFile(const std::string& path, const std::string& text) {
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file << text;
  file.close();
  if (!file) return Fail(Code::kSystem, path + ": cannot be written");
  return {};
}

}  // namespace plov::torture
