#include "client/cli/probes.h"
#include "client/cli/rdma_checks.h"
#include "fabric/verbs/verbs.h"

namespace plov::cli {

void ProbeRdma(const program::Machine& machine, const std::string& uri, uint64_t memory_bytes,
               Findings* findings) {
  // First, for what is asked may load a module.
  const fabric::verbs::Survey survey = fabric::verbs::TakeSurvey();
  RdmaFacts facts = GatherRdmaFacts(machine, survey);
  facts.wanted = fabric::verbs::IsRdma(uri);
  facts.memory_bytes = memory_bytes;
  CheckRdma(facts, findings);
}

}  // namespace plov::cli
