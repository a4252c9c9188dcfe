// DesignServers: a server of each design with the same items, and the ways to them.
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
#include "bench/tool/designs_settings.h"
#include "torture/own_server.h"
#include "torture/process.h"
#include "torture/scratch.h"

namespace plov::bench {

// Emulations first, as in Design.
inline constexpr auto kDesignNames = std::to_array<std::string_view>(
    {"Pilaf", "FaRM-KV, inline", "FaRM-KV, pointers", "HERD", "plov, cold", "plov, known"});

struct ClientPlace {
  size_t first = 0;                           // where in the load's order it begins
  std::function<void(size_t items)> learned;  // see OursOptions
};

class DesignServers {
 public:
  explicit DesignServers(const DesignsSettings& settings) : settings_(settings) {}
  ~DesignServers();
  DesignServers(const DesignServers&) = delete;
  DesignServers& operator=(const DesignServers&) = delete;

  // A folder and, for RDMA, a device. Once. Errors: kUnavailable (no device), kSystem.
  Outcome Prepare();
  const std::string& device() const { return device_; }  // empty: no RDMA

  // Ends those that run, and starts one of each design, with items of this size; plovd is empty.
  Outcome Start(uint32_t value_bytes);
  std::string plovd_uri() const { return plovd_->uri(); }

  // A client of the design's server. `load` outlives it.
  std::expected<std::unique_ptr<Side>, Error> Connect(size_t design, const DesignLoad& load,
                                                      const ClientPlace& place) const;

  // That the design's server has used.
  std::expected<std::chrono::nanoseconds, Error> CpuTime(size_t design) const;

 private:
  struct Emulated {
    std::string uri;
    torture::Process process;
  };

  std::expected<std::string, Error> UriOf(size_t design) const;
  Outcome StartPlovd(uint32_t value_bytes);

  const DesignsSettings& settings_;
  std::string device_;
  std::string host_;  // of RDMA URIs
  std::string folder_;
  std::optional<torture::Janitor> janitor_;
  std::vector<Emulated> emulated_;
  std::optional<torture::OwnServer> plovd_;
};

}  // namespace plov::bench
