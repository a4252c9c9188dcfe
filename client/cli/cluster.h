// What the commands of `plov cluster` share.
#pragma once

#include <chrono>
#include <cstdint>
#include <expected>
#include <memory>
#include <string>
#include <vector>

#include "client/cli/commands.h"
#include "client/cli/options.h"
#include "cluster/coordinator.h"
#include "cluster/values.h"
#include "program/output.h"

namespace plov::cli {

// After a look at the coordinator that failed.
inline constexpr std::chrono::milliseconds kAgain{500};

// kInvalidArgument: no zk:// URI. Else as of cluster::Open.
std::expected<std::unique_ptr<cluster::Coordinator>, Error> OpenCluster(
    const std::string& uri, const std::string& auth_file, std::chrono::microseconds timeout,
    bool creates_root = false);
// That of the first word.
std::expected<std::unique_ptr<cluster::Coordinator>, Error> OpenCluster(const Options& options,
                                                                        bool creates_root = false);

// How a shard is: each but the first is worse than the one before. Only of servers that the coordinator has heard of
// lately: one that is stopped may be among them for a while.
enum class Health : uint8_t { kWhole, kDegraded, kNew, kAway };
Health HealthOf(const cluster::Values& values, uint32_t number);

// "repaired after 600 s".
std::string RepairText(const cluster::Config& config);

// What is wrong with the command line is kInvalidArgument; the coordinator's errors are of the system.
std::unexpected<Error> AboutCluster(Error error);

// kInvalidArgument.
std::expected<uint32_t, Error> ShardIn(const std::string& word);

// Until something may have changed, or a while has passed.
void AwaitHint(cluster::Coordinator* coordinator);

Outcome MoveShard(const Options& options, program::Output* output);
Outcome DrainServer(const Options& options, program::Output* output);
Outcome RepairCluster(const Options& options, program::Output* output);
Outcome BalanceCluster(const Options& options, program::Output* output);
Outcome RemoveServer(const Options& options, program::Output* output);

}  // namespace plov::cli
