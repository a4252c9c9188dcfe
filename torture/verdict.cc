#include "torture/verdict.h"

#include <fmt/format.h>

#include "torture/shrink.h"

namespace plov::torture {

namespace {

uint64_t TornOf(const Counts& counts) {
  return counts[IndexOf(Count::kTornBuckets)] + counts[IndexOf(Count::kTornRecords)];
}

// Whether the run asked for it and did not get it, though it was possible.
bool Lacks(const Evidence& evidence, Fault fault) {
  if (!evidence.options.has(fault)) return false;
  switch (fault) {
    case Fault::kGrowth:
      return evidence.server.growths == 0;
    case Fault::kFull:
      return evidence.injected[IndexOf(fault)] == 0 || evidence.server.no_space == 0;
    default:
      return evidence.injected[IndexOf(fault)] == 0;
  }
}

std::vector<std::string> MissingOf(const Evidence& evidence) {
  std::vector<std::string> missing;
  const Audited& audited = evidence.audited;
  const uint64_t answered =
      audited.total() - audited.of(Outcome::kRefused) - audited.of(Outcome::kUnknown);
  if (answered == 0) missing.emplace_back("no operation was checked: run longer");
  if (TornOf(evidence.counts) == 0) {
    missing.emplace_back(
        "no torn read was seen: run longer, with more --clients, fewer --hot-keys, larger "
        "--value-bytes");
  }
  if (evidence.server.displacements == 0) {
    missing.emplace_back("no displacement was seen: run longer, with more --keys");
  }
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

int Judgement::exit_status() const {
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

Judgement Judge(const Evidence& evidence) {
  Judgement judgement;
  judgement.missing = MissingOf(evidence);
  judgement.wrongs = evidence.wrongs;
  const uint64_t corrupt = evidence.counts[IndexOf(Code::kCorrupt)];
  if (corrupt > 0) {
    judgement.wrongs.push_back(
        fmt::format("{} operations ended with kCorrupt: stored bytes are damaged, or were taken "
                    "for damaged",
                    corrupt));
  }
  for (const Violation& violation : evidence.audited.found) {
    judgement.findings.push_back(Explain(violation, Initial::kAbsent));
  }
  if (!judgement.wrongs.empty() || evidence.audited.violations > 0) {
    judgement.type = Judgement::Type::kViolation;
  } else if (!judgement.missing.empty()) {
    judgement.type = Judgement::Type::kTooLittle;
  }
  return judgement;
}

}  // namespace plov::torture
