// The options of plov-torture.
#pragma once

#include <chrono>
#include <cstdint>
#include <expected>
#include <string>

#include "program/own_server.h"
#include "torture/durability.h"
#include "torture/faults.h"
#include "verify/error.h"

namespace plov::torture {

struct ToolOptions {
  enum class Action { kRun, kHelp, kVersion };

  Action action = Action::kRun;
  std::chrono::microseconds duration = std::chrono::minutes(1);
  uint32_t clients = 3;
  uint64_t keys = 50'000;
  uint32_t hot_keys = 8;
  uint64_t value_bytes_min = 16;
  uint64_t value_bytes_max = uint64_t{512} << 10;
  std::chrono::microseconds timeout = std::chrono::milliseconds(500);  // of each call
  FaultSet faults;  // those that the server allows
  uint64_t seed = 0;
  std::string server;  // empty: the tool starts its own
  std::string plovd;   // its path; empty with a server given
  std::string listen;  // where its own server listens; empty: a socket in a new folder
  uint64_t memory_bytes = uint64_t{128} << 20;
  uint32_t shards = 1;
  uint32_t servers = 2;  // of its own, behind one name
  uint32_t cluster = 0;  // servers of a cluster of its own, with replicas; 0: none
  // Of the cluster (cluster/configuration.h); longer than plov cluster create has by default, as the machine may be busy with
  // the load.
  std::chrono::microseconds detect = std::chrono::milliseconds(600);
  std::chrono::microseconds drop = std::chrono::milliseconds(300);
  uint32_t bucket_bytes = program::kBucketsInTurn;
  std::string log;  // a folder; empty: its server keeps none
  Commit commit = Commit::kStrict;
  // Of what GETs of any replica find; 0: GETs READ the primary.
  std::chrono::microseconds max_age{0};
  bool transactions = false;
  std::string json;  // a path; empty: none
  std::string html;  // likewise

  bool has_own_server() const { return server.empty(); }
  bool reads_any_replica() const { return max_age.count() > 0; }
  bool has(Fault fault) const { return faults.test(IndexOf(fault)); }
};

// kInvalidArgument with one line that says what is wrong.
std::expected<ToolOptions, Error> ParseToolOptions(int argc, const char* const* argv);

std::string ToolHelpText();

}  // namespace plov::torture
