// The options of plov, as a command line gives them.
#pragma once

#include <plov/client.h>

#include <chrono>
#include <cstdint>
#include <expected>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "client/cli/commands.h"

namespace plov::cli {

struct KeptClient;

// Of cluster.
struct ClusterOptions {
  std::string uri = {};        // of doctor alone: the coordinator's; empty: none
  std::string auth_file = {};  // of doctor, too
  uint32_t shards = 16;
  std::optional<uint32_t> replicas = {};  // 2, or 1 where there is one server
  uint32_t min_replicas = 1;
  std::chrono::microseconds lease = std::chrono::milliseconds(250);  // 0: none
  std::chrono::microseconds detect = std::chrono::milliseconds(300);
  std::chrono::microseconds drop = std::chrono::milliseconds(80);
  std::optional<std::chrono::microseconds> repair_after = {};  // 10 min of a new one; 0: never
  std::string from = {};                                       // of move, and the next
  std::string to = {};
  bool loses_data = false;
};

struct Options {
  enum class Action { kRun, kHelp, kVersion };

  Action action = Action::kRun;
  // May be null for kHelp, is for kVersion. Of defaults: where none is given; null: that is an error.
  const Command* command = nullptr;
  std::vector<std::string> words;  // what follows the command
  std::string server = "shm:default";
  std::chrono::microseconds timeout = std::chrono::seconds(5);
  ReadFrom read_from = ReadFrom::kPrimary;  // of get, mget and exists
  std::chrono::microseconds max_age = std::chrono::seconds(1);
  std::chrono::microseconds wait{};       // for a server to be there
  std::shared_ptr<KeptClient> kept = {};  // of all commands of a shell
  bool in_shell = false;
  bool json = false;
  bool json_lines = false;                              // of load
  bool values = false;                                  // of scan
  bool yes = false;                                     // of flush
  std::optional<std::chrono::seconds> delay = {};       // of flush
  bool no_wait = false;                                 // of snapshot
  bool prometheus = false;                              // of stats
  std::optional<std::chrono::microseconds> watch = {};  // of stats: print them again after this
  std::chrono::microseconds interval = std::chrono::seconds(1);  // of top
  std::optional<uint64_t> count = {};  // likewise; without: for ever. Of vector: elements
  uint64_t first = 0;                  // of vector
  bool cancel = false;                 // of drain
  // Likewise: how long clients may stay.
  std::chrono::microseconds drain_for = std::chrono::seconds(30);
  PutOptions
      put;  // of put, append and prepend; delete uses expected_version, get and touch the ttl
  std::optional<std::string> if_value = {};  // of put
  bool creates = false;                      // of append and prepend
  IncrementOptions increment = {};           // of incr and decr
  bool is_unsigned = false;
  // Of doctor: the --memory of the server; what plovd takes when it is given none.
  uint64_t memory_bytes = uint64_t{1} << 30;
  std::string log_folder = {};             // of doctor: the --log of the server; empty: it has none
  std::optional<uint32_t> log_shard = {};  // of log list
  bool log_snapshot = false;
  std::vector<std::string> until_versions = {};  // of restore, as they were given
  std::optional<std::string> until_time = {};    // likewise
  ClusterOptions cluster = {};
};

// words: behind the program's name. defaults: what holds where they do not say otherwise.
// kInvalidArgument with one line that says what is wrong.
std::expected<Options, Error> ParseOptions(const std::vector<std::string>& words,
                                           const Options& defaults);

// "--json" and so on: those that every command has, and those of this one, if it is not null.
std::vector<std::string> OptionNames(const Command* command);

// The options as --help lists them.
std::string OptionsText();

// The line of --help for one option of a command.
std::string OptionsText(const Command& command);

// kInvalidArgument when no server could ever accept the key.
std::expected<void, Error> CheckKey(std::string_view key);

}  // namespace plov::cli
