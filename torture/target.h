// Target: the server of a run, the tool's own or one that was there, and the tool's client of it.
#pragma once

#include <plov/client.h>

#include <chrono>
#include <expected>
#include <memory>
#include <optional>
#include <string>

#include "torture/own_server.h"
#include "torture/scratch.h"
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
  bool is_own() const { return server_.has_value(); }
  Process& process() { return server_->process(); }  // of the tool's own
  std::string log() const { return server_ ? server_->Log() : std::string(); }

  // Kills and starts again the tool's own.
  void Kill();
  std::expected<void, Error> Restart(Life life);

  // Asks the server what it has counted. Whether it answered.
  bool Observe();
  // The same of a server that may not have heard the first question: asks some times, each with
  // its own time-out, before it takes the server for gone.
  bool ObserveAtLast();
  ServerCounts counts() const { return tally_.sum(); }

  // Fills the memory up to the last PUT; Drain gives it back.
  void Fill(uint32_t history);
  void Drain(uint32_t history);

  // Deletes the keys of one history. Whether all are gone.
  bool Delete(uint32_t history, uint64_t keys);

  // Ends the tool's own server. What went wrong with it, if anything.
  std::optional<std::string> Close();

 private:
  Target(uint32_t run, std::string uri) : run_(run), uri_(std::move(uri)) {}
  std::expected<void, Error> Connect(std::chrono::microseconds timeout);
  std::expected<void, Error> OpenOwn(const ToolOptions& options);
  // Has the run's keys deleted when the tool is killed.
  std::expected<void, Error> GuardKeys(const ToolOptions& options);

  uint32_t run_;
  std::string uri_;
  std::string folder_;  // empty: none
  std::optional<Janitor> janitor_;
  std::optional<OwnServer> server_;
  std::optional<Client> client_;
  ServerTally tally_;
  uint64_t ballast_ = 0;  // keys of it
};

// Deletes all keys of a run, whatever their histories; for when nobody knows any more which.
// timeout: of each call.
void DeleteRun(const std::string& uri, uint32_t run, std::chrono::microseconds timeout);

}  // namespace plov::torture
