#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <charconv>

#include "client/cli/probes.h"
#include "fabric/os.h"

namespace plov::cli {

namespace {

constexpr unsigned kKernelMajor = 5;
constexpr unsigned kKernelMinor = 1;
constexpr auto kSources = "/sys/devices/system/clocksource/clocksource0";

// "6.1.0-18-amd64" is {6, 1}.
std::array<unsigned, 2> KernelVersion(std::string_view release) {
  std::array<unsigned, 2> version{};
  const char* at = release.data();
  const char* end = at + release.size();
  for (unsigned& number : version) {
    at = std::from_chars(at, end, number).ptr;
    if (at != end) ++at;
  }
  return version;
}

// Clocks that are read without a system call.
bool IsFast(std::string_view source) {
  static constexpr auto kFast = std::to_array<std::string_view>(
      {"tsc", "kvm-clock", "hyperv_clocksource_tsc_page", "arch_sys_counter"});
  return std::ranges::find(kFast, source) != kFast.end();
}

void ProbeClock(const program::Machine& machine, Findings* findings) {
  const auto source = machine.Read(fmt::format("{}/current_clocksource", kSources));
  if (!source) return;
  if (IsFast(*source)) return findings->Ok("clock", *source);
  const auto others = machine.Read(fmt::format("{}/available_clocksource", kSources));
  const bool has_tsc = others && fmt::format(" {} ", *others).find(" tsc ") != std::string::npos;
  findings->Note(
      "clock", fmt::format("{}: every look at the clock is a system call", *source),
      has_tsc ? program::WriteAsRoot("tsc", fmt::format("{}/current_clocksource", kSources)) : "");
}

void ProbeGovernor(const program::Machine& machine, Findings* findings) {
  const auto governor = machine.Read("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor");
  if (!governor) return;
  if (*governor == "performance") return findings->Ok("frequency", "governor performance");
  findings->Note("frequency",
                 fmt::format("governor {}: the first operations after a rest are slow", *governor),
                 program::AsRoot("cpupower frequency-set -g performance"));
}

}  // namespace

void ProbeKernel(const program::Machine& machine, Findings* findings) {
  const auto release = machine.Read("/proc/sys/kernel/osrelease");
  if (!release) {
    return findings->Note("kernel", "its version cannot be told without /proc",
                          program::AsRoot("mount -t proc proc /proc"));
  }
  if (KernelVersion(*release) >= std::array{kKernelMajor, kKernelMinor}) {
    return findings->Ok("kernel", fmt::format("Linux {}", *release));
  }
  findings->Problem(
      "kernel",
      fmt::format("Linux {}: {}.{} or later is needed", *release, kKernelMajor, kKernelMinor),
      program::AsRoot("apt-get install linux-image-amd64"));
}

void ProbeProcessors(const program::Machine& machine, Findings* findings) {
  const uint32_t cores = fabric::ProcessorCount();
  findings->Ok("processors", fmt::format("{} for this process", cores));
  ProbeClock(machine, findings);
  ProbeGovernor(machine, findings);
}

}  // namespace plov::cli
