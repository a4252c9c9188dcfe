// Verdict: as people read it.

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "torture/transaction_report.h"
#include "torture/verdict.h"

namespace plov::torture {

namespace {

// With two lines before them and two after them 40 lines, which a screen holds.
constexpr size_t kOperationsShown = 36;

class Lines {
 public:
  template <typename... Values>
  void Add(std::string_view name, fmt::format_string<Values...> format, Values&&... values) {
    fmt::format_to(std::back_inserter(text_), "{:<16} ", name);
    fmt::format_to(std::back_inserter(text_), format, std::forward<Values>(values)...);
    text_ += '\n';
  }
  std::string& text() { return text_; }

 private:
  std::string text_;
};

// "12 pause, 3 stop"
std::string InjectedText(const Evidence& evidence) {
  std::string text;
  for (size_t i = 0; i < kFaults; ++i) {
    if (!evidence.options.faults.test(i) || i == IndexOf(Fault::kGrowth)) continue;
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", Grouped(evidence.injected[i]),
                        kFaultNames[i]);
  }
  return text.empty() ? "none" : text;
}

std::string ErrorText(const Counts& counts) {
  std::string text;
  for (size_t code = 0; code < kCodes; ++code) {
    const auto name = CodeName(static_cast<Code>(code));
    const uint64_t count = counts[IndexOf(static_cast<Code>(code))];
    // Those of conditional writes are answers.
    const bool is_answer = code <= static_cast<size_t>(Code::kVersionMismatch);
    if (count == 0 || is_answer) continue;
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", Grouped(count), name);
  }
  return text.empty() ? "none" : text;
}

// The history of the smallest, and a line for each of the others.
std::string FindingsText(const std::vector<Finding>& findings) {
  const auto smallest = std::ranges::min_element(
      findings, {}, [](const Finding& finding) { return finding.history.size(); });
  if (smallest == findings.end()) return {};
  std::string text = Timeline(*smallest, kOperationsShown);
  if (!smallest->is_minimal) {
    text += "  (not the smallest: what was before is not remembered)\n";
  }
  for (const Finding& other : findings) {
    if (&other == &*smallest) continue;
    text += fmt::format("key {}: {}, at {} ns: {} operations\n", other.key, other.reason,
                        other.instant, other.history.size());
  }
  return text + "\n";
}

// The first that came, and a line for each of the others.
std::string TransactionsText(const std::vector<TransactionViolation>& found) {
  std::string text;
  for (const TransactionViolation& violation : found) {
    const Excerpt excerpt = ExcerptOf(violation);
    text += text.empty() ? TimelineText(excerpt, kOperationsShown) : excerpt.title + "\n";
  }
  return text.empty() ? text : text + "\n";
}

std::string StaleText(uint64_t stale) {
  return stale == 0 ? "none of them was stale" : Grouped(stale) + " of them were stale";
}

void AddClusterCounts(const Evidence& evidence, Lines* lines) {
  const Audited& audited = evidence.audited;
  if (!evidence.options.reads_any_replica()) {
    lines->Add("deposed primaries", "{} GETs READ one, {} of them had another answer by the next",
               Grouped(evidence.counts[IndexOf(Count::kDeposed)]),
               Grouped(evidence.counts[IndexOf(Count::kDeposedStale)]));
    return;
  }
  lines->Add("any replica", "{} GETs READ one, {}; {} ended without one that was new enough",
             Grouped(audited.replica_gets), StaleText(audited.stale_gets),
             Grouped(audited.of(Kind::kGet, Outcome::kRefused)));
  lines->Add("primaries", "{} keys looked at after the faults", Grouped(evidence.surveyed));
}

void AddTransactions(const TransactionTally& tally, Lines* lines) {
  lines->Add("transactions", "{} commits, {} conflicts, {} snapshots, {} GETs, {} PUTs; {} refused",
             Grouped(tally.commits), Grouped(tally.conflicts), Grouped(tally.snapshots),
             Grouped(tally.gets), Grouped(tally.puts), Grouped(tally.refused));
  lines->Add("of unknown end",
             "{}, of which {} were applied and found; {} keys looked at after kills",
             Grouped(tally.unknown), Grouped(tally.unknown_found), Grouped(tally.surveyed));
}

void AddCounts(const Evidence& evidence, Lines* lines) {
  const Audited& audited = evidence.audited;
  const Counts& counts = evidence.counts;
  const auto count = [&counts](Count which) { return Grouped(counts[IndexOf(which)]); };
  const double rate = static_cast<double>(audited.total()) / std::max(evidence.seconds, 1e-9);
  lines->Add("checked", "{} operations in {:.1f} s, {} a second", Grouped(audited.total()),
             evidence.seconds, Grouped(static_cast<uint64_t>(rate)));
  lines->Add("of these", "{} refused, {} without an answer, in {} histories of {} keys",
             Grouped(audited.of(Outcome::kRefused)), Grouped(audited.of(Outcome::kUnknown)),
             Grouped(audited.histories), Grouped(evidence.options.keys));
  const uint64_t corrupt = counts[IndexOf(Code::kCorrupt)];
  lines->Add("torn reads", "{} of buckets, {} of records; {}", count(Count::kTornBuckets),
             count(Count::kTornRecords),
             corrupt == 0 ? "all survived" : Grouped(corrupt) + " GETs did not survive them");
  lines->Add("confirmations", "{}; {} lookups begun again, {} GETs by message",
             count(Count::kConfirmations), count(Count::kRestarts), count(Count::kFallbacks));
  lines->Add("known locations", "{} READs, {} had become old", count(Count::kKnownReads),
             count(Count::kKnownMisses));
  lines->Add("displacements", "{}", Grouped(evidence.server.displacements));
  lines->Add("growths", "{}", Grouped(evidence.server.growths));
  lines->Add("memory", "{} bytes of records written into {}", count(Count::kRecordBytes),
             Grouped(evidence.server.record_memory_bytes));
  lines->Add("full", "{} PUTs refused", Grouped(evidence.server.no_space));
  if (evidence.counts[IndexOf(Count::kModified)] > 0) {
    lines->Add("modified", "{} INCREMENTs, APPENDs, UPDATEs, TOUCHes and GETs of what they made",
               count(Count::kModified));
  }
  if (evidence.options.transactions) AddTransactions(audited.transactions, lines);
  lines->Add("reconnects", "{}; {} writes sent again, {} of them applied before",
             count(Count::kReconnects), count(Count::kRetries),
             Grouped(evidence.server.retries_answered));
  lines->Add("errors", "{}", ErrorText(counts));
  const bool is_cluster = evidence.options.cluster > 0;
  lines->Add("faults", "{}; server lives: {}, {}: {}", InjectedText(evidence),
             Grouped(evidence.server_lives), is_cluster ? "promotions" : "fail-overs",
             Grouped(is_cluster ? evidence.promotions : evidence.fail_overs));
  if (is_cluster) AddClusterCounts(evidence, lines);
  if (!evidence.options.log.empty() && !is_cluster) {
    lines->Add("log", "commit {}: {} keys looked at after kills, {} of them had gone back",
               CommitName(evidence.options.commit), Grouped(evidence.surveyed),
               Grouped(audited.gone_back));
  }
  lines->Add("undecided", "{} keys", Grouped(audited.undecided));
  lines->Add("violations", "{}", Grouped(audited.violations + evidence.wrongs.size()));
}

std::string VerdictWord(const Evidence& evidence, const Verdict& verdict) {
  switch (verdict.type) {
    case Verdict::Type::kViolation:
      return "VIOLATION";
    case Verdict::Type::kTooLittle:
      return "TOO LITTLE was done to mean anything";
    case Verdict::Type::kPass:
      break;
  }
  return evidence.interrupt.empty() ? "PASS" : "PASS, of a run that was cut short";
}

// The lines that a verdict ends with, whatever it shows before.
std::string SummaryText(const Evidence& evidence, const Verdict& verdict) {
  Lines lines;
  AddCounts(evidence, &lines);
  lines.Add("seed", "{}", evidence.options.seed);
  if (!evidence.interrupt.empty()) {
    lines.Add("cut short", "after {:.1f} s by {}", evidence.seconds, evidence.interrupt);
  }
  const bool is_too_little = verdict.type == Verdict::Type::kTooLittle;
  for (const std::string& missing : verdict.missing) {
    if (is_too_little) lines.Add("too little", "{}", missing);
  }
  lines.Add("verdict", "{}", VerdictWord(evidence, verdict));
  return std::move(lines.text());
}

}  // namespace

