#include "client/cli/options.h"

#include <fmt/core.h>

#include <algorithm>
#include <boost/program_options.hpp>
#include <charconv>
#include <sstream>
#include <tuple>

#include "program/nearest.h"
#include "verify/number.h"
#include "verify/quantity.h"
#include "verify/record.h"

namespace plov::cli {

namespace po = boost::program_options;

namespace {

using std::chrono::microseconds;
using std::chrono::seconds;

constexpr microseconds kTimeoutMax = std::chrono::hours(24);
constexpr microseconds kMaxAgeMax = std::chrono::hours(365 * 24);  // as the library's
constexpr microseconds kRepairAfterMax = std::chrono::hours(7 * 24);
constexpr std::chrono::milliseconds kIntervalMin{10};  // a screen is not drawn faster
constexpr seconds kTtlMax{UINT32_MAX};                 // an expiry has 32 bits

po::options_description GlobalOptions() {
  po::options_description options("Options", 100);
  // clang-format off
  options.add_options()
      ("server", po::value<std::string>()->value_name("URI"),
       "shm:NAME, shm:/path.sock, rdma://HOST:PORT, cluster:URI,URI (PLOV_SERVER, else shm:default)")
      ("timeout", po::value<std::string>()->value_name("DURATION"),
       "give up after this long, as 100us, 5ms or 2s (5s)")
      ("wait", po::value<std::string>()->value_name("DURATION"),
       "wait this long for a server that is starting (not at all)")
      ("read-from", po::value<std::string>()->value_name("primary|any-replica"),
       "whose memory get, mget, exists and vector get READ, of a shard's replicas (primary)")
      ("max-age", po::value<std::string>()->value_name("DURATION"),
       "how old at most is what they find with any-replica (1s)")
      ("json", po::bool_switch(), "print JSON, one object a line")
      ("version", po::bool_switch(), "print the version and exit")
      ("help", po::bool_switch(), "print this help, or that of a command, and exit");
  // clang-format on
  return options;
}

void AddClusterOptions(po::options_description* options) {
  // clang-format off
  options->add_options()
      ("auth", po::value<std::string>()->value_name("FILE"),
       "a line user:password, as the servers' --cluster-auth")
      ("shards", po::value<std::string>()->value_name("N"), "parts of the cluster's keys (16)")
      ("replicas", po::value<std::string>()->value_name("N"),
       "servers that have each shard (2, or 1 with one server)")
      ("min-replicas", po::value<std::string>()->value_name("N"),
       "with fewer of them there are no writes (1)")
      ("lease", po::value<std::string>()->value_name("DURATION|off"),
       "how long a client may read without a look at the other replicas; off: never (250ms)")
      ("detect", po::value<std::string>()->value_name("DURATION"),
       "a primary that is silent for so long is replaced (300ms)")
      ("drop", po::value<std::string>()->value_name("DURATION"),
       "another replica that is silent for so long is left behind (80ms)")
      ("repair-after", po::value<std::string>()->value_name("DURATION|off"),
       "what a server had that does not run for so long is placed on others; off: by repair alone "
       "(10m)")
      ("from", po::value<std::string>()->value_name("ID"), "the server whose replica moves")
      ("to", po::value<std::string>()->value_name("ID"), "the server that is to have the shard")
      ("lose-data", po::bool_switch(), "what the shard held may be lost");
  // clang-format on
}

po::options_description CommandOptions() {
  po::options_description options(
      "Options of put, vector put, append, prepend, incr and decr (--if-version also of delete and "
      "vector update, --ttl of get and touch), of load (--json-lines), of scan (--values), "
      "of flush (--yes, --delay), of stats (--watch, --prometheus), of top (--interval, --count), "
      "of vector (--first, --count), of snapshot (--no-wait, also of cluster), "
      "of drain (--cancel), of log list (--shard, --snapshot), "
      "of restore (--until-version, --until-time), of doctor (--memory, --log, --cluster, --auth) "
      "and of cluster (the others)",
      100);
  // clang-format off
  options.add_options()
      ("ttl", po::value<std::string>()->value_name("DURATION"),
       "forget the item after this long, whole seconds as 30s, 15m or 24h")
      ("flags", po::value<std::string>()->value_name("N"),
       "a number to keep with the value, 0 to 4294967295 (0)")
      ("add", po::bool_switch(), "only when KEY is not there")
      ("replace", po::bool_switch(), "only when KEY is there")
      ("if-version", po::value<std::string>()->value_name("N"),
       "only over this version of KEY, as get --json shows it")
      ("if-value", po::value<std::string>()->value_name("VALUE"),
       "only when KEY has this value; 16 KiB at most with the new one")
      ("create", po::bool_switch(), "store KEY where it is not there")
      ("initial", po::value<std::string>()->value_name("N"),
       "what KEY counts as where it is not there (it is not stored)")
      ("min", po::value<std::string>()->value_name("N"), "the number gets no smaller (-2^63)")
      ("max", po::value<std::string>()->value_name("N"), "the number gets no greater (2^63-1)")
      ("unsigned", po::bool_switch(), "0 to 2^64-1: incr goes on from 0, decr stops there")
      ("json-lines", po::bool_switch(), "the lines are JSON, as dump --json prints them")
      ("values", po::bool_switch(), "print values, too")
      ("yes", po::bool_switch(), "delete without a question")
      ("delay", po::value<std::string>()->value_name("DURATION"),
       "delete what is there after this long, whole seconds")
      ("watch", po::value<std::string>()->value_name("[=DURATION]"),
       "print them again each second, or as often as --watch=DURATION says")
      ("prometheus", po::bool_switch(), "print them as Prometheus scrapes them")
      ("interval", po::value<std::string>()->value_name("DURATION"),
       "look at the server as often as this (1s)")
      ("count", po::value<std::string>()->value_name("N"),
       "end after so many looks (never); of vector: only so many elements (all)")
      ("first", po::value<std::string>()->value_name("N"), "begin with this element (0)")
      ("no-wait", po::bool_switch(), "do not wait for the snapshot, or until shards have moved")
      ("cancel", po::bool_switch(), "let the server go on as before")
      ("memory", po::value<std::string>()->value_name("SIZE"),
       "hold the machine against a server with this much, as 512M or 2G (1G)")
      ("log", po::value<std::string>()->value_name("DIR"),
       "look at the folder that a server is to keep its log in, and at the disk below it")
      ("cluster", po::value<std::string>()->value_name("URI"),
       "look at the cluster of this coordinator, zk://HOST[:PORT],.../ROOT, instead of a server")
      ("shard", po::value<std::string>()->value_name("N"), "only this shard of the log")
      ("snapshot", po::bool_switch(), "the items of the log's snapshots, too")
      ("until-version", po::value<std::vector<std::string>>()->value_name("SHARD:VERSION"),
       "nothing of this shard that is later; may be given for each shard")
      ("until-time", po::value<std::string>()->value_name("TIME"),
       "nothing that is later, as 2026-11-25T20:15:30, with a Z for UTC, or @SECONDS");
  // clang-format on
  AddClusterOptions(&options);
  return options;
}

std::unexpected<Error> Invalid(std::string message) {
  return Fail(Code::kInvalidArgument, fmt::format("{} (try plov --help)", message));
}

std::optional<std::string> ValueOf(const po::variables_map& given, const char* name) {
  if (given.count(name) == 0) return std::nullopt;
  return given[name].as<std::string>();
}

template <typename Number>
std::expected<Number, Error> NumberOf(const po::variables_map& given, const char* name,
                                      Number least) {
  const auto text = ValueOf(given, name);
  if (!text) return Number{0};
  Number number = 0;
  const char* end = text->data() + text->size();
  const auto [rest, failure] = std::from_chars(text->data(), end, number);
  if (failure != std::errc() || rest != end || number < least) {
    return Invalid(fmt::format("--{} '{}' is not a number from {} to {}", name, *text, least,
                               std::numeric_limits<Number>::max()));
  }
  return number;
}

std::expected<microseconds, Error> DurationOf(const po::variables_map& given, const char* name,
                                              microseconds otherwise, microseconds most) {
  const auto text = ValueOf(given, name);
  if (!text) return otherwise;
  const auto duration = ParseDuration(*text);
  if (!duration) return Invalid(fmt::format("--{}: {}", name, duration.error().message));
  if (duration->count() == 0) {
    return Invalid(fmt::format("--{} '{}': it must be longer than 0", name, *text));
  }
  if (*duration > most) {
    return Invalid(fmt::format("--{} '{}' is longer than {} s", name, *text,
                               std::chrono::floor<seconds>(most).count()));
  }
  return *duration;
}

std::expected<uint64_t, Error> SizeOf(const po::variables_map& given, const char* name,
                                      uint64_t otherwise) {
  const auto text = ValueOf(given, name);
  if (!text) return otherwise;
  const auto size = ParseSize(*text);
  if (!size) return Invalid(fmt::format("--{}: {}", name, size.error().message));
  if (*size == 0) return Invalid(fmt::format("--{} '{}': it must be more than 0", name, *text));
  return *size;
}

std::expected<seconds, Error> SecondsOf(const po::variables_map& given, const char* name) {
  const auto duration = DurationOf(given, name, {}, kTtlMax);
  if (!duration) return std::unexpected(duration.error());
  if (*duration % seconds(1) != microseconds(0)) {
    return Invalid(fmt::format("--{} is in whole seconds", name));
  }
  return std::chrono::floor<seconds>(*duration);
}

std::expected<PutOptions, Error> PutOptionsOf(const po::variables_map& given) {
  PutOptions put;
  const auto ttl = SecondsOf(given, "ttl");
  if (!ttl) return std::unexpected(ttl.error());
  put.ttl = *ttl;
  const auto flags = NumberOf<uint32_t>(given, "flags", 0);
  if (!flags) return std::unexpected(flags.error());
  put.flags = *flags;
  const auto version = NumberOf<Version>(given, "if-version", 1);
  if (!version) return std::unexpected(version.error());
  put.expected_version = *version;
  const bool add = given["add"].as<bool>();
  const bool replace = given["replace"].as<bool>();
  if (add + replace + (*version != 0) > 1) {
    return Invalid("--add, --replace and --if-version exclude each other");
  }
  if (add + replace + given.count("if-value") > 1) {
    return Invalid("--add, --replace and --if-value exclude each other");
  }
  if (add) put.mode = PutMode::kAdd;
  if (replace) put.mode = PutMode::kReplace;
  return put;
}

std::expected<void, Error> FillIncrement(const po::variables_map& given, Options* options) {
  options->is_unsigned = given["unsigned"].as<bool>();
  const auto mode =
      options->is_unsigned ? verify::NumberMode::kUnsignedAdd : verify::NumberMode::kSigned;
  IncrementOptions* increment = &options->increment;
  int64_t initial = 0;
  for (const auto& [name, number] :
       {std::pair("initial", &initial), std::pair("min", &increment->min),
        std::pair("max", &increment->max)}) {
    const auto text = ValueOf(given, name);
    if (!text) continue;
    const auto value = verify::NumberOf(*text, mode);
    if (!value)
      return Invalid(fmt::format("--{} '{}' is not a number that the key can have", name, *text));
    *number = *value;
  }
  if (given.count("initial") > 0) increment->initial = initial;
  if (options->is_unsigned && given.count("min") + given.count("max") > 0) {
    return Invalid("--min and --max are not for --unsigned");
  }
  if (increment->min > increment->max) return Invalid("--min is greater than --max");
  increment->expected_version = options->put.expected_version;
  increment->flags = options->put.flags;
  increment->ttl = options->put.ttl;
  return {};
}

std::expected<void, Error> FillReads(const po::variables_map& given, Options* options) {
  if (const auto word = ValueOf(given, "read-from")) {
    if (*word != "primary" && *word != "any-replica") {
      return Invalid(fmt::format("--read-from '{}' is neither primary nor any-replica", *word));
    }
    options->read_from = *word == "primary" ? ReadFrom::kPrimary : ReadFrom::kAnyReplica;
  }
  const auto max_age = DurationOf(given, "max-age", options->max_age, kMaxAgeMax);
  if (!max_age) return std::unexpected(max_age.error());
  options->max_age = *max_age;
  if (given.count("max-age") > 0 && options->read_from == ReadFrom::kPrimary) {
    return Invalid("--max-age is for --read-from any-replica");
  }
  return {};
}

std::expected<void, Error> FillIntervals(const po::variables_map& given, Options* options) {
  const auto interval = DurationOf(given, "interval", options->interval, kTimeoutMax);
  if (!interval) return std::unexpected(interval.error());
  const auto watch = DurationOf(given, "watch", {}, kTimeoutMax);
  if (!watch) return std::unexpected(watch.error());
  const auto count = NumberOf<uint64_t>(given, "count", 1);
  if (!count) return std::unexpected(count.error());
  for (const auto each : {*interval, *watch}) {
    if (each.count() > 0 && each < kIntervalMin) return Invalid("an interval is 10ms or longer");
  }
  const auto first = NumberOf<uint64_t>(given, "first", 0);
  if (!first) return std::unexpected(first.error());
  options->first = *first;
  options->interval = *interval;
  if (given.count("watch") > 0) options->watch = *watch;
  if (given.count("count") > 0) options->count = *count;
  return {};
}

// What makes no sense as a whole is for whoever creates the cluster to say.
std::expected<void, Error> FillCluster(const po::variables_map& given, ClusterOptions* cluster) {
  cluster->uri = ValueOf(given, "cluster").value_or("");
  if (given.count("cluster") > 0 && !cluster->uri.starts_with("zk:")) {
    return Invalid(fmt::format("--cluster '{}' is not zk://HOST[:PORT],.../ROOT", cluster->uri));
  }
  cluster->auth_file = ValueOf(given, "auth").value_or("");
  cluster->from = ValueOf(given, "from").value_or("");
  cluster->to = ValueOf(given, "to").value_or("");
  cluster->loses_data = given["lose-data"].as<bool>();
  for (const auto& [name, number] :
       {std::pair("shards", &cluster->shards), std::pair("min-replicas", &cluster->min_replicas)}) {
    const auto value = NumberOf<uint32_t>(given, name, 1);
    if (!value) return std::unexpected(value.error());
    if (given.count(name) > 0) *number = *value;
  }
  const auto replicas = NumberOf<uint32_t>(given, "replicas", 1);
  if (!replicas) return std::unexpected(replicas.error());
  if (given.count("replicas") > 0) cluster->replicas = *replicas;
  auto repair_after = microseconds(0);
  for (const auto& [name, time, is_off, most] :
       {std::tuple("lease", &cluster->lease, ValueOf(given, "lease") == "off", kTimeoutMax),
        std::tuple("repair-after", &repair_after, ValueOf(given, "repair-after") == "off",
                   kRepairAfterMax),
        std::tuple("detect", &cluster->detect, false, kTimeoutMax),
        std::tuple("drop", &cluster->drop, false, kTimeoutMax)}) {
    const auto value =
        is_off ? microseconds(0) : DurationOf(given, name, *time, microseconds(most));
    if (!value) return std::unexpected(value.error());
    *time = *value;
  }
  if (given.count("repair-after") > 0) cluster->repair_after = repair_after;
  return {};
}

bool IsOptionOf(const Command& command, std::string_view name) {
  std::istringstream own{std::string(command.options)};
  for (std::string option; own >> option;) {
    if (option == name) return true;
  }
  return false;
}

std::expected<void, Error> CheckFit(const Options& options, const po::variables_map& given) {
  const Command& command = *options.command;
  const po::options_description described = CommandOptions();
  for (const auto& option : described.options()) {
    const std::string& name = option->long_name();
    if (given.count(name) == 0 || given[name].defaulted()) continue;
    if (!IsOptionOf(command, name)) {
      return Invalid(fmt::format("--{} is not an option of {}", name, command.name));
    }
  }
  const size_t count = options.words.size();
  if (count < command.words_min || count > command.words_max) {
    return Fail(Code::kInvalidArgument, fmt::format("usage: plov {} {} (try plov {} --help)",
                                                    command.name, command.synopsis, command.name));
  }
  return {};
}

std::vector<std::string> NamesOf(const po::options_description& described) {
  std::vector<std::string> names;
  for (const auto& option : described.options()) names.push_back("--" + option->long_name());
  return names;
}

std::vector<std::string> CommandNames() {
  std::vector<std::string> names;
  for (const Command& command : Commands()) names.emplace_back(command.name);
  return names;
}

std::expected<void, Error> FindItsCommand(std::vector<std::string> words, Options* options) {
  const bool help = !words.empty() && words[0] == "help";
  if (help) {
    options->action = Options::Action::kHelp;
    words.erase(words.begin());
  }
  if (words.empty()) {
    if (options->action == Options::Action::kHelp) options->command = nullptr;
    if (options->action == Options::Action::kHelp || options->command != nullptr) return {};
    std::string list;
    for (const std::string& name : CommandNames())
      list.append(list.empty() ? "" : ", ").append(name);
    return Invalid("which command? One of " + list);
  }
  options->command = FindCommand(words[0]);
  if (options->command == nullptr) {
    return Invalid(
        fmt::format("no command '{}'{}", words[0], program::DidYouMean(words[0], CommandNames())));
  }
  options->words.assign(words.begin() + 1, words.end());
  return {};
}

// A drain's --timeout is the clients'.
void TakeDrainTime(const po::variables_map& given, Options* options) {
  if (given.count("timeout") == 0) return;
  options->drain_for = options->timeout;
  options->timeout = Options{}.timeout;
}

// "--watch" has a value behind "=" only: the word after it may be the command.
std::vector<po::option> TakeBareWatch(std::vector<std::string>& words) {
  if (words.front() != "--watch") return {};
  words.erase(words.begin());
  return {po::option("watch", {"1s"})};
}

std::expected<Options, Error> Digest(const po::variables_map& given, std::vector<std::string> words,
                                     Options options) {
  if (given["version"].as<bool>()) {
    options.action = Options::Action::kVersion;
    return options;
  }
  if (given["help"].as<bool>()) options.action = Options::Action::kHelp;
  if (auto found = FindItsCommand(std::move(words), &options); !found) {
    return std::unexpected(found.error());
  }
  if (options.action == Options::Action::kHelp) return options;
  if (auto fit = CheckFit(options, given); !fit) return std::unexpected(fit.error());
  options.server = ValueOf(given, "server").value_or(options.server);
  options.json = options.json || given["json"].as<bool>();
  options.json_lines = given["json-lines"].as<bool>();
  options.values = given["values"].as<bool>();
  options.yes = given["yes"].as<bool>();
  if (given.count("delay") > 0) {
    const auto delay = SecondsOf(given, "delay");
    if (!delay) return std::unexpected(delay.error());
    options.delay = *delay;
  }
  options.no_wait = given["no-wait"].as<bool>();
  options.prometheus = given["prometheus"].as<bool>();
  if (options.prometheus && given["json"].as<bool>())
    return Invalid("--json and --prometheus exclude each other");
  if (auto filled = FillIntervals(given, &options); !filled) return std::unexpected(filled.error());
  const auto timeout = DurationOf(given, "timeout", options.timeout, kTimeoutMax);
  if (!timeout) return std::unexpected(timeout.error());
  options.timeout = *timeout;
  options.cancel = given["cancel"].as<bool>();
  if (options.command->run == Drain) TakeDrainTime(given, &options);
  const auto wait = DurationOf(given, "wait", options.wait, kTimeoutMax);
  if (!wait) return std::unexpected(wait.error());
  options.wait = *wait;
  if (auto filled = FillReads(given, &options); !filled) return std::unexpected(filled.error());
  const auto put = PutOptionsOf(given);
  if (!put) return std::unexpected(put.error());
  options.put = *put;
  options.if_value = ValueOf(given, "if-value");
  options.creates = given["create"].as<bool>();
  if (auto filled = FillIncrement(given, &options); !filled) {
    return std::unexpected(filled.error());
  }
  const auto memory = SizeOf(given, "memory", options.memory_bytes);
  if (!memory) return std::unexpected(memory.error());
  options.memory_bytes = *memory;
  const auto shard = NumberOf<uint32_t>(given, "shard", 0);
  if (!shard) return std::unexpected(shard.error());
  if (given.count("shard") > 0) options.log_shard = *shard;
  options.log_snapshot = given["snapshot"].as<bool>();
  if (given.count("until-version") > 0) {
    options.until_versions = given["until-version"].as<std::vector<std::string>>();
  }
  options.until_time = ValueOf(given, "until-time");
  options.log_folder = ValueOf(given, "log").value_or("");
  if (given.count("log") > 0 && options.log_folder.empty())
    return Invalid("--log '' is not a folder");
  if (auto filled = FillCluster(given, &options.cluster); !filled) {
    return std::unexpected(filled.error());
  }
  return options;
}

}  // namespace

std::string OptionsText() {
  std::ostringstream text;
  text << GlobalOptions() << '\n' << CommandOptions();
  return text.str();
}

std::vector<std::string> OptionNames(const Command* command) {
  std::vector<std::string> names = NamesOf(GlobalOptions());
  for (std::string& name : NamesOf(CommandOptions())) {
    if (command != nullptr && IsOptionOf(*command, std::string_view(name).substr(2))) {
      names.push_back(std::move(name));
    }
  }
  return names;
}

std::string OptionsText(const Command& command) {
  po::options_description own("Options", 100);
  const po::options_description described = CommandOptions();
  for (const auto& option : described.options()) {
    if (IsOptionOf(command, option->long_name())) own.add(option);
  }
  std::ostringstream text;
  if (!own.options().empty()) text << own;
  return text.str();
}

// Only long options, so that a value such as -5 is a value; `plov -h` and `plov get -h` ask for help
// all the same.
std::expected<Options, Error> ParseOptions(const std::vector<std::string>& words,
                                           const Options& defaults) {
  if ((words.size() == 1 || words.size() == 2) && words.back() == "-h" && words.front() != "--") {
    std::vector<std::string> asking = {"--help"};
    if (words.size() == 2) asking.push_back(words.front());
    return ParseOptions(asking, defaults);
  }
  po::options_description all;
  all.add(GlobalOptions()).add(CommandOptions());
  po::variables_map given;
  std::vector<std::string> others;
  try {
    namespace style = po::command_line_style;
    const auto parsed =
        po::command_line_parser(words)
            .options(all)
            .style(style::allow_long | style::long_allow_adjacent | style::long_allow_next)
            .extra_style_parser(TakeBareWatch)
            .run();
    for (const auto& option : parsed.options) {
      if (option.string_key.empty()) others.push_back(option.value.at(0));
    }
    po::store(parsed, given);
  } catch (const po::unknown_option& error) {
    const std::string name = error.get_option_name();
    const std::string meant = program::DidYouMean(name, NamesOf(all));
    return Invalid(
        fmt::format("no option '{}'{}", name,
                    meant.empty() ? "; a key or value that starts with -- goes after --" : meant));
  } catch (const po::error& error) {
    const bool tells = std::ranges::none_of(words, HasPlaceholder);
    return Invalid(tells ? error.what() : kPlaceholderError);
  }
  return Digest(given, std::move(others), defaults);
}

std::expected<void, Error> CheckKey(std::string_view key) {
  if (!key.empty() && key.size() <= verify::kKeyBytesMax) return {};
  return Fail(Code::kInvalidArgument, fmt::format("the key has {} bytes: keys have 1 to {}",
                                                  key.size(), verify::kKeyBytesMax));
}

}  // namespace plov::cli
