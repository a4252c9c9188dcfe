// Own server: a plovd that the tool starts, kills and starts again.
#pragma once

#include <chrono>
#include <cstdint>
#include <expected>
#include <optional>
#include <string>
#include <vector>

#include "program/process.h"
#include "verify/error.h"

namespace plov::program {

inline constexpr uint32_t kPlovdSpinUs = 50;  // what plovd does without the option
inline constexpr uint32_t kBucketsInTurn = 1;

// As plovd's --bucket-bytes takes it (verify/quantity.h).
std::string BucketBytesText(uint32_t bucket_bytes);

struct OwnServerOptions {
  std::string plovd;        // its path
  std::string folder;       // of socket, log and memory file
  std::string listen = {};  // a URI; empty: the socket in the folder
  uint64_t memory_bytes = 0;
  uint64_t max_value_bytes = 0;
  uint32_t shards = 1;
  // 64, 128, or 0 for auto; kBucketsInTurn: another of these in each empty life.
  uint32_t bucket_bytes = 0;
  bool is_warm = false;  // keeps its memory in a file
  // Clients and checker have better uses for a processor than a server's waiting; measured on two.
  uint32_t spin_us = 5;
  bool huge_pages = false;
  bool evicts = false;
  std::string log = {};  // its folder; empty: what the environment says
  // Of a cluster with replicas: its coordinator, and the server's ID. It may have `shards` replicas.
  struct Member {
    std::string coordinator;
    std::string id;
    std::string cuts;  // the file of --test-cuts
  };
  std::optional<Member> member = {};
};

enum class Life {
  kFirst,
  kWarm,   // goes on with the memory of the former
  kCold,   // without its memory; it may have a log
  kEmpty,  // begins anew
};

class OwnServer {
 public:
  explicit OwnServer(OwnServerOptions options) : options_(std::move(options)) {}

  std::string uri() const {
    return options_.listen.empty() ? "shm:" + options_.folder + "/s.sock" : options_.listen;
  }

  // Starts, and waits until it serves. Errors: kUnavailable with the end of its log.
  std::expected<void, Error> Start(Life life);

  // From Start on.
  bool has_process() const { return process_.has_value(); }
  Process& process() { return *process_; }
  const Process& process() const { return *process_; }

  // What it wrote, its last lines.
  std::string Log() const;

 private:
  std::string path(const char* name) const { return options_.folder + "/" + name; }
  std::expected<void, Error> AwaitReady(int output);
  std::vector<std::string> Arguments() const;

  OwnServerOptions options_;
  uint64_t empty_lives_ = 0;
  std::optional<Process> process_;
};

// plovd as it is installed or built beside this program, else of the PATH. Empty: there is none.
std::string FindPlovd();

}  // namespace plov::program
