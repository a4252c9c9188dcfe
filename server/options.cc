#include "server/options.h"

#include <fmt/core.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <boost/program_options.hpp>
#include <cctype>
#include <chrono>
#include <optional>
#include <sstream>

#include "cluster/coordinator.h"
#include "server/access_list.h"
#include "verify/quantity.h"
#include "verify/record.h"
#include "verify/superblock.h"

namespace plov::server {

namespace po = boost::program_options;
using service::Given;

namespace {

constexpr uint64_t kSpinUsMax = 1'000'000;
constexpr uint64_t kClientsMax = 1'000'000;
struct CommitModeName {
  std::string_view name;
  log::CommitMode mode;
};
constexpr CommitModeName kCommitModes[] = {{"strict", log::CommitMode::kStrict},
                                           {"acked", log::CommitMode::kAcked},
                                           {"async", log::CommitMode::kAsync}};
constexpr uint64_t kLogSizeMin = uint64_t{1} << 20;
constexpr uint64_t kLogSizeMax = uint64_t{1} << 30;
constexpr uint64_t kSnapshotRateMax = uint64_t{64} << 30;
constexpr uint64_t kSnapshotsMax = 100;
constexpr std::chrono::microseconds kLogIntervalMin = std::chrono::milliseconds(1);
constexpr std::chrono::microseconds kLogIntervalMax = std::chrono::hours(1);

constexpr std::chrono::microseconds kSlowWriteMin{1};
constexpr std::chrono::microseconds kSlowWriteMax = std::chrono::hours(1);

po::options_description Described() {
  po::options_description options("Options", 100, 70);  // --log-level is longer than its column
  const auto text = [](const char* name) { return po::value<std::string>()->value_name(name); };
  // clang-format off
  options.add_options()
      ("listen", po::value<std::vector<std::string>>()->value_name("URI"),
       "where to serve, shm:NAME, shm:/path or rdma://HOST:PORT; may be repeated (shm:default)")
      ("shards", text("N"), "parts of keys and memory, each served by one thread at a time (1)")
      ("cluster", text("zk://HOST,.../ROOT|static:FILE"), "be a server of a cluster: one with replicas, whose servers agree by ZooKeeper (plov cluster create), or one that this file describes")
      ("cluster-auth", text("FILE"), "with zk://, a line user:password, who may change the cluster")
      ("id", text("ID"), "which of the cluster's servers this one is")
      ("zone", text("NAME"), "with zk://, where this server is: its rack, say")
      ("test-cuts", text("FILE"), "with zk://, be cut off from other servers as this file says; plov-torture writes it")
      ("max-shards", text("N"), "with zk://, most shards that it may have a replica of, among which --memory is divided (those placed on it when it starts)")
      ("threads", text("N"), "most threads that serve the shards, 0 for fewer than processors (0)")
      ("memory", text("SIZE"), "memory for tables and items, all shards together (1G)")
      ("bucket-bytes", text("auto|64|128"), "size of a bucket: with 128 items of up to 96 bytes are inline; auto: as suits the items (auto)")
      ("max-value", text("SIZE"), "largest value accepted, up to 16M (16M)")
      ("spin-us", text("N"), "microseconds a thread spins before it sleeps (50)")
      ("max-clients", text("N"), "clients at a time, each with a connection to every shard (10000)")
      ("max-clients-per-user", text("N"), "clients of one user at a time, 0 for no limit (0)")
      ("writers", text("LIST"), "users and @groups that may write, others only read (all)")
      ("readers", text("LIST"), "users and @groups that may only read (none)")
      ("hugepages", text("auto|yes|no")->implicit_value("yes"), "huge pages: transparent ones where the kernel gives them; reserved ones (vm.nr_hugepages); none (auto)")
      ("evict", text("yes|no")->implicit_value("yes"), "be a cache: when memory is full, items that were not used lately make room (no)")
      ("warm", text("FILE"), "keep the memory in this file (tmpfs or hugetlbfs) and start with what it holds")
      ("log", text("DIR"), "keep a log of all writes in this folder and start with what it holds")
      ("commit", text("strict|acked|async"), "strict: a write is seen and acknowledged when it is durable; acked: seen at once; async: acknowledged at once (strict)")
      ("log-interval", text("DURATION"), "with --commit async, time between two syncs (1s)")
      ("log-segment", text("SIZE"), "size of the log's files, 1M to 1G (64M)")
      ("log-buffer", text("SIZE"), "what may wait for the disk in each shard's memory, 1M to 1G (64M)")
      ("snapshot-rate", text("SIZE"), "what snapshots may write in a second, 1M to 64G (200M)")
      ("snapshot-keep", text("N"), "snapshots that are kept, with the log since the oldest, 1 to 100 (1)")
      ("slow-write", text("DURATION|off"), "writes that take so long are kept for plov slowlog, off for none (10ms)");
  // clang-format on
  service::Options::Describe(&options);
  return options;
}

std::unexpected<Error> Invalid(std::string message) {
  return Fail(Code::kInvalidArgument, std::move(message) + " (plovd --help lists the options)");
}

std::expected<uint64_t, Error> SizeOf(const Given& given, const char* option, uint64_t least,
                                      uint64_t most, uint64_t otherwise) {
  if (!given.Has(option)) return otherwise;
  const auto& text = given.As<std::string>(option);
  const auto size = ParseSize(text);
  if (!size) return Invalid(fmt::format("{}: {}", given.NameOf(option), size.error().message));
  if (*size < least || *size > most) {
    return Invalid(
        fmt::format("{} {} is outside {} to {}", given.NameOf(option), text, least, most));
  }
  return *size;
}

uint64_t PhysicalMemoryBytes() {
  return static_cast<uint64_t>(::sysconf(_SC_PHYS_PAGES)) *
         static_cast<uint64_t>(::sysconf(_SC_PAGESIZE));
}

std::expected<void, Error> FillSizes(const Given& given, ServerOptions* server) {
  const auto shards = SizeOf(given, "shards", 1, kServerShardsMax, server->shards.count);
  if (!shards) return std::unexpected(shards.error());
  const auto memory = SizeOf(given, "memory", kShardMemoryMin * *shards, PhysicalMemoryBytes(),
                             std::max(server->memory_bytes, kShardMemoryMin * *shards));
  if (!memory) return std::unexpected(memory.error());
  if (given.Has("bucket-bytes")) {
    const auto bucket = ParseBucketBytes(given.As<std::string>("bucket-bytes"));
    if (!bucket) return Invalid(given.NameOf("bucket-bytes") + " is auto, 64 or 128");
    server->bucket_bytes = *bucket;
  }
  const auto value = SizeOf(given, "max-value", 1, verify::kValueBytesMax, server->value_bytes_max);
  if (!value) return std::unexpected(value.error());
  const auto spin = SizeOf(given, "spin-us", 0, kSpinUsMax, server->spin_us);
  if (!spin) return std::unexpected(spin.error());
  const auto threads = SizeOf(given, "threads", 0, kServerShardsMax, server->threads);
  if (!threads) return std::unexpected(threads.error());
  server->threads = static_cast<uint32_t>(*threads);
  server->shards = ShardSet::Of(static_cast<uint32_t>(*shards));
  server->memory_bytes = *memory;
  server->value_bytes_max = static_cast<uint32_t>(*value);
  server->spin_us = static_cast<uint32_t>(*spin);
  return {};
}

std::expected<void, Error> FillReplicas(const Given& given, Options* options) {
  if (!given.Has("listen")) {
    return Invalid(given.NameOf("cluster") + " needs --listen: where the others find this server");
  }
  if (given.Has("warm")) {
    return Invalid(given.NameOf("warm") +
                   " and replicas do not go together yet: what a server loses, it gets from the "
                   "others; --log keeps it");
  }
  if (given.Has("cluster-auth")) options->cluster_auth = given.As<std::string>("cluster-auth");
  if (given.Has("zone")) options->zone = given.As<std::string>("zone");
  if (given.Has("test-cuts")) options->cuts_file = given.As<std::string>("test-cuts");
  const auto shards = SizeOf(given, "max-shards", 1, cluster::kSlots, options->shards_max);
  if (!shards) return std::unexpected(shards.error());
  options->shards_max = static_cast<uint32_t>(*shards);
  if (!options->zone.empty() && !cluster::IsName(options->zone)) {
    return Invalid(given.NameOf("zone") + " is not a name of 1 to 64 letters, digits, . _ -");
  }
  return {};
}

std::expected<void, Error> FillCluster(const Given& given, Options* options) {
  for (const char* option : {"id", "cluster-auth", "zone", "max-shards", "test-cuts"}) {
    if (given.Has(option) && !given.Has("cluster")) {
      return Invalid(given.NameOf(option) + " is for a server with --cluster");
    }
  }
  if (!given.Has("cluster")) return {};
  if (!given.Has("id")) {
    return Invalid(given.NameOf("cluster") + " needs --id: which of its servers this one is");
  }
  if (given.Has("shards")) {
    return Invalid(given.NameOf("shards") + ": the cluster says which shards a server has");
  }
  options->cluster = given.As<std::string>("cluster");
  options->id = given.As<std::string>("id");
  if (!cluster::IsName(options->id)) {
    return Invalid(given.NameOf("id") + " is not a name of 1 to 64 letters, digits, . _ -");
  }
  if (options->has_replicas()) return FillReplicas(given, options);
  for (const char* option : {"cluster-auth", "zone", "max-shards", "test-cuts"}) {
    if (given.Has(option)) return Invalid(given.NameOf(option) + " is for --cluster zk://...");
  }
  constexpr std::string_view kStatic = "static:";
  if (!options->cluster.starts_with(kStatic) || options->cluster.size() == kStatic.size()) {
    return Invalid(fmt::format("{} {} is neither zk://HOST,.../ROOT nor static:FILE",
                               given.NameOf("cluster"), options->cluster));
  }
  return {};
}

std::expected<void, Error> FillClients(const Given& given, ServerOptions* server) {
  const auto clients = SizeOf(given, "max-clients", 1, kClientsMax, server->clients_max);
  if (!clients) return std::unexpected(clients.error());
  const auto of_user =
      SizeOf(given, "max-clients-per-user", 0, kClientsMax, server->clients_per_user_max);
  if (!of_user) return std::unexpected(of_user.error());
  server->clients_max = *clients;
  server->clients_per_user_max = *of_user;
  return {};
}

std::expected<void, Error> FillList(const Given& given, const char* option,
                                    std::optional<fabric::AccessList>* list) {
  if (!given.Has(option)) return {};
  auto parsed = ParseAccessList(given.As<std::string>(option));
  if (!parsed) return Invalid(given.NameOf(option) + ": " + parsed.error().message);
  *list = std::move(*parsed);
  return {};
}

std::expected<void, Error> FillCommit(const Given& given, LogOptions* log) {
  if (given.Has("commit")) {
    const auto& name = given.As<std::string>("commit");
    const auto* mode = std::ranges::find(kCommitModes, name, &CommitModeName::name);
    if (mode == std::end(kCommitModes)) {
      return Invalid(
          fmt::format("{} {} is not one of strict, acked, async", given.NameOf("commit"), name));
    }
    log->mode = mode->mode;
  }
  if (!given.Has("log-interval")) return {};
  const auto& text = given.As<std::string>("log-interval");
  const auto interval = ParseDuration(text);
  if (!interval || *interval < kLogIntervalMin || *interval > kLogIntervalMax) {
    return Invalid(
        fmt::format("{} {} is not a duration of 1ms to 1h", given.NameOf("log-interval"), text));
  }
  log->interval = *interval;
  return {};
}

std::expected<void, Error> FillLog(const Given& given, ServerOptions* server) {
  LogOptions* log = &server->log;
  if (given.Has("log")) log->folder = given.As<std::string>("log");
  if (given.Has("log") && log->folder.empty()) {
    return Invalid(given.NameOf("log") + " is empty: name a folder");
  }
  for (const char* option :
       {"commit", "log-interval", "log-segment", "log-buffer", "snapshot-rate", "snapshot-keep"}) {
    if (given.Has(option) && log->folder.empty()) {
      return Invalid(given.NameOf(option) + " is for a server with --log");
    }
  }
  if (auto filled = FillCommit(given, log); !filled) return filled;
  const auto segment = SizeOf(given, "log-segment", kLogSizeMin, kLogSizeMax, log->segment_bytes);
  if (!segment) return std::unexpected(segment.error());
  const auto buffer = SizeOf(given, "log-buffer", kLogSizeMin, kLogSizeMax, log->buffer_bytes);
  if (!buffer) return std::unexpected(buffer.error());
  const auto rate =
      SizeOf(given, "snapshot-rate", kLogSizeMin, kSnapshotRateMax, log->snapshots.rate_bytes);
  if (!rate) return std::unexpected(rate.error());
  const auto keep = SizeOf(given, "snapshot-keep", 1, kSnapshotsMax, log->snapshots.keep);
  if (!keep) return std::unexpected(keep.error());
  log->snapshots = {.rate_bytes = *rate, .keep = *keep};
  log->segment_bytes = *segment / verify::kLogBlockBytes * verify::kLogBlockBytes;
  log->buffer_bytes = *buffer;
  return {};
}

std::expected<void, Error> FillSlowWrite(const Given& given, ServerOptions* server) {
  if (!given.Has("slow-write")) return {};
  const auto& text = given.As<std::string>("slow-write");
  if (text == "off") {
    server->slow_write = kSlowWriteOff;
    return {};
  }
  const auto duration = ParseDuration(text);
  if (!duration || *duration < kSlowWriteMin || *duration > kSlowWriteMax) {
    return Invalid(fmt::format("{} {} is neither off nor a duration of 1us to 1h",
                               given.NameOf("slow-write"), text));
  }
  server->slow_write = *duration;
  return {};
}

std::expected<void, Error> FillHugePages(const Given& given, ServerOptions* server) {
  if (!given.Has("hugepages")) return {};
  const auto& text = given.As<std::string>("hugepages");
  if (text != "auto" && text != "yes" && text != "no") {
    return Invalid(given.NameOf("hugepages") + " is auto, yes or no");
  }
  server->huge_pages = text == "auto"  ? HugePages::kAuto
                       : text == "yes" ? HugePages::kYes
                                       : HugePages::kNo;
  return {};
}

// A cache has no log, and no replicas: what it evicts would have to be told them first.
std::expected<void, Error> FillEvict(const Given& given, Options* options) {
  if (!given.Has("evict")) return {};
  const auto& text = given.As<std::string>("evict");
  if (text != "yes" && text != "no") return Invalid(given.NameOf("evict") + " is yes or no");
  options->server.evicts = text == "yes";
  if (!options->server.evicts) return {};
  for (const char* option : {"log", "cluster"}) {
    if (!given.Has(option)) continue;
    return Invalid(given.NameOf("evict") + " and " + given.NameOf(option) +
                   " do not go together: a cache keeps nothing for good");
  }
  return {};
}

std::expected<Options, Error> Digest(const Given& given) {
  Options options;
  if (auto filled = options.Fill(given); !filled) return Invalid(filled.error().message);
  if (options.action != Options::Action::kServe) return options;
  if (auto filled = FillSizes(given, &options.server); !filled) {
    return std::unexpected(filled.error());
  }
  if (auto filled = FillCluster(given, &options); !filled) return std::unexpected(filled.error());
  if (auto filled = FillClients(given, &options.server); !filled) {
    return std::unexpected(filled.error());
  }
  fabric::Access& access = options.server.access;
  for (auto filled :
       {FillList(given, "writers", &access.writers), FillList(given, "readers", &access.readers)}) {
    if (!filled) return std::unexpected(filled.error());
  }
  if (given.Has("listen")) {
    options.server.uris = given.As<std::vector<std::string>>("listen");
  }
  if (given.Has("warm")) options.server.warm_path = given.As<std::string>("warm");
  if (given.Has("warm") && options.server.warm_path.empty()) {
    return Invalid(given.NameOf("warm") + " is empty: name a file");
  }
  if (auto filled = FillLog(given, &options.server); !filled) {
    return std::unexpected(filled.error());
  }
  if (options.has_replicas() && options.server.log.mode != log::CommitMode::kStrict) {
    return Invalid(given.NameOf("commit") +
                   ": with replicas it is strict, as what a replica says "
                   "that it holds it has after a restart");
  }
  if (auto filled = FillSlowWrite(given, &options.server); !filled) {
    return std::unexpected(filled.error());
  }
  if (auto filled = FillHugePages(given, &options.server); !filled) {
    return std::unexpected(filled.error());
  }
  if (auto filled = FillEvict(given, &options); !filled) return std::unexpected(filled.error());
  return options;
}

}  // namespace

std::string HelpText() {
  std::ostringstream text;
  text << "plovd - the plov key-value server: PUTs by message, GETs by one-sided READs\n\n"
          "Usage: plovd [OPTION]...\n\n"
       << Described() << "\n"
       << service::OtherSources("PLOVD_")
       << "Prints \"plovd: ready on URI\" when it serves; SIGTERM and SIGINT stop it cleanly, "
          "SIGHUP\n"
          "has it read the file again. plov config changes it, plov drain ends it, as it runs.\n"
          "Exit status: 0 stopped cleanly, 2 usage, 3 cannot serve.\n";
  return text.str();
}

std::expected<Options, Error> ParseOptions(int argc, const char* const* argv) {
  const po::options_description described = Described();
  const auto given = Given::Read(described, {"PLOVD_", {"listen"}}, argc, argv);
  if (!given) return Invalid(given.error().message);
  auto options = Digest(*given);
  if (!options) return options;
  options->given = given->texts();
  for (auto [option, text] : options->given) {
    // A line of its own for each, whatever a path has in it.
    std::ranges::replace_if(
        text, [](unsigned char c) { return std::iscntrl(c) != 0; }, '?');
    options->server.given += fmt::format("option.{} {}\n", option, text);
  }
  return options;
}

std::expected<Options, Error> ParseOption(const Options& now, const std::string& option,
                                          const std::string& value) {
  const po::options_description described = Described();
  const std::string given_option = fmt::format("--{}={}", option, value);
  const std::string log = "--log=" + now.server.log.folder;
  std::vector<const char*> argv = {"plovd", given_option.c_str()};
  if (!now.server.log.folder.empty()) argv.push_back(log.c_str());
  const auto given =
      Given::ReadCommandLineAlone(described, static_cast<int>(argv.size()), argv.data());
  return given ? Digest(*given) : Invalid(given.error().message);
}

}  // namespace plov::server
