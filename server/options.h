// The options of plovd: command line, file and environment, in this order of precedence.
#pragma once

#include <expected>
#include <map>
#include <string>

#include "server/server_options.h"
#include "service/options.h"

namespace plov::server {

struct Options : service::Options {
  ServerOptions server;
  std::string cluster;  // its coordinator's URI; empty: a single server
  std::string cluster_auth;
  std::string id;
  std::string zone;
  std::string cuts_file;
  uint32_t shards_max = 0;                   // 0: as many as are placed on it when it starts
  std::map<std::string, std::string> given;  // what was given, by option, as text

  // Whether the cluster's servers agree on replicas, which nobody can with a file.
  bool has_replicas() const { return cluster.starts_with("zk:"); }
};

// kInvalidArgument with one line that says what is wrong. The cluster is not looked at (server/cluster_join.h).
std::expected<Options, Error> ParseOptions(int argc, const char* const* argv);

// `now` with one option given anew, as by the command line.
std::expected<Options, Error> ParseOption(const Options& now, const std::string& option,
                                          const std::string& value);

std::string HelpText();

}  // namespace plov::server
