#include "bench/page/fact.h"

#include <fmt/chrono.h>
#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <optional>
#include <sstream>

#include "fabric/os.h"
#include "program/format.h"

namespace plov::bench {

namespace {

// What stands behind "NAME <white space> :" on the first such line of /proc/cpuinfo.
std::optional<std::string> CpuField(const program::Machine& machine, std::string_view name) {
  std::istringstream lines(machine.Read("/proc/cpuinfo").value_or(""));
  for (std::string line; std::getline(lines, line);) {
    const size_t colon = line.find(':');
    if (!line.starts_with(name) || colon == std::string::npos) continue;
    if (line.find_last_not_of(" \t", colon - 1) + 1 != name.size()) continue;
    return line.substr(std::min(line.size(), colon + 2));
  }
  return std::nullopt;
}

bool IsVirtual(const program::Machine& machine) {
  const auto flags = CpuField(machine, "flags");
  return flags && (" " + *flags + " ").find(" hypervisor ") != std::string::npos;
}

// "madvise" of "always [madvise] never".
std::optional<std::string> Chosen(const std::optional<std::string>& choices) {
  const size_t from = choices ? choices->find('[') : std::string::npos;
  if (from == std::string::npos) return std::nullopt;
  return choices->substr(from + 1, choices->find(']') - from - 1);
}

std::string CommandLine(const program::Machine& machine) {
  std::istringstream words(machine.Read("/proc/self/cmdline").value_or(""));
  std::string line;
  for (std::string word; std::getline(words, word, '\0');) {
    line += line.empty() ? std::filesystem::path(word).filename().string()
                         : " " + program::Quoted(word);
  }
  return line;
}

}  // namespace

std::vector<Fact> FactsOfMachine(const program::Machine& machine) {
  std::vector<Fact> facts;
  const auto add = [&facts](const char* name, const std::optional<std::string>& value) {
    if (value && !value->empty()) facts.push_back({name, *value});
  };
  add("processor", CpuField(machine, "model name"));
  add("cores", fmt::format("{}{}", fabric::ProcessorCount(),
                           IsVirtual(machine) ? ", of a virtual machine" : ""));
  add("last cache", machine.Read("/sys/devices/system/cpu/cpu0/cache/index3/size"));
  if (const auto kib = machine.ReadField("/proc/meminfo", "MemTotal")) {
    add("memory", program::Bytes(*kib * 1024));
  }
  add("transparent huge pages",
      Chosen(machine.Read("/sys/kernel/mm/transparent_hugepage/enabled")));
  if (const auto release = machine.Read("/proc/sys/kernel/osrelease")) {
    add("kernel", "Linux " + *release);
  }
  return facts;
}

std::vector<Fact> FactsOfRun() {
  const auto now =
      std::chrono::time_point_cast<std::chrono::seconds>(std::chrono::system_clock::now());
  std::vector<Fact> facts = {
      {"command", CommandLine(program::Machine())},
      {"plov", PLOV_VERSION},
      {"date", fmt::format("{:%Y-%m-%d %H:%M} UTC",
                           fmt::gmtime(std::chrono::system_clock::to_time_t(now)))}};
  for (Fact& fact : FactsOfMachine()) facts.push_back(std::move(fact));
  return facts;
}

program::Json JsonOf(const std::vector<Fact>& facts) {
  program::Json object = program::Json::object();
  for (const Fact& fact : facts) object[fact.name] = fact.value;
  return object;
}

}  // namespace plov::bench
