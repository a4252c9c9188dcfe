// The options of plov: the command line, and PLOV_SERVER behind it.
#pragma once

#include <plov/client.h>

#include <chrono>
#include <cstdint>
#include <expected>
#include <optional>
#include <string>
#include <vector>

#include "client/cli/commands.h"

namespace plov::cli {

struct Options {
  enum class Action { kRun, kHelp, kVersion };

  Action action = Action::kRun;
  const Command* command = nullptr;  // may be null for kHelp, is for kVersion
  std::vector<std::string> words;    // what follows the command
  std::string server = "shm:default";
  std::chrono::microseconds timeout = std::chrono::seconds(5);
  std::chrono::microseconds wait{};  // for a server to be there
  bool json = false;
  bool json_lines = false;                              // of load
  bool no_wait = false;                                 // of snapshot
  bool prometheus = false;                              // of stats
  std::optional<std::chrono::microseconds> watch = {};  // of stats: print them again after this
  std::chrono::microseconds interval = std::chrono::seconds(1);  // of top
  std::optional<uint64_t> count = {};                            // likewise; without: for ever
  bool cancel = false;                                           // of drain
  // Likewise: how long clients may stay.
  std::chrono::microseconds drain_for = std::chrono::seconds(30);
  PutOptions put;  // of put; delete uses expected_version
  // Of doctor: the --memory of the server; what plovd takes when it is given none.
  uint64_t memory_bytes = uint64_t{1} << 30;
  std::string log_folder = {};             // of doctor: the --log of the server; empty: it has none
  std::optional<uint32_t> log_shard = {};  // of log list
  bool log_snapshot = false;
  std::vector<std::string> until_versions = {};  // of restore, as they were given
  std::optional<std::string> until_time = {};    // likewise
};

// kInvalidArgument with one line that says what is wrong.
std::expected<Options, Error> ParseOptions(int argc, const char* const* argv);

// The options as --help lists them.
std::string OptionsText();

// The line of --help for one option of a command.
std::string OptionsText(const Command& command);

// Connects as the options say.
std::expected<Client, Error> Connect(const Options& options);
// The same as who may come in when no client may.
std::expected<Client, Error> ConnectAsAdministrator(const Options& options);

// kInvalidArgument when no server could ever accept the key.
std::expected<void, Error> CheckKey(std::string_view key);

}  // namespace plov::cli
