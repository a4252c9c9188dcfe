// Verdict: as programs read it, and the files of the findings.

#include <fmt/format.h>
#include <unistd.h>

#include <nlohmann/json.hpp>

#include "torture/transaction_report.h"
#include "torture/verdict.h"

namespace plov::torture {

namespace {

using Object = nlohmann::ordered_json;

std::string_view TypeName(Verdict::Type type) {
  switch (type) {
    case Verdict::Type::kPass:
      return "pass";
    case Verdict::Type::kViolation:
      return "violation";
    case Verdict::Type::kTooLittle:
      break;
  }
  return "too little";
}

Object OptionsJson(const ToolOptions& options) {
  return {{"duration_us", options.duration.count()},
          {"clients", options.clients},
          {"keys", options.keys},
          {"hot_keys", options.hot_keys},
          {"value_bytes_min", options.value_bytes_min},
          {"value_bytes_max", options.value_bytes_max},
          {"faults", FaultText(options.faults)},
          {"seed", options.seed},
          {"server", options.server},
          {"memory_bytes", options.memory_bytes},
          {"servers", options.servers},
          {"cluster", options.cluster},
          {"read_from", options.reads_any_replica() ? "any-replica" : "primary"},
          {"max_age_us", options.max_age.count()},
          {"shards", options.shards},
          {"bucket_bytes", program::BucketBytesText(options.bucket_bytes)},
          {"transactions", options.transactions},
          {"log", options.log},
          {"commit", options.log.empty() ? "" : CommitName(options.commit)}};
}

Object OperationsJson(const Audited& audited) {
  Object operations = Object::object();
  for (size_t kind = 0; kind < Audited::kKinds; ++kind) {
    Object outcomes = Object::object();
    for (size_t outcome = 0; outcome < Audited::kOutcomes; ++outcome) {
      const uint64_t count = audited.operations[kind][outcome];
      if (count > 0) outcomes[std::string(OutcomeName(static_cast<Outcome>(outcome)))] = count;
    }
    operations[std::string(KindName(static_cast<Kind>(kind)))] = std::move(outcomes);
  }
  return operations;
}

Object CountsJson(const Evidence& evidence) {
  const auto count = [&evidence](Count which) { return evidence.counts[IndexOf(which)]; };
  const Audited& audited = evidence.audited;
  return {{"checked", audited.total()},
          {"refused", audited.of(Outcome::kRefused)},
          {"unknown", audited.of(Outcome::kUnknown)},
          {"histories", audited.histories},
          {"gets", count(Count::kGets)},
          {"reads", count(Count::kReads)},
          {"torn_buckets", count(Count::kTornBuckets)},
          {"torn_records", count(Count::kTornRecords)},
          {"confirmations", count(Count::kConfirmations)},
          {"restarts", count(Count::kRestarts)},
          {"gets_by_message", count(Count::kFallbacks)},
          {"known_reads", count(Count::kKnownReads)},
          {"known_misses", count(Count::kKnownMisses)},
          {"refreshes", count(Count::kRefreshes)},
          {"modified", count(Count::kModified)},
          {"reconnects", count(Count::kReconnects)},
          {"retries", count(Count::kRetries)},
          {"retries_answered", evidence.server.retries_answered},
          {"displacements", evidence.server.displacements},
          {"growths", evidence.server.growths},
          {"no_space", evidence.server.no_space},
          {"record_bytes", count(Count::kRecordBytes)},
          {"record_memory_bytes", evidence.server.record_memory_bytes},
          {"server_lives", evidence.server_lives},
          {"fail_overs", evidence.fail_overs},
          {"promotions", evidence.promotions},
          {"deposed_gets", count(Count::kDeposed)},
          {"deposed_stale", count(Count::kDeposedStale)},
          {"replica_gets", audited.replica_gets},
          {"replica_gets_stale", audited.stale_gets},
          {"gets_refused", audited.of(Kind::kGet, Outcome::kRefused)},
          {"surveyed", evidence.surveyed},
          {"gone_back", audited.gone_back},
          {"undecided", audited.undecided},
          {"violations", audited.violations + evidence.wrongs.size()}};
}

Object TransactionsJson(const TransactionTally& tally) {
  Object findings = Object::array();
  for (const TransactionViolation& violation : tally.found) findings.push_back(JsonOf(violation));
  return {{"commits", tally.commits},
          {"conflicts", tally.conflicts},
          {"snapshots", tally.snapshots},
          {"gets", tally.gets},
          {"puts", tally.puts},
          {"refused", tally.refused},
          {"unknown", tally.unknown},
          {"unknown_found", tally.unknown_found},
          {"surveyed", tally.surveyed},
          {"violations", tally.violations},
          {"findings", std::move(findings)}};
}

std::string BaseOf(const ToolOptions& options) {
  if (options.json.empty()) return fmt::format("plov-torture-{}", ::getpid());
  const std::string_view suffix = ".json";
  std::string base = options.json;
  if (base.ends_with(suffix)) base.resize(base.size() - suffix.size());
  return base;
}

}  // namespace

std::string VerdictJson(const Evidence& evidence, const Verdict& verdict) {
  Object faults = Object::object();
  for (size_t i = 0; i < kFaults; ++i) {
    if (i == IndexOf(Fault::kGrowth) || !evidence.options.faults.test(i)) continue;
    faults[std::string(kFaultNames[i])] = evidence.injected[i];
  }
  Object errors = Object::object();
  for (size_t code = 1; code < kCodes; ++code) {
    const uint64_t count = evidence.counts[IndexOf(static_cast<Code>(code))];
    if (count > 0) errors[std::string(CodeName(static_cast<Code>(code)))] = count;
  }
  Object findings = Object::array();
  for (const Finding& finding : verdict.findings) {
    findings.push_back(Object::parse(torture::Json(finding)));
  }
  const Object whole = {{"verdict", TypeName(verdict.type)},
                        {"exit_status", verdict.exit_status()},
                        {"interrupted", !evidence.interrupt.empty()},
                        {"interrupt", evidence.interrupt},
                        {"seconds", evidence.seconds},
                        {"options", OptionsJson(evidence.options)},
                        {"counts", CountsJson(evidence)},
                        {"operations", OperationsJson(evidence.audited)},
                        {"transactions", TransactionsJson(evidence.audited.transactions)},
                        {"faults", faults},
                        {"errors", errors},
                        {"missing", verdict.missing},
                        {"wrongs", verdict.wrongs},
                        {"findings", findings}};
  return whole.dump(2, ' ', false, Object::error_handler_t::replace) + "\n";
}

std::expected<std::vector<std::string>, Error> Save(const Evidence& evidence,
                                                    const Verdict& verdict) {
  std::vector<std::pair<std::string, std::string>> files;
  if (!evidence.options.json.empty()) {
    files.emplace_back(evidence.options.json, VerdictJson(evidence, verdict));
  }
  if (!evidence.options.html.empty()) {
    files.emplace_back(evidence.options.html, VerdictPage(evidence, verdict));
  }
  for (const Finding& finding : verdict.findings) {
    const std::string base = fmt::format("{}.key{}", BaseOf(evidence.options), finding.key);
    files.emplace_back(base + ".txt", Timeline(finding));
    files.emplace_back(base + ".json", torture::Json(finding));
    files.emplace_back(base + ".edn", Edn(finding));
  }
  size_t number = 0;
  for (const TransactionViolation& violation : evidence.audited.transactions.found) {
    const std::string base = fmt::format("{}.transaction{}", BaseOf(evidence.options), ++number);
    files.emplace_back(base + ".txt", TimelineText(ExcerptOf(violation)));
    files.emplace_back(base + ".json", JsonOf(violation).dump(2) + "\n");
  }
  std::vector<std::string> paths;
  for (const auto& [path, text] : files) {
    if (auto written = WriteFile(path, text); !written) return std::unexpected(written.error());
    paths.push_back(path);
  }
  return paths;
}

}  // namespace plov::torture
