// Settings: the options that can change while plovd runs, by `plov config set` and by SIGHUP.
//
// Threads: the main thread.
#pragma once

#include <expected>
#include <string>
#include <vector>

#include "server/options.h"
#include "server/server.h"

namespace plov::server {

class Settings {
 public:
  // options: as `argc` and `argv` gave them, which are read again by Reload. All outlive it.
  Settings(const Options& options, int argc, const char* const* argv, Server* server)
      : now_(options), read_(options), argc_(argc), argv_(argv), server_(server) {}

  // "name value" lines: of one setting, or where the name is empty of all, and of who this is in its cluster.
  // kInvalidArgument: no such one.
  std::expected<std::string, Error> Get(const std::string& name) const;
  // kInvalidArgument, with what is wrong; nothing is changed then.
  std::expected<void, Error> Set(const std::string& name, const std::string& value);

  // Reads command line, file and environment again and changes what differs from when they were read last. What
  // `plov config` has set stays, unless it does. What is wrong there changes nothing. Logs what it did.
  void Reload();

 private:
  Options now_;
  Options read_;  // by the last Reload, or the start
  int argc_;
  const char* const* argv_;
  Server* server_;
};

}  // namespace plov::server
