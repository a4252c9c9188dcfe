#include "torture/verdict.h"

#include <fmt/format.h>

#include "torture/shrink.h"

namespace plov::torture {

namespace {

// Of a cluster.
constexpr uint64_t kClusterOperations = 100'000;
constexpr uint64_t kClusterPromotions = 10;
constexpr uint64_t kReplicaGets = 50'000;
// With transactions.
constexpr uint64_t kCommits = 1000;
constexpr uint64_t kConflicts = 20;
constexpr uint64_t kSnapshots = 1000;

// Whether the run asked for it and did not get it, though it was possible. Growth is not looked at
// here: it counts however it came.
bool Lacks(const Evidence& evidence, Fault fault) {
  if (!evidence.options.has(fault) || fault == Fault::kGrowth) return false;
  const bool was_injected = evidence.injected[IndexOf(fault)] > 0;
  return !was_injected || (fault == Fault::kFull && evidence.server.no_space == 0);
}

// What a run must have seen, or else it has shown nothing of what guards against it.
std::vector<std::string> UnseenOf(const Evidence& evidence) {
  const auto count = [&evidence](Count which) { return evidence.counts[IndexOf(which)]; };
  std::vector<std::string> unseen;
  const auto need = [&unseen](bool seen, std::string_view what, std::string_view remedy) {
    if (!seen) unseen.push_back(fmt::format("no {} was seen: run longer, with {}", what, remedy));
  };
  need(count(Count::kTornBuckets) > 0, "torn bucket",
       "more --clients, fewer --hot-keys, --value-bytes from 16 on");
  need(count(Count::kTornRecords) > 0, "torn record", "more --clients, larger --value-bytes");
  need(evidence.server.displacements > 0, "displacement", "more --keys");
  // A server that ran before may have all the table that it will need.
  need(evidence.server.growths > 0 || !evidence.options.has_own_server(), "growth", "more --keys");
  need(count(Count::kRecordBytes) > evidence.server.record_memory_bytes, "reuse of memory",
       "more --clients, larger --value-bytes");
  return unseen;
}

// GETs of any replica do not look for another primary.
void AddMissingGets(const Evidence& evidence, std::vector<std::string>* missing) {
  const bool reads_any_replica = evidence.options.reads_any_replica();
  if (!reads_any_replica && evidence.counts[IndexOf(Count::kDeposedStale)] == 0) {
    missing->emplace_back(
        "no GET READ a deposed primary that would have answered wrongly: run longer");
  }
  if (reads_any_replica && evidence.audited.replica_gets < kReplicaGets) {
    missing->push_back(
        fmt::format("fewer than {} GETs of any replica were answered: run longer, with a longer "
                    "--max-age",
                    Grouped(kReplicaGets)));
  }
}

void AddMissingTransactions(const TransactionTally& tally, std::vector<std::string>* missing) {
  const auto need = [missing](uint64_t least, uint64_t count, std::string_view what) {
    if (count >= least) return;
    missing->push_back(fmt::format("{} {} were seen, of {} that a run has to have: run longer",
                                   count, what, least));
  };
  need(kCommits, tally.commits, "commits that were applied");
  need(kConflicts, tally.conflicts, "commits that were refused for a conflict");
  need(kSnapshots, tally.snapshots, "snapshots");
}

std::vector<std::string> MissingOf(const Evidence& evidence) {
  std::vector<std::string> missing;
  const Audited& audited = evidence.audited;
  const uint64_t answered =
      audited.total() - audited.of(Outcome::kRefused) - audited.of(Outcome::kUnknown);
  if (answered == 0) missing.emplace_back("no operation was checked: run longer");
  if (evidence.options.cluster > 0 && answered < kClusterOperations) {
    missing.push_back(fmt::format("fewer than {} operations were checked: run longer",
                                  Grouped(kClusterOperations)));
  }
  if (evidence.options.cluster > 0 && evidence.promotions < kClusterPromotions) {
    missing.push_back(
        fmt::format("{} promotions were seen, of {} that a run has to have: run longer",
                    evidence.promotions, kClusterPromotions));
  }
  if (evidence.options.cluster > 0) AddMissingGets(evidence, &missing);
  if (evidence.options.transactions) AddMissingTransactions(audited.transactions, &missing);
  for (std::string& unseen : UnseenOf(evidence)) missing.push_back(std::move(unseen));
  for (size_t i = 0; i < kFaults; ++i) {
    if (!Lacks(evidence, static_cast<Fault>(i))) continue;
    missing.push_back(fmt::format("the fault {} did not happen: run longer", kFaultNames[i]));
  }
  if (audited.undecided > 0) {
    missing.push_back(fmt::format(
        "{} keys were left undecided, for too many of their writes got no answer: more --keys and "
        "--hot-keys, fewer --clients or --faults",
        audited.undecided));
  }
  return missing;
}

}  // namespace

int Verdict::exit_status() const {
  switch (type) {
    case Type::kPass:
      return 0;
    case Type::kViolation:
      return 1;
    case Type::kTooLittle:
      break;
  }
  return 4;
}

Verdict Decide(const Evidence& evidence) {
  Verdict verdict;
  verdict.missing = MissingOf(evidence);
  verdict.wrongs = evidence.wrongs;
  const uint64_t corrupt = evidence.counts[IndexOf(Code::kCorrupt)];
  if (corrupt > 0) {
    verdict.wrongs.push_back(
        fmt::format("{} operations ended with kCorrupt: stored bytes are damaged, or were taken "
                    "for damaged",
                    corrupt));
  }
  for (const Violation& violation : evidence.audited.found) {
    verdict.findings.push_back(Explain(violation, Initial::kAbsent));
    if (evidence.options.reads_any_replica()) {
      verdict.findings.back().reason +=
          fmt::format("; clients' GETs are shown as begun {} us earlier (--max-age)",
                      evidence.options.max_age.count());
    }
  }
  if (!verdict.wrongs.empty() || evidence.audited.violations > 0) {
    verdict.type = Verdict::Type::kViolation;
  } else if (!verdict.missing.empty()) {
    verdict.type = Verdict::Type::kTooLittle;
  }
  return verdict;
}

}  // namespace plov::torture
