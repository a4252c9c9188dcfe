#include "client/cli/rdma_checks.h"

#include <fmt/core.h>

#include <algorithm>

#include "program/format.h"

namespace plov::cli {

namespace {

constexpr auto kPort = "7777";  // of the examples in the manual
constexpr uint64_t kNoLimit = UINT64_MAX;
// A connection of a client, by the manual: 544 KiB for messages and READs, and two of the longest
// values once it has sent one that goes by rendezvous.
constexpr uint64_t kClientPinnedBytes = uint64_t{33} << 20;

// "libibverbs.so.1.14.44.0" is of rdma-core 44.0: libraries end with the release they are of.
std::string ReleaseOf(const std::string& library) {
  const size_t last = library.rfind('.');
  if (last == std::string::npos || last == 0) return "";
  const size_t before = library.rfind('.', last - 1);
  const std::string release = before == std::string::npos ? "" : library.substr(before + 1);
  const bool numbers = release.find_first_not_of("0123456789.") == std::string::npos;
  return numbers ? release : "";
}

void CheckLibrary(const RdmaFacts& facts, Findings* findings) {
  const std::string release = ReleaseOf(facts.library);
  findings->Ok("RDMA library", release.empty()
                                   ? std::string("rdma-core, of a release that it does not tell")
                                   : fmt::format("rdma-core {} ({})", release, facts.library));
}

bool IsForAdding(const Netdev& netdev) { return !netdev.loopback && netdev.up; }

void CheckNoDevice(const RdmaFacts& facts, Findings* findings) {
  std::string meaning = "none, and none is needed on one host: shm: works without";
  if (facts.wanted) meaning = "none on this machine, so it reaches no rdma: server";
  meaning += "; soft-RoCE makes one of a network interface";
  if (facts.rxe == Module::kAbsent) {
    meaning += fmt::format(
        ", but the running kernel has no module rdma_rxe, or does not show it to this container: "
        "before the link is added on the host, {} && {}",
        program::AsRoot("apt-get install linux-image-amd64"), program::AsRoot("reboot"));
  }
  AddFault(facts, {Severity::kNote, "RDMA devices", meaning, AddSoftRoce(facts, "rxe0")}, findings);
}

// Only before there is a soft-RoCE link: afterwards the kernel has shown that it has what it needs.
void CheckModules(const RdmaFacts& facts, Findings* findings) {
  const bool has_soft = std::ranges::any_of(facts.devices, &RdmaDevice::soft);
  if (has_soft || facts.rxe != Module::kLoaded || facts.has_crc32) return;
  AddFault(facts,
           {Severity::kNote, "RDMA modules",
            "rdma_rxe is loaded without the CRC-32 that it computes with: unless the kernel can "
            "load that by itself, rdma link add fails",
            program::AsRoot("modprobe crc32_generic")},
           findings);
}

Finding CmFault(const RdmaFacts& facts) {
  constexpr auto kSubject = "RDMA connections";
  constexpr auto kFile = "/dev/infiniband/rdma_cm";
  if (facts.cm_number.empty()) {
    return {Severity::kNote, kSubject,
            fmt::format("no {}: the module rdma_ucm is not loaded, and without it nobody connects",
                        kFile),
            program::AsRoot("modprobe rdma_ucm")};
  }
  if (facts.cm_node == Node::kAbsent) {
    const size_t colon = facts.cm_number.find(':');
    const std::string major = facts.cm_number.substr(0, colon);
    const std::string minor = colon == std::string::npos ? "" : facts.cm_number.substr(colon + 1);
    return {
        Severity::kNote, kSubject,
        fmt::format("rdma_ucm is loaded, but {} is not there; is this a container? Then start "
                    "it with --device=/dev/infiniband --cap-add=IPC_LOCK",
                    kFile),
        fmt::format("{} && {}", program::AsRoot("mkdir -p /dev/infiniband"),
                    program::AsRoot(fmt::format("mknod -m 666 {} c {} {}", kFile, major, minor)))};
  }
  if (facts.cm_node == Node::kForbidden) {
    return {Severity::kNote, kSubject,
            fmt::format("this user may not open {}; the package rdma-core has the udev rules that "
                        "let every user",
                        kFile),
            program::AsRoot(fmt::format("chmod a+rw {}", kFile))};
  }
  return {Severity::kNote, kSubject,
          fmt::format("{} is there but does not work, which the kernel's log may explain", kFile),
          program::AsRoot("dmesg | tail")};
}

void CheckCm(const RdmaFacts& facts, Findings* findings) {
  if (facts.cm != Code::kOk) return AddFault(facts, CmFault(facts), findings);
  findings->Ok("RDMA connections", "/dev/infiniband/rdma_cm can be used");
}

// What raises the limit of the shell that plov was started from.
std::string RaiseMemlock(const RdmaFacts& facts) {
  if (facts.memlock_hard_bytes == kNoLimit) return "ulimit -l unlimited";
  return program::AsRoot("prlimit --pid $$ --memlock=unlimited:unlimited");
}

// What a server pins; its queues and messages come on top.
bool CanPin(const RdmaFacts& facts) {
  return facts.may_lock || facts.memlock_bytes > facts.memory_bytes;
}

void CheckMemlock(const RdmaFacts& facts, Findings* findings) {
  constexpr auto kSubject = "locked memory";
  const std::string limit =
      facts.memlock_bytes == kNoLimit
          ? std::string("no limit")
          : fmt::format("{} (ulimit -l)", program::Bytes(facts.memlock_bytes));
  if (facts.devices.empty() || !facts.built) {
    return findings->Ok(kSubject, limit + "; shared memory needs none");
  }
  const std::string needs = fmt::format("a server over RDMA pins all of its --memory, {}",
                                        program::Bytes(facts.memory_bytes));
  if (facts.memlock_bytes == kNoLimit || facts.may_lock) {
    return findings->Ok(
        kSubject, fmt::format("{}; {}, which counts against the memory limit of its control group",
                              facts.may_lock ? "no limit for this process (CAP_IPC_LOCK, as root "
                                               "has it)"
                                             : "no limit",
                              needs));
  }
  if (CanPin(facts)) return findings->Ok(kSubject, limit + "; " + needs);
  const bool too_low_for_clients = facts.wanted && facts.memlock_bytes < kClientPinnedBytes;
  const std::string meaning = fmt::format(
      "{}: {}, a client up to {} for each connection. Lasting: LimitMEMLOCK=infinity in a systemd "
      "unit, '* - memlock unlimited' in /etc/security/limits.conf",
      limit, needs, program::Bytes(kClientPinnedBytes));
  if (too_low_for_clients) return findings->Problem(kSubject, meaning, RaiseMemlock(facts));
  findings->Note(kSubject, meaning, RaiseMemlock(facts));
}

void CheckEach(const RdmaFacts& facts, Findings* findings) {
  if (!IsReady(facts)) {
    return findings->Note("RDMA",
                          facts.devices.empty()
                              ? "verdict: not there; plov works on this host by shm:"
                              : "verdict: not usable until what is shown above is mended; plov "
                                "works on this host by shm:",
                          "");
  }
  std::string uris;
  for (const RdmaDevice& device : facts.devices) {
    if (!IsReady(device, facts)) continue;
    for (const std::string& address : device.addresses) {
      uris.append(uris.empty() ? "" : ", ").append(UriOf(address));
    }
  }
  const std::string_view server = CanPin(facts) ? "" : ", once it may lock its memory,";
  findings->Ok("RDMA",
               fmt::format("verdict: usable; plovd --listen can serve{} on {}", server, uris));
}

}  // namespace

std::string UriOf(const std::string& address) {
  const bool six = address.find(':') != std::string::npos;
  return fmt::format("rdma://{}{}{}:{}", six ? "[" : "", address, six ? "]" : "", kPort);
}

std::string AddSoftRoce(const RdmaFacts& facts, std::string_view link) {
  auto best = std::ranges::find_if(facts.netdevs, [](const Netdev& netdev) {
    return IsForAdding(netdev) && netdev.has_address;
  });
  if (best == facts.netdevs.end()) best = std::ranges::find_if(facts.netdevs, IsForAdding);
  const std::string name = best == facts.netdevs.end() ? "eth0" : best->name;
  return fmt::format("{} && {}", program::AsRoot("modprobe -a crc32_generic rdma_rxe rdma_ucm"),
                     program::AsRoot(fmt::format("rdma link add {} type rxe netdev {}",
                                                 program::Quoted(link), program::Quoted(name))));
}

bool IsReady(const RdmaFacts& facts) {
  return std::ranges::any_of(facts.devices,
                             [&facts](const RdmaDevice& device) { return IsReady(device, facts); });
}

void AddFault(const RdmaFacts& facts, Finding fault, Findings* findings) {
  if (facts.wanted && !IsReady(facts)) {
    return findings->Problem(std::move(fault.subject), std::move(fault.meaning),
                             std::move(fault.mend));
  }
  findings->Note(std::move(fault.subject), std::move(fault.meaning), std::move(fault.mend));
}

void CheckRdma(const RdmaFacts& facts, Findings* findings) {
  if (!facts.built) {
    AddFault(facts,
             {Severity::kNote, "RDMA library",
              "this plov was built without rdma-core, so it serves and reaches shm: only; in its "
              "source folder",
              fmt::format("{} && cmake -S . -B build && cmake --build build",
                          program::AsRoot("apt-get install libibverbs-dev librdmacm-dev"))},
             findings);
    return CheckMemlock(facts, findings);
  }
  CheckLibrary(facts, findings);
  if (facts.devices.empty()) CheckNoDevice(facts, findings);
  CheckModules(facts, findings);
  for (const RdmaDevice& device : facts.devices) CheckRdmaDevice(device, facts, findings);
  if (!facts.devices.empty()) CheckCm(facts, findings);
  CheckMemlock(facts, findings);
  CheckEach(facts, findings);
}

}  // namespace plov::cli
