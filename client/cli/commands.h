// The commands of plov: what each is called, takes and does.
#pragma once

#include <plov/error.h>

#include <cstddef>
#include <expected>
#include <span>
#include <string_view>

#include "program/output.h"

namespace plov::cli {

struct Options;

// kNotFound, kInvalidArgument and all other codes have an exit status each (report.h).
using Outcome = std::expected<void, Error>;

struct Command {
  std::string_view name;
  std::string_view alias;     // what some call it; empty: nobody does
  std::string_view synopsis;  // what follows the name
  std::string_view summary;   // one line of `plov --help`
  std::string_view details;   // the rest of `plov NAME --help`
  size_t words_min;
  size_t words_max;
  std::string_view options;  // its own ones, separated by spaces
  Outcome (*run)(const Options& options, program::Output* output);
};

std::span<const Command> Commands();
const Command* FindCommand(std::string_view name);  // nullptr: there is none

Outcome Get(const Options& options, program::Output* output);
Outcome GetMany(const Options& options, program::Output* output);
Outcome Exists(const Options& options, program::Output* output);
Outcome Put(const Options& options, program::Output* output);
Outcome Append(const Options& options, program::Output* output);
Outcome Prepend(const Options& options, program::Output* output);
Outcome Incr(const Options& options, program::Output* output);
Outcome Decr(const Options& options, program::Output* output);
Outcome Delete(const Options& options, program::Output* output);
Outcome Touch(const Options& options, program::Output* output);
Outcome Vector(const Options& options, program::Output* output);
Outcome Load(const Options& options, program::Output* output);
Outcome Dump(const Options& options, program::Output* output);
Outcome Scan(const Options& options, program::Output* output);
Outcome Flush(const Options& options, program::Output* output);
Outcome Stats(const Options& options, program::Output* output);
Outcome Top(const Options& options, program::Output* output);
Outcome SlowLog(const Options& options, program::Output* output);
Outcome Ping(const Options& options, program::Output* output);
Outcome Sync(const Options& options, program::Output* output);
Outcome Snapshot(const Options& options, program::Output* output);
Outcome Log(const Options& options, program::Output* output);
Outcome Backup(const Options& options, program::Output* output);
Outcome Restore(const Options& options, program::Output* output);
Outcome Config(const Options& options, program::Output* output);
Outcome Drain(const Options& options, program::Output* output);
Outcome Cluster(const Options& options, program::Output* output);
Outcome Shell(const Options& options, program::Output* output);
Outcome Doctor(const Options& options, program::Output* output);

}  // namespace plov::cli
