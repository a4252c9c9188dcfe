// Facts of a run: what was run, and on which machine, without which no figure means anything.
#pragma once

#include <string>
#include <vector>

#include "program/json.h"
#include "program/machine.h"

namespace plov::bench {

struct Fact {
  std::string name;
  std::string value;
};

// The machine's processor, its cores, last cache and memory, the kernel. What the machine does not
// tell is left out.
std::vector<Fact> FactsOfMachine(const program::Machine& machine = program::Machine());

// This process' command line, plov's version, the time of day (UTC), and the machine's.
std::vector<Fact> FactsOfRun();

// An object with a member for each.
program::Json JsonOf(const std::vector<Fact>& facts);

}  // namespace plov::bench
