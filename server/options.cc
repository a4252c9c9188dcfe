#include "server/options.h"

#include <fmt/core.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include <algorithm>
#include <boost/program_options.hpp>
#include <cctype>
#include <fstream>
#include <set>
#include <span>
#include <sstream>

#include "verify/quantity.h"
#include "verify/record.h"
#include "verify/superblock.h"

namespace plov::server {

namespace po = boost::program_options;

namespace {

constexpr size_t kMemoryBytesMin = size_t{16} << 20;  // per shard: below, nothing useful fits
constexpr uint64_t kSpinUsMax = 1'000'000;
constexpr uint64_t kClientsMax = 1'000'000;

po::options_description Described() {
  po::options_description options("Options", 100);
  // clang-format off
  options.add_options()
      ("listen", po::value<std::vector<std::string>>(),
       "where to serve, shm:NAME, shm:/path or rdma://HOST:PORT; may be repeated (shm:default)")
      ("shards", po::value<std::string>(), "threads, each with a part of the keys (1)")
      ("memory", po::value<std::string>(), "memory for tables and items, all shards together (1G)")
      ("bucket-bytes", po::value<std::string>(), "64, or 128 to keep items of up to 101 bytes inline (64)")
      ("max-value", po::value<std::string>(), "largest value accepted, up to 16M (16M)")
      ("spin-us", po::value<std::string>(), "microseconds a shard spins before it sleeps (50)")
      ("max-clients", po::value<std::string>(), "clients at a time, each with a connection to every shard (10000)")
      ("max-clients-per-user", po::value<std::string>(), "clients of one user at a time, 0 for no limit (0)")
      ("hugepages", po::bool_switch(), "use huge pages of 2 MiB (vm.nr_hugepages)")
      ("warm", po::value<std::string>(), "keep the memory in this file (tmpfs or hugetlbfs) and start with what it holds")
      ("config", po::value<std::string>(), "read options from a file, lines of key = value")
      ("log-level", po::value<std::string>(), "trace, debug, info, warn, error or off (info)")
      ("version", "print the version and exit")
      ("help", "print this help and exit");
  // clang-format on
  return options;
}

// PLOVD_MAX_VALUE is --max-value. Other variables with the prefix are not ours to judge.
std::string OptionOfVariable(const std::string& variable) {
  constexpr std::string_view kPrefix = "PLOVD_";
  if (!variable.starts_with(kPrefix)) return {};
  std::string name = variable.substr(kPrefix.size());
  std::ranges::transform(name, name.begin(), [](char c) {
    return c == '_' ? '-' : static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  });
  static const std::set<std::string> kNames = {
      "listen",    "shards",  "memory",      "bucket-bytes",
      "max-value", "spin-us", "max-clients", "max-clients-per-user",
      "hugepages", "warm",    "config",      "log-level"};
  return kNames.contains(name) ? name : std::string();
}

// Empty when there is none.
std::string ConfigPath(const po::variables_map& command_line, const po::parsed_options& variables) {
  if (command_line.count("config") > 0) return command_line["config"].as<std::string>();
  for (const po::option& option : variables.options) {
    if (option.string_key == "config" && !option.value.empty()) return option.value.front();
  }
  return {};
}

std::unexpected<Error> Invalid(std::string message) {
  return Fail(Code::kInvalidArgument, std::move(message) + " (plovd --help lists the options)");
}

std::expected<uint64_t, Error> SizeOf(const po::variables_map& given, const char* name,
                                      uint64_t least, uint64_t most, uint64_t otherwise) {
  if (given.count(name) == 0) return otherwise;
  const auto text = given[name].as<std::string>();
  const auto size = ParseSize(text);
  if (!size) return Invalid(fmt::format("--{}: {}", name, size.error().message));
  if (*size < least || *size > most) {
    return Invalid(fmt::format("--{} {} is outside {} to {}", name, text, least, most));
  }
  return *size;
}

uint64_t PhysicalMemoryBytes() {
  return static_cast<uint64_t>(::sysconf(_SC_PHYS_PAGES)) *
         static_cast<uint64_t>(::sysconf(_SC_PAGESIZE));
}

std::expected<void, Error> FillSizes(const po::variables_map& given, ServerOptions* server) {
  const auto shards = SizeOf(given, "shards", 1, verify::kShardsMax, server->shards);
  if (!shards) return std::unexpected(shards.error());
  const auto memory = SizeOf(given, "memory", kMemoryBytesMin * *shards, PhysicalMemoryBytes(),
                             std::max(server->memory_bytes, kMemoryBytesMin * *shards));
  if (!memory) return std::unexpected(memory.error());
  const auto bucket = SizeOf(given, "bucket-bytes", verify::kBucketBytesMin,
                             verify::kBucketBytesMax, server->bucket_bytes);
  if (!bucket) return std::unexpected(bucket.error());
  if (*bucket != verify::kBucketBytesMin && *bucket != verify::kBucketBytesMax) {
    return Invalid("--bucket-bytes is 64 or 128");
  }
  const auto value = SizeOf(given, "max-value", 1, verify::kValueBytesMax, server->value_bytes_max);
  if (!value) return std::unexpected(value.error());
  const auto spin = SizeOf(given, "spin-us", 0, kSpinUsMax, server->spin_us);
  if (!spin) return std::unexpected(spin.error());
  server->shards = static_cast<uint32_t>(*shards);
  server->memory_bytes = *memory;
  server->bucket_bytes = static_cast<uint32_t>(*bucket);
  server->value_bytes_max = static_cast<uint32_t>(*value);
  server->spin_us = static_cast<uint32_t>(*spin);
  return {};
}

std::expected<void, Error> FillClients(const po::variables_map& given, ServerOptions* server) {
  const auto clients = SizeOf(given, "max-clients", 1, kClientsMax, server->clients_max);
  if (!clients) return std::unexpected(clients.error());
  const auto of_user =
      SizeOf(given, "max-clients-per-user", 0, kClientsMax, server->clients_per_user_max);
  if (!of_user) return std::unexpected(of_user.error());
  server->clients_max = *clients;
  server->clients_per_user_max = *of_user;
  return {};
}

std::expected<Options, Error> Digest(const po::variables_map& given) {
  Options options;
  if (given.count("help") > 0) options.action = Options::Action::kHelp;
  if (given.count("version") > 0) options.action = Options::Action::kVersion;
  if (options.action != Options::Action::kServe) return options;
  if (auto filled = FillSizes(given, &options.server); !filled) {
    return std::unexpected(filled.error());
  }
  if (auto filled = FillClients(given, &options.server); !filled) {
    return std::unexpected(filled.error());
  }
  if (given.count("listen") > 0) {
    options.server.uris = given["listen"].as<std::vector<std::string>>();
  }
  if (given.count("warm") > 0) options.server.warm_path = given["warm"].as<std::string>();
  if (given.count("warm") > 0 && options.server.warm_path.empty()) {
    return Invalid("--warm is empty: name a file");
  }
  if (given["hugepages"].as<bool>()) options.server.pages = PageKind::kHuge;
  if (given.count("log-level") > 0) options.log_level = given["log-level"].as<std::string>();
  if (spdlog::level::from_str(options.log_level) == spdlog::level::off &&
      options.log_level != "off") {
    return Invalid(fmt::format("--log-level '{}' is none of trace, debug, info, warn, error, off",
                               options.log_level));
  }
  return options;
}

}  // namespace

std::string HelpText() {
  std::ostringstream text;
  text << "plovd - the plov key-value server: PUTs by message, GETs by one-sided READs\n\n"
          "Usage: plovd [OPTION]...\n\n"
       << Described()
       << "\nEvery option can also be a line of the --config file (key = value) or a variable\n"
          "PLOVD_KEY; the command line wins over the file, the file over the environment.\n"
          "Prints \"plovd: ready on URI\" when it serves; SIGTERM and SIGINT stop it cleanly.\n"
          "Exit status: 0 stopped cleanly, 2 usage, 3 cannot serve.\n";
  return text.str();
}

std::expected<Options, Error> ParseOptions(int argc, const char* const* argv) {
  const po::options_description described = Described();
  po::variables_map given;
  std::string seen;  // what the user wrote
  for (const char* argument : std::span(argv, static_cast<size_t>(argc))) seen += argument;
  try {
    const int style = po::command_line_style::unix_style & ~po::command_line_style::allow_guessing;
    po::store(
        po::command_line_parser(argc, argv).options(described).style(style).positional({}).run(),
        given);
    // What is stored first wins; the environment comes last, but may name the file.
    const auto environment = po::parse_environment(described, OptionOfVariable);
    for (const po::option& option : environment.options) seen += option.value.front();
    if (const auto path = ConfigPath(given, environment); !path.empty()) {
      std::ifstream file(path);
      if (!file) return Invalid(fmt::format("cannot read --config {}", path));
      std::stringstream text;
      text << file.rdbuf();
      seen += text.str();
      po::store(po::parse_config_file(text, described), given);
    }
    po::store(environment, given);
  } catch (const po::error& error) {
    return Invalid(HasPlaceholder(seen) ? kPlaceholderError : error.what());
  }
  return Digest(given);
}

}  // namespace plov::server
