// DesignServers: servers of each design with the same items, and the ways to them.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "bench/designs/side.h"
#include "bench/shared/options.h"
#include "bench/shared/scratch_folder.h"
#include "program/own_server.h"
#include "program/process.h"

namespace plov::bench {

// Emulations first, as in Design.
inline constexpr auto kDesignNames = std::to_array<std::string_view>(
    {"Pilaf", "FaRM-KV, inline", "FaRM-KV, pointers", "HERD", "plov, cold", "plov, known"});
inline constexpr size_t kHerdDesign = 3;
inline constexpr size_t kColdDesign = 4;
inline constexpr size_t kKnownDesign = 5;

struct DesignsSettings : StudySettings, FabricChoice {
  DesignsSettings() {
    rounds = 3;
    duration = std::chrono::milliseconds(200);
  }

  uint64_t items = 100'000;
  std::vector<uint32_t> value_bytes = {16, 64, 256, 1024};
  uint32_t window = 32;
  std::vector<uint32_t> clients = {1, 2, 4, 8};  // processes; ascending
  std::vector<uint32_t> servers = {1, 2, 4};     // processes or shards; ascending
};

// What is asked of a design.
struct DesignWork {
  size_t design = 0;     // its index in kDesignNames
  uint32_t servers = 1;  // that share the items: processes; plovd's shards
  bool puts = false;     // of the items that are there; of plov's alone

  bool operator==(const DesignWork&) const = default;
};

struct ClientPlace {
  size_t first = 0;                           // where in the load's order it begins
  std::function<void(size_t items)> learned;  // see OursOptions
};

class DesignServers {
 public:
  explicit DesignServers(const DesignsSettings& settings) : settings_(settings) {}
  DesignServers(const DesignServers&) = delete;
  DesignServers& operator=(const DesignServers&) = delete;

  // A folder and, for RDMA, a device. Once. Errors: kUnavailable (no device), kSystem.
  Outcome Prepare();
  const std::string& device() const { return device_.name; }  // empty: no RDMA

  // Ends those that run, and starts one of each design, with items of this size; plovd is empty.
  Outcome Start(uint32_t value_bytes);
  // Another of HERD's, and another plovd, empty too, for each number of servers but 1.
  Outcome StartMore(uint32_t value_bytes);
  std::vector<std::string> plovd_uris() const;

  // A client for the work. `load` outlives it.
  std::expected<std::unique_ptr<Side>, Error> Connect(const DesignWork& work,
                                                      const DesignLoad& load,
                                                      const ClientPlace& place) const;

  // That the work's servers have used.
  std::expected<std::chrono::nanoseconds, Error> CpuTime(const DesignWork& work) const;

 private:
  struct Servers {
    size_t design = 0;
    uint32_t count = 1;
    std::vector<std::string> uris = {};
    std::vector<program::Process> emulated = {};
    std::unique_ptr<program::OwnServer> plovd = {};  // instead of those
  };

  std::expected<std::string, Error> NewUri();
  Outcome StartEmulated(size_t design, uint32_t count, uint32_t value_bytes);
  Outcome StartPlovd(uint32_t shards, uint32_t value_bytes);
  const Servers& ServersOf(const DesignWork& work) const;

  const DesignsSettings& settings_;
  DeviceName device_;
  std::optional<ScratchFolder> folder_;
  size_t uris_ = 0;  // made so far
  std::vector<Servers> servers_;
};

}  // namespace plov::bench
