// Target: the server of a run, the tool's own or one that was there, and the tool's client of it.
#pragma once

#include <plov/client.h>

#include <chrono>
#include <expected>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "program/own_server.h"
#include "program/scratch.h"
#include "torture/log_folder.h"
#include "torture/own_cluster.h"
#include "torture/server_tally.h"
#include "torture/tool_options.h"

namespace plov::torture {

class Target {
 public:
  // Starts or finds the server, and arranges for the removal of all that the run leaves, also when
  // the tool is killed. Before this process has threads. Errors: no server, no plovd.
  static std::expected<std::unique_ptr<Target>, Error> Open(const ToolOptions& options,
                                                            uint32_t run);
  Target(const Target&) = delete;
  Target& operator=(const Target&) = delete;
  ~Target();

  const std::string& uri() const { return uri_; }
  bool is_own() const { return !servers_.empty() || cluster_ != nullptr; }
  // The tool's own cluster; null: it has none. Then all that follows of the tool's own server is not for it.
  OwnCluster* cluster() { return cluster_.get(); }
  program::Process& process() { return server().process(); }  // of the tool's own
  // What became of the tool's own servers, if one has ended by itself.
  std::optional<std::string> Ended();

  // Kills and starts again the tool's own. With a log kWarm goes on with it.
  void Kill();
  std::expected<void, Error> Restart(program::Life life);
  uint64_t log_folder_bytes() const { return log_folder_ ? log_folder_->bytes() : 0; }
  // For somebody to look at what a violation was about: the log is not removed.
  void KeepLog() { keeps_log_ = true; }

  // For a survey; its GETs READ primaries.
  Client* client() { return &*client_; }

  // With two servers: starts the one that does not serve, now and then without what it held before,
  // and gives it the standing items. Then FailOver gives it the name and kills the other one.
  std::expected<void, Error> StartStandby();
  void FailOver();

  // Asks the server what it has counted. Whether it answered.
  bool Observe();
  // The same of a server that may not have heard the first question: asks some times, each with
  // its own time-out, before it takes the server for gone.
  bool ObserveAtLast();
  ServerCounts counts() const { return tally_.sum(); }

  // Fills the memory up to the last PUT; Empty gives it back.
  void Fill(uint32_t history);
  void Empty(uint32_t history);

  // Deletes so many keys of one history, from a number on. Whether all are gone.
  bool Delete(uint32_t history, uint64_t first, uint64_t keys);

  // Ends the tool's own server. What went wrong with it, if anything.
  std::optional<std::string> Close();

 private:
  Target(uint32_t run, std::string uri) : run_(run), uri_(std::move(uri)) {}
  std::expected<void, Error> Connect(std::chrono::microseconds timeout);
  std::expected<void, Error> OpenOwn(const ToolOptions& options);
  std::expected<void, Error> OpenOne(const program::OwnServerOptions& options);
  std::expected<void, Error> OpenTwo(const program::OwnServerOptions& options);
  std::expected<void, Error> OpenCluster(const program::OwnServerOptions& each,
                                         const ToolOptions& options);
  program::OwnServer& server() { return servers_[active_]; }
  // Makes the name lead to a server.
  std::expected<void, Error> Point(size_t server);
  std::expected<void, Error> LoadStanding(const program::OwnServer& server);
  // Has the run's keys deleted when the tool is killed.
  std::expected<void, Error> GuardKeys(const ToolOptions& options);

  uint32_t run_;
  std::string uri_;
  std::string folder_;  // empty: none
  std::optional<LogFolder> log_folder_;
  bool keeps_log_ = false;
  uint64_t lives_with_log_ = 0;  // that went on
  std::optional<program::Janitor> janitor_;
  std::vector<program::OwnServer> servers_;  // none, one, or two that take turns
  size_t active_ = 0;
  std::unique_ptr<OwnCluster> cluster_;
  uint64_t standbys_ = 0;  // that were started
  std::optional<Client> client_;
  ServerTally tally_;
  uint64_t ballast_ = 0;  // keys of it
};

// Deletes all keys of a run, whatever their histories; for when it is not known which there are.
// timeout: of each call.
void DeleteRun(const std::string& uri, uint32_t run, std::chrono::microseconds timeout);

}  // namespace plov::torture