std::string Grouped(uint64_t number) {
  std::string digits = std::to_string(number);
  for (size_t at = digits.size(); at > 3;) digits.insert(at -= 3, 1, ',');
  return digits;
}

std::string VerdictText(const Evidence& evidence, const Verdict& verdict) {
  std::string text = FindingsText(verdict.findings);
  text += TransactionsText(evidence.audited.transactions.found);
  for (const std::string& wrong : verdict.wrongs) text += "WRONG: " + wrong + "\n";
  if (!verdict.wrongs.empty()) text += '\n';
  return text + SummaryText(evidence, verdict);
}

std::string VerdictPage(const Evidence& evidence, const Verdict& verdict) {
  std::vector<std::string> facts;
  for (const std::string& wrong : verdict.wrongs) facts.push_back("WRONG: " + wrong);
  const std::string summary = SummaryText(evidence, verdict);
  for (size_t at = 0; at < summary.size();) {
    const size_t end = summary.find('\n', at);
    facts.push_back(summary.substr(at, end - at));
    at = end + 1;
  }
  std::vector<Excerpt> excerpts;
  for (const Finding& finding : verdict.findings) excerpts.push_back(ExcerptOf(finding));
  for (const TransactionViolation& violation : evidence.audited.transactions.found) {
    excerpts.push_back(ExcerptOf(violation));
  }
  return TimelinePage("plov-torture: " + VerdictWord(evidence, verdict), facts, excerpts);
}

}  // namespace plov::torture
