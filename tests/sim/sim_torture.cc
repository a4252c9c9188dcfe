// sim_torture: runs simulated worlds, seed after seed, until one is wrong or the time is over.

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <string>
#include <string_view>
#include <utility>

#include "tests/sim/virtual_host.h"
#include "tests/sim/world.h"

namespace plov::sim {

namespace {

struct Options {
  uint64_t seed = 1;
  double seconds = 10;
  uint32_t operations = ~uint32_t{0};
  uint64_t runs = UINT64_MAX;
  double search = 5;
  Worlds worlds = {};
};

constexpr auto kUsage =
    "usage: sim_torture [--seed N] [--seconds S] [--runs N] [--operations N]\n"
    "                   [--search S] [--log yes|no] [--modify yes|no]\n"
    "Simulates worlds of the seeds N, N + 1 ... until one is wrong, with at most so many "
    "operations\n"
    "of a client in a schedule. Then prints that seed and the shortest wrong history that it "
    "finds\n"
    "in S seconds more (5). With --log yes their servers keep a log on a disk, with --modify "
    "yes\n"
    "clients INCREMENT and APPEND, too. Exit status: 0 none was wrong, 1 one was, 2 usage.\n";

// What is wrong is often wrong in smaller worlds too: looks there for a shorter history.
void PrintShortest(uint64_t seed, double seconds, Worlds worlds, RunResult best) {
  uint64_t best_seed = seed;
  std::string limit;
  const double start = RealSeconds();
  for (uint64_t next = seed; RealSeconds() - start < seconds; ++next) {
    for (const uint32_t operations : {1u, 2u, 4u}) {
      RunResult result = RunSeed(next, operations, worlds);
      if (result.shortest == 0 || (best.shortest != 0 && result.shortest >= best.shortest)) {
        continue;
      }
      best = std::move(result);
      best_seed = next;
      limit = fmt::format(" --operations {}", operations);
    }
  }
  fmt::print("the shortest found: --runs 1 --seed {}{}\n{}\n", best_seed, limit, best.verdict);
}

int Search(const Options& options) {
  const double start = RealSeconds();
  Coverage coverage;
  uint64_t runs = 0;
  double seconds = 0;
  for (; runs < options.runs && seconds < options.seconds; ++runs) {
    RunResult result = RunSeed(options.seed + runs, options.operations, options.worlds);
    coverage.Add(result.coverage);
    seconds = RealSeconds() - start;
    if (!result.is_guilty) continue;
    fmt::print("seed {} is wrong, after {:.2f} s and {} schedules\n", options.seed + runs, seconds,
               coverage.schedules);
    if (options.runs == 1) {
      fmt::print("{}\n", result.verdict);
    } else {
      PrintShortest(options.seed + runs, options.search, options.worlds, std::move(result));
    }
    return 1;
  }
  fmt::print("{}{:>12.0f}  schedules a second, nothing wrong in {} seeds from {} on\n",
             coverage.Text(), static_cast<double>(coverage.schedules) / seconds, runs,
             options.seed);
  return 0;
}

int Main(int argc, char** argv) {
  Options options;
  for (int i = 1; i < argc; i += 2) {
    const std::string_view name = argv[i];
    if (i + 1 == argc) {
      std::fputs(kUsage, name == "--help" ? stdout : stderr);
      return name == "--help" ? 0 : 2;
    }
    if (name == "--seed") {
      options.seed = std::strtoull(argv[i + 1], nullptr, 10);
    } else if (name == "--seconds") {
      options.seconds = std::strtod(argv[i + 1], nullptr);
    } else if (name == "--operations") {
      options.operations = static_cast<uint32_t>(std::strtoul(argv[i + 1], nullptr, 10));
    } else if (name == "--log") {
      options.worlds.have_log = std::string_view(argv[i + 1]) == "yes";
    } else if (name == "--modify") {
      options.worlds.modify = std::string_view(argv[i + 1]) == "yes";
    } else if (name == "--search") {
      options.search = std::strtod(argv[i + 1], nullptr);
    } else if (name == "--runs") {
      options.runs = std::strtoull(argv[i + 1], nullptr, 10);
      options.seconds = 1e9;
    } else {
      std::fputs(kUsage, stderr);
      return 2;
    }
  }
  spdlog::set_level(spdlog::level::off);
  return Search(options);
}

}  // namespace

}  // namespace plov::sim

int main(int argc, char** argv) {
  try {
    return plov::sim::Main(argc, argv);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "sim_torture: %s\n", error.what());
    return 2;
  }
}
