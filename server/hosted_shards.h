// HostedShards: the shards that a server hosts, each with its memory, and their log.
//
// Threads: one, which is not a shard's.
#pragma once

#include <expected>
#include <memory>
#include <string>
#include <vector>

#include "fabric/admission.h"
#include "server/durable_log.h"
#include "server/server_options.h"
#include "server/shard.h"
#include "server/siblings.h"
#include "server/warm_start.h"

namespace plov::server {

// Of each shard that the server hosts or has a replica of, but for its number, slots, hash seed and file.
StoreOptions StoreOptionsOf(const ServerOptions& options);

class HostedShards {
 public:
  // With what memory and log hold. Errors as of Server::Create. admission: whom the shards show the counts of; they
  // outlive what serves them.
  static std::expected<std::unique_ptr<HostedShards>, Error> Open(
      const ServerOptions& options, const fabric::Admission* admission);

  // In the order of their numbers.
  const std::vector<std::unique_ptr<Shard>>& all() const { return shards_; }
  uint32_t number_of(size_t index) const { return set_.hosted[index].number; }

  // Null: there is none.
  DurableLog* log() { return log_.get(); }
  // Starts the log's threads, once the shards have their ports.
  void Start();
  // Ends the log, once no thread serves the shards and while they have their ports, which its threads wake.
  void EndLog() { log_.reset(); }

 private:
  explicit HostedShards(const ShardSet& set) : set_(set) {}
  std::expected<void, Error> OpenLog(const ServerOptions& options);
  std::expected<void, Error> OpenStores(const ServerOptions& options,
                                        const fabric::Admission* admission);
  std::expected<void, Error> OpenStore(const StoreOptions& options, WarmStart* warm);
  std::expected<void, Error> CheckAllWarm(const std::vector<std::string>& paths) const;
  std::expected<void, Error> RestoreFromLog(log::CommitMode mode);
  void JoinShards();

  ShardSet set_;
  std::vector<WarmStart> warm_;           // of each shard, with --warm and --log
  std::vector<std::string> without_log_;  // the memory files of a server without a log
  std::unique_ptr<DurableLog> log_;
  std::unique_ptr<Siblings> siblings_;  // null: of one shard, or of a cluster
  std::vector<std::unique_ptr<Shard>> shards_;
};

}  // namespace plov::server
