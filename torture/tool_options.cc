#include "torture/tool_options.h"

#include <fmt/core.h>

#include <boost/program_options.hpp>
#include <charconv>
#include <random>
#include <sstream>
#include <vector>

#include "program/given.h"
#include "program/own_server.h"
#include "torture/key_names.h"
#include "torture/own_cluster.h"
#include "torture/run_memory.h"
#include "torture/value.h"
#include "verify/quantity.h"

namespace plov::torture {

namespace po = boost::program_options;

namespace {

constexpr std::chrono::hours kDurationMax{24 * 365};
constexpr std::chrono::seconds kTimeoutMax{30};          // less than a client is waited for
constexpr uint64_t kValueBytesMax = uint64_t{16} << 20;  // what any server takes
constexpr uint64_t kMemoryBytesMin = uint64_t{16} << 20;
// A disk fills it in about a second.
constexpr uint64_t kMemoryBytesWithLog = uint64_t{64} << 20;
constexpr uint64_t kMemoryBytesMax = uint64_t{1} << 40;
constexpr uint64_t kShardsMax = 256;
constexpr uint32_t kClusterServersMax = 9;
constexpr uint32_t kClusterShards = 4;
constexpr uint64_t kClusterMemoryBytes = uint64_t{256} << 20;
// So that replicas have room for what a default run stores.
constexpr uint64_t kClusterValueBytes = uint64_t{64} << 10;
constexpr std::chrono::microseconds kMaxAge = std::chrono::seconds(1);  // as ClientOptions
// The checker holds what was done in so long.
constexpr std::chrono::seconds kMaxAgeMax{10};
constexpr std::chrono::seconds kSilenceMax{60};

po::options_description Described() {
  po::options_description options("Options", 100);
  const auto text = [](const char* name) { return po::value<std::string>()->value_name(name); };
  // clang-format off
  options.add_options()
      ("duration", text("DURATION"), "how long, as 500ms, 10s, 2h (1m)")
      ("clients", text("N"), "client processes, 1 to 64 (3)")
      ("keys", text("N"), "keys in use, up to 16777216 (50000)")
      ("hot-keys", text("N"), "how many of these get most operations (8)")
      ("value-bytes", text("MIN-MAX"), "sizes of values, 16 to 16M, as 16-1K (16-512K)")
      ("faults", text("LIST"), "all, none, or some of pause,stop,kill-client,kill-server,growth,full,deadline,clock,stop-server,move,zookeeper (all that are possible)")
      ("seed", text("N"), "seeds the choices of the clients (a random one, which is printed)")
      ("timeout", text("DURATION"), "what each call may take, up to 30s (500ms)")
      ("server", text("URI"), "a running server, shm:NAME, shm:/path or rdma://HOST:PORT, or cluster:URI,URI (one of its own)")
      ("listen", text("URI"), "where its own server listens (a socket in a new folder); of a cluster the first one, at rdma://HOST:PORT, the others on the ports after that")
      ("plovd", text("PATH"), "the program of its own server (found beside this one, else in PATH)")
      ("memory", text("SIZE"), "memory of its own server (128M, with --log 64M, of a cluster each 256M)")
      ("servers", text("1|2"), "servers of its own behind one name; 2 needs shared memory (2)")
      ("cluster", text("N"), "N servers, 3 to 9, of a cluster of its own with replicas, and a ZooKeeper for them")
      ("read-from", text("primary|any-replica"), "whose memory GETs READ, of a cluster; from any replica they may find what was the newest --max-age ago (primary)")
      ("max-age", text("DURATION"), "with --read-from any-replica: how old at most is what a GET finds, up to 10s (1s)")
      ("detect", text("DURATION"), "with --cluster: a primary that is silent for so long is replaced (600ms)")
      ("drop", text("DURATION"), "with --cluster: another replica that is silent for so long is left behind (300ms)")
      ("shards", text("N"), "shards of its own server (1, of a cluster 4)")
      ("bucket-bytes", text("auto|64|128"), "bucket size of its own server (in turn)")
      ("log", text("DIR"), "its own server keeps a log in this folder, new or empty, and goes on with it when it was killed; of a cluster each in a folder there")
      ("commit", text("strict|acked|async"), "of the log, as plovd (strict)")
      ("transactions", po::bool_switch(), "clients also read and write several keys at once, by Snapshot and Commit; not with a cluster")
      ("json", text("FILE"), "write the verdict there, and findings beside it")
      ("html", text("FILE"), "write the verdict there as a page, with the operations around a violation")
      ("version", po::bool_switch(), "print the version and exit")
      ("help,h", po::bool_switch(), "print this help and exit");
  // clang-format on
  return options;
}

std::expected<void, Error> FillDuration(const program::Given& given, ToolOptions* options) {
  return given.FillDuration("duration", kDurationMax, &options->duration);
}

std::expected<void, Error> FillTimeout(const program::Given& given, ToolOptions* options) {
  return given.FillDuration("timeout", kTimeoutMax, &options->timeout);
}

std::expected<void, Error> FillValueBytes(const program::Given& given, ToolOptions* options) {
  if (!given.Has("value-bytes")) return {};
  const std::string text = given.Text("value-bytes");
  const size_t dash = text.find('-');
  const auto least = ParseSize(text.substr(0, dash));
  const auto most = dash == std::string::npos ? least : ParseSize(text.substr(dash + 1));
  if (!least || !most || *least < kValueBytesMin || *most > kValueBytesMax || *least > *most) {
    return given.Invalid(
        fmt::format("--value-bytes '{}' is not MIN-MAX, from {} to 16M", text, kValueBytesMin));
  }
  options->value_bytes_min = *least;
  options->value_bytes_max = *most;
  return {};
}

FaultSet ImpossibleFaults(const ToolOptions& options) {
  if (options.cluster > 0) {
    return options.log.empty() ? FaultSet().set(IndexOf(Fault::kPower)) : FaultSet();
  }
  return options.has_own_server() ? ClusterFaults() : ClusterFaults() | OwnServerFaults();
}

// By default all faults that are possible; those that are named must be.
std::expected<void, Error> FillFaults(const program::Given& given, ToolOptions* options) {
  const std::string list = given.Has("faults") ? given.Text("faults") : "all";
  const auto faults = ParseFaults(list);
  if (!faults) return given.Invalid("--faults: " + faults.error().message);
  const FaultSet impossible = *faults & ImpossibleFaults(*options);
  options->faults = *faults & ~impossible;
  if (impossible.none() || list == "all") return {};
  if (options->cluster > 0) return given.Invalid("--faults power needs --log");
  const FaultSet of_cluster = impossible & ClusterFaults();
  if (of_cluster.any()) {
    return given.Invalid(fmt::format("--faults {} needs --cluster", FaultText(of_cluster)));
  }
  return given.Invalid(fmt::format("--faults {} needs a server of the tool's own, without --server",
                                   FaultText(impossible)));
}

std::expected<void, Error> FillSeed(const program::Given& given, ToolOptions* options) {
  options->seed = std::random_device()();
  if (!given.Has("seed")) return {};
  const std::string text = given.Text("seed");
  const char* end = text.data() + text.size();
  const auto [rest, failure] = std::from_chars(text.data(), end, options->seed);
  if (failure == std::errc() && rest == end) return {};
  return given.Invalid(fmt::format("--seed '{}' is not a number from 0 to {}", text, UINT64_MAX));
}

std::expected<void, Error> FillLog(const program::Given& given, ToolOptions* options) {
  if (given.Has("commit") && !given.Has("log")) return given.Invalid("--commit needs --log");
  if (!given.Has("log")) return {};
  options->log = given.Text("log");
  if (options->log.empty()) return given.Invalid("--log is empty: name a folder");
  if (given.Has("servers") && options->servers > 1) {
    return given.Invalid("--servers 2 is without --log: one server has the log");
  }
  options->servers = 1;
  options->memory_bytes = kMemoryBytesWithLog;
  if (!given.Has("commit")) return {};
  const auto commit = CommitNamed(given.Text("commit"));
  if (!commit) return given.Invalid("--commit is strict, acked or async");
  options->commit = *commit;
  return {};
}

std::expected<void, Error> FillCluster(const program::Given& given, ToolOptions* options) {
  for (const auto& [name, to] :
       {std::pair("detect", &options->detect), std::pair("drop", &options->drop)}) {
    if (given.Has(name) && !given.Has("cluster")) {
      return given.Invalid(fmt::format("--{} needs --cluster", name));
    }
    if (auto filled = given.FillDuration(name, kSilenceMax, to); !filled) return filled;
  }
  if (!given.Has("cluster")) return {};
  for (const char* other : {"servers", "bucket-bytes", "commit"}) {
    if (given.Has(other)) return given.Invalid(fmt::format("--{} is without --cluster", other));
  }
  options->servers = 1;
  options->shards = kClusterShards;
  options->memory_bytes = kClusterMemoryBytes;
  if (!given.Has("value-bytes")) options->value_bytes_max = kClusterValueBytes;
  if (auto filled = given.Fill("cluster", 3, kClusterServersMax, &options->cluster); !filled) {
    return filled;
  }
  if (options->listen.empty() || OwnCluster::UriOf(options->listen, options->cluster - 1))
    return {};
  return given.Invalid(
      "--listen with --cluster is rdma://HOST:PORT, of the first server: the others have the ports "
      "after it");
}

std::expected<void, Error> FillReadFrom(const program::Given& given, ToolOptions* options) {
  for (const char* name : {"read-from", "max-age"}) {
    if (given.Has(name) && options->cluster == 0) {
      return given.Invalid(fmt::format("--{} needs --cluster", name));
    }
  }
  const std::string from = given.Has("read-from") ? given.Text("read-from") : "primary";
  if (from == "any-replica") {
    options->max_age = kMaxAge;
    return given.FillDuration("max-age", kMaxAgeMax, &options->max_age);
  }
  if (from != "primary") return given.Invalid("--read-from is primary or any-replica");
  if (given.Has("max-age")) return given.Invalid("--max-age needs --read-from any-replica");
  return {};
}

std::expected<void, Error> FillServer(const program::Given& given, ToolOptions* options) {
  options->server = given.Text("server");
  if (given.Has("server") && options->server.empty()) return given.Invalid("--server is empty");
  if (options->server.size() >= kTextBytes) return given.Invalid("--server is too long");
  options->listen = given.Text("listen");
  if (given.Has("listen") && options->listen.empty()) return given.Invalid("--listen is empty");
  if (options->listen.size() >= kTextBytes) return given.Invalid("--listen is too long");
  for (const char* own : {"plovd", "listen", "memory", "servers", "cluster", "detect", "drop",
                          "read-from", "max-age", "shards", "bucket-bytes", "log", "commit"}) {
    if (given.Has("server") && given.Has(own)) {
      return given.Invalid(
          fmt::format("--{} is for a server of the tool's own, without --server", own));
    }
  }
  options->plovd = given.Text("plovd");
  if (!options->has_own_server() || !options->listen.empty()) options->servers = 1;
  if (auto filled = given.Fill("servers", 1, 2, &options->servers); !filled) return filled;
  if (options->servers > 1 && !options->listen.empty()) {
    return given.Invalid("--servers 2 chooses where its servers listen, without --listen");
  }
  if (auto filled = FillLog(given, options); !filled) return filled;
  if (auto filled = FillCluster(given, options); !filled) return filled;
  if (auto filled = FillReadFrom(given, options); !filled) return filled;
  if (auto filled = given.Fill("shards", 1, kShardsMax, &options->shards); !filled) return filled;
  const uint64_t least = kMemoryBytesMin * options->shards;
  options->memory_bytes = std::max(options->memory_bytes, least);
  if (auto filled = given.Fill("memory", least, kMemoryBytesMax, &options->memory_bytes); !filled) {
    return filled;
  }
  if (!given.Has("bucket-bytes")) return {};
  const auto bucket_bytes = ParseBucketBytes(given.Text("bucket-bytes"));
  if (!bucket_bytes) return given.Invalid("--bucket-bytes is auto, 64 or 128");
  options->bucket_bytes = *bucket_bytes;
  return {};
}

std::expected<void, Error> FillKeys(const program::Given& given, ToolOptions* options) {
  if (auto filled = given.Fill("clients", 1, kClientsMax, &options->clients); !filled) {
    return filled;
  }
  if (auto filled = given.Fill("keys", 1, kKeysMax, &options->keys); !filled) return filled;
  options->hot_keys = static_cast<uint32_t>(std::min<uint64_t>(options->hot_keys, options->keys));
  return given.Fill("hot-keys", 1, options->keys, &options->hot_keys);
}

// What a kill may lose of answered commits is not checked.
std::expected<void, Error> FillTransactions(const program::Given& given, ToolOptions* options) {
  options->transactions = given.On("transactions");
  if (!options->transactions) return {};
  if (options->cluster > 0 || options->server.starts_with("cluster:")) {
    return given.Invalid("--transactions is not for a cluster, which takes no commits");
  }
  if (options->commit == Commit::kAsync) {
    return given.Invalid("--transactions is with --commit strict or acked");
  }
  return {};
}

std::expected<ToolOptions, Error> Digest(const program::Given& given) {
  ToolOptions options;
  if (given.On("help")) options.action = ToolOptions::Action::kHelp;
  if (given.On("version")) options.action = ToolOptions::Action::kVersion;
  if (options.action != ToolOptions::Action::kRun) return options;
  for (const auto fill : {FillDuration, FillTimeout, FillKeys, FillValueBytes, FillServer,
                          FillFaults, FillTransactions, FillSeed}) {
    if (auto filled = fill(given, &options); !filled) return std::unexpected(filled.error());
  }
  options.json = given.Text("json");
  options.html = given.Text("html");
  for (const char* file : {"json", "html"}) {
    if (given.Has(file) && given.Text(file).empty()) {
      return given.Invalid(fmt::format("--{} is empty: name a file", file));
    }
  }
  return options;
}

}  // namespace

std::string ToolHelpText() {
  std::ostringstream text;
  text << "plov-torture - checks every operation of a plov server under load and faults\n\n"
          "Usage: plov-torture [OPTION]...\n"
          "       plov-torture check [OPTION]... FILE\n\n"
       << Described()
       << "\nStarts a plovd of its own unless --server names one. Shows progress each second, then "
          "a\nverdict; a violation is printed as the smallest history that shows it, and saved.\n"
          "plov-torture check checks a recorded history of any store; see its --help.\n"
          "Exit status: 0 pass, 1 violation, 2 usage, 3 cannot run, 4 too little was done.\n";
  return text.str();
}

std::expected<ToolOptions, Error> ParseToolOptions(int argc, const char* const* argv) {
  const std::vector<std::string> words(argv + 1, argv + argc);
  const auto given = program::Given::Parse(Described(), words, "plov-torture");
  if (!given) return std::unexpected(given.error());
  return Digest(*given);
}

}  // namespace plov::torture
