// plov-bench, the benchmarks. See plov-bench(1).

#include <csignal>
#include <string>
#include <vector>

#include "bench/shared/command.h"
#include "program/output.h"

int main(int argc, char** argv) {
  plov::program::OccupyStandardFiles();
  std::signal(SIGPIPE, SIG_IGN);  // a closed pipe is a write error, told in one line
  return plov::bench::RunTool(std::vector<std::string>(argv + 1, argv + argc));
}
