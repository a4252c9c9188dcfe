#include "torture/report.h"

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>

namespace plov::torture {

namespace {

constexpr size_t kBarColumnsMax = 48;

std::string ProcessName(uint32_t process) {
  return process == kBefore ? "before" : "p" + std::to_string(process);
}

std::string ValueName(ValueId value) {
  if (value == kForeign) return "foreign";
  const uint64_t sequence = value & ((uint64_t{1} << kSequenceBits) - 1);
  return ProcessName(static_cast<uint32_t>(value >> kSequenceBits)) + "#" +
         std::to_string(sequence);
}

bool IsOpen(const Operation& operation) { return operation.outcome == Outcome::kUnknown; }

bool ShowsValue(const Operation& operation) {
  if (IsStore(operation.kind)) return true;
  return operation.kind == Kind::kGet && operation.outcome == Outcome::kOk;
}

// Instants by rank: the columns of the bars.
class Columns {
 public:
  explicit Columns(std::span<const Operation> history) {
    for (const Operation& operation : history) {
      instants_.push_back(operation.start);
      if (!IsOpen(operation)) instants_.push_back(operation.end);
    }
    std::ranges::sort(instants_);
    instants_.erase(std::unique(instants_.begin(), instants_.end()), instants_.end());
  }

  std::string Bar(const Operation& operation) const {
    std::string bar(Width() + 1, ' ');
    const size_t from = At(operation.start);
    // Not before its start, as of an operation that contradicts itself.
    const size_t to = IsOpen(operation) ? Width() : std::max(from, At(operation.end));
    std::fill(bar.begin() + static_cast<std::ptrdiff_t>(from),
              bar.begin() + static_cast<std::ptrdiff_t>(to), IsOpen(operation) ? '~' : '-');
    bar[to] = IsOpen(operation) ? '>' : '|';
    bar[from] = '|';
    return bar;
  }

 private:
  size_t Width() const {
    return std::min(kBarColumnsMax, instants_.size() * (instants_.size() > 16 ? 1 : 3));
  }
  size_t At(Instant instant) const {
    const auto rank = std::ranges::lower_bound(instants_, instant) - instants_.begin();
    return static_cast<size_t>(rank) * Width() / instants_.size();
  }

  std::vector<Instant> instants_;
};

std::string Padded(std::string text, size_t width) {
  if (text.size() < width) text.resize(width, ' ');
  return text;
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

}  // namespace

std::string Timeline(const Finding& finding, size_t operations_max) {
  const std::vector<Operation> all = ByStart(finding.history);
  const auto later = std::ranges::find_if(
      all, [&](const Operation& operation) { return operation.start > finding.instant; });
  const auto before = static_cast<size_t>(later - all.begin());
  // As many before the violation as there are, then later ones.
  const size_t begin = before > operations_max ? before - operations_max : 0;
  const auto shown = std::span(all).subspan(begin, std::min(operations_max, all.size() - begin));
  std::string text = "key " + std::to_string(finding.key) + ": " + finding.reason + ", at " +
                     std::to_string(finding.instant) + " ns\nbefore: " +
                     (finding.initial == Initial::kAbsent ? "absent\n" : "anything\n");
  const Columns columns(shown);
  for (const Operation& operation : shown) {
    std::string interval = std::to_string(operation.start) + "..";
    if (!IsOpen(operation)) interval += std::to_string(operation.end);
    text += "  " + columns.Bar(operation) + " " + Padded(interval, 10) + " " +
            Padded(ProcessName(operation.process), 4) + " " + Padded(CallText(operation), 20) +
            " " + ResultText(operation) + "\n";
  }
  if (shown.size() < all.size()) {
    text += "  (" + std::to_string(shown.size()) + " of " + std::to_string(all.size()) +
            " operations; the file has all)\n";
  }
  return text;
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
  const nlohmann::ordered_json whole = {
      {"key", finding.key},
      {"reason", finding.reason},
      {"instant", finding.instant},
      {"initial", finding.initial == Initial::kAbsent ? "absent" : "anything"},
      {"minimal", finding.is_minimal},
      {"operations", std::move(operations)}};
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
