#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

#include "client/cli/commands.h"
#include "client/cli/connect.h"
#include "client/cli/json.h"
#include "client/cli/options.h"
#include "client/cli/report.h"
#include "metrics/text.h"
#include "program/format.h"
#include "verify/counters.h"

namespace plov::cli {

namespace {

constexpr std::string_view kPid = "pid ";
constexpr std::string_view kOption = "option.";
constexpr std::string_view kCluster = "cluster.";
constexpr auto kPrimaryOf = "primary_of";
constexpr auto kReplicaOf = "replica_of";
constexpr std::string_view kShardNumber =
    "cluster.shard";  // of a single server's it is their place

// Of all others the whole server has the sum of its shards.
constexpr auto kNotSummed =
    std::to_array<std::string_view>({"uptime_us", "clock_us", "snapshot_age_s", "page_kind"});

bool IsSummed(std::string_view name) {
  if (std::ranges::find(kNotSummed, name) != kNotSummed.end()) return false;
  const auto& table = verify::CounterTable();
  const auto* info = std::ranges::find(table, name, &verify::CounterInfo::name);
  return info == table.end() || info->together == verify::Together::kSum;
}

program::Json Total(const program::Json& shards) {
  program::Json total = program::Json::object();
  for (const program::Json& shard : shards) {
    for (const auto& [name, value] : shard.items()) {
      if (name == kShardNumber) continue;
      const uint64_t before = total.value(name, uint64_t{0});
      const auto own = value.get<uint64_t>();
      total[name] = IsSummed(name) ? before + own : std::max(before, own);
    }
  }
  return total;
}

class Table {
 public:
  explicit Table(const program::Json& total) : total_(total) {}

  uint64_t operator[](const char* name) const { return total_.value(name, uint64_t{0}); }
  void Add(std::string_view name, std::string_view value) {
    text_ += fmt::format("{:<18} {}\n", name, value);
  }
  void AddCount(std::string_view name, const char* key) {
    Add(name, program::Grouped((*this)[key]));
  }
  const std::string& text() const { return text_; }

 private:
  const program::Json& total_;
  std::string text_;
};

double SecondsOf(uint64_t us) { return static_cast<double>(us) / 1e6; }

// Nothing of a server without a log.
void AddLog(Table* table) {
  Table& t = *table;
  if (t["log_segment"] == 0) return;
  constexpr std::array kModes = {"strict", "acked", "async"};  // as the server counts them
  t.Add("log",
        fmt::format("{}, {} written, a commit takes {} us, 1 in 100 over {}{}",
                    t["log_mode"] < kModes.size() ? kModes[t["log_mode"]] : "?",
                    program::Bytes(t["log_bytes"]), t["log_commit_us_p50"], t["log_commit_us_p99"],
                    t["log_failed"] != 0 ? "; FAILS: plovd's log says why" : ""));
  const uint64_t taken = t["snapshots"];
  const uint64_t failures = t["snapshot_failures"];
  if (taken + failures + t["snapshot_running"] == 0) return;
  std::string text = fmt::format("{} taken", taken);
  if (taken != 0) {
    text += fmt::format(", the last {} ago, {} items in {}",
                        program::Duration(static_cast<double>(t["snapshot_age_s"])),
                        program::Grouped(t["snapshot_items"]), program::Bytes(t["snapshot_bytes"]));
  }
  if (t["snapshot_running"] != 0) text += "; one is being taken";
  if (failures != 0) text += fmt::format("; {} failed: plovd's log says why", failures);
  t.Add("snapshots", text);
}

// In which pages the shards' memory is. Nothing of a server that does not say it.
void AddPages(const program::Json& shards, Table* table) {
  constexpr std::array kKinds = {"small", "transparent huge",
                                 "huge"};  // as the server numbers them
  std::array<size_t, kKinds.size()> counts{};
  for (const program::Json& shard : shards) {
    const uint64_t kind = shard.value("page_kind", uint64_t{kKinds.size()});
    if (kind < kKinds.size()) ++counts[kind];
  }
  std::string text;
  for (size_t kind = 0; kind < kKinds.size(); ++kind) {
    if (counts[kind] == shards.size()) return table->Add("pages", kKinds[kind]);
    if (counts[kind] == 0) continue;
    text += fmt::format("{}{} in {} of {} shards", text.empty() ? "" : ", ", kKinds[kind],
                        counts[kind], shards.size());
  }
  if (!text.empty()) table->Add("pages", text);
}

// How full everything is.
void AddSpace(const program::Json& shards, Table* table) {
  Table& t = *table;
  t.Add("memory",
        fmt::format("{} of {} used ({}{} % full), {} committed",
                    program::Bytes(t["memory_used_bytes"]), program::Bytes(t["memory_bytes"]),
                    shards.size() > 1 ? "fullest shard " : "", t["full_percent"],
                    program::Bytes(t["memory_committed_bytes"])));
  AddPages(shards, table);
  if (t["host_refuses"] != 0) t.Add("host", "gives no more memory; plovd's log says why");
  t.Add("table",
        fmt::format("{} of {} buckets of {} bytes, {}, generation {}{}",
                    program::Percent(t["items"], t["buckets"]), program::Grouped(t["buckets"]),
                    t["bucket_bytes"], program::Bytes(t["table_bytes"]), t["generation"],
                    t["growing"] != 0 ? ", growing" : ""));
  if (t["item_bytes_128"] != 0 && t["bucket_bytes_auto"] != 0) {
    t.Add("bucket size", fmt::format("by the items: {} bytes an item in buckets of 64, {} in 128",
                                     t["item_bytes_64"], t["item_bytes_128"]));
  }
  t.Add("records", fmt::format("{} in {} of memory", program::Bytes(t["records_bytes"]),
                               program::Bytes(t["records_used_bytes"])));
  if (t["stashed"] != 0) {
    t.Add("stashed", fmt::format("{} items found no bucket: GETs of them ask the server",
                                 program::Grouped(t["stashed"])));
  }
  t.Add("displaced",
        fmt::format("{} of the items", program::Percent(t["items_displaced"], t["items"])));
  t.Add("keys and values", program::Bytes(t["payload_bytes"]));
  t.AddCount("growths", "growths");
}

// Nothing of a server that has recovered nothing.
void AddRecovery(Table* table) {
  Table& t = *table;
  if (t["recovered_items"] != 0) t.AddCount("recovered items", "recovered_items");
  if (t["recovered_damaged"] != 0) t.AddCount("recovered damaged", "recovered_damaged");
}

// What the text of every shard says of the server: version, process and options.
program::Json AboutServer(std::string_view text) {
  program::Json about = program::Json::object();
  about["options"] = program::Json::array();
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), line.size() + 1));
    const size_t space = std::min(line.find(' '), line.size());
    const std::string_view name = line.substr(0, space);
    const std::string value(line.substr(std::min(space + 1, line.size())));
    if (name == "version") about["version"] = Printable(value);
    if (name == "pid") about["pid"] = std::strtoull(value.c_str(), nullptr, 10);
    if (name.starts_with(kCluster) && name != kShardNumber) {
      about["cluster"][std::string(name.substr(kCluster.size()))] = Printable(value);
    }
    if (!name.starts_with(kOption)) continue;
    about["options"].push_back(
        fmt::format("--{} {}", name.substr(kOption.size()), Printable(value)));
  }
  return about;
}

// The same of each server, one of them unless they are a cluster's. Where shards have replicas, a client of the cluster
// knows of those that the server is the primary of, its administrator of all.
program::Json AboutServers(const std::vector<std::string>& texts) {
  program::Json servers = program::Json::array();
  std::vector<program::Json> replicas;
  for (const std::string& text : texts) {
    program::Json about = AboutServer(text);
    const auto known = std::ranges::find(servers, about);
    const auto at = static_cast<size_t>(known - servers.begin());
    if (known == servers.end()) {
      servers.push_back(std::move(about));
      replicas.push_back(
          {{kPrimaryOf, program::Json::array()}, {kReplicaOf, program::Json::array()}});
    }
    const std::string number(verify::TextValue(text, kShardNumber));
    const bool is_primary = verify::TextValue(text, "replica_primary") == "1";
    if (number.empty()) continue;
    replicas[at][is_primary ? kPrimaryOf : kReplicaOf].push_back(
        std::strtoull(number.c_str(), nullptr, 10));
  }
  for (size_t i = 0; i < servers.size(); ++i) {
    const bool has_replicas =
        servers[i].contains("cluster") && !servers[i]["cluster"].contains("shards");
    if (has_replicas) servers[i]["cluster"].update(replicas[i]);
  }
  return servers;
}

std::string ShardsText(const program::Json& cluster) {
  if (cluster.contains("shards")) return "shards " + cluster["shards"].get<std::string>();
  std::string text;
  for (const auto& [key, what] :
       {std::pair(kPrimaryOf, "the primary of"), std::pair(kReplicaOf, "a replica of")}) {
    const auto numbers = cluster.value(key, std::vector<uint64_t>());
    if (numbers.empty()) continue;
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", what,
                        numbers.size() == 1 ? "shard" : "shards");
    for (const uint64_t number : numbers) {
      text += fmt::format("{}{}", number == numbers.front() ? " " : ",", number);
    }
  }
  return text.empty() ? "no shards" : text;
}

std::string ClusterText(const program::Json& cluster) {
  return fmt::format("{}, server {}, {}", cluster.value("id", "?"), cluster.value("server", "?"),
                     ShardsText(cluster));
}

void AddServer(const std::string& name, const program::Json& about, Table* table) {
  table->Add("server", fmt::format("{}, plovd {}, process {}", name, about.value("version", "?"),
                                   about.value("pid", 0)));
  std::string given;
  for (const auto& option : about["options"]) given += " " + option.get<std::string>();
  if (!given.empty()) table->Add("options", given.substr(1));
  if (about.contains("cluster")) table->Add("cluster", ClusterText(about["cluster"]));
}

void AddServers(const std::string& uri, const program::Json& servers, Table* table) {
  if (servers.size() == 1) return AddServer(uri, servers[0], table);
  table->Add("servers", fmt::format("{} of {}", servers.size(), uri));
  for (const program::Json& about : servers) {
    const program::Json cluster = about.value("cluster", program::Json::object());
    table->Add("server", fmt::format("{}, plovd {}, process {}, {}", cluster.value("server", "?"),
                                     about.value("version", "?"), about.value("pid", 0),
                                     ShardsText(cluster)));
  }
}

std::string TextOf(const Options& options, const program::Json& servers,
                   const program::Json& shards) {
  const program::Json total = Total(shards);
  Table t(total);
  AddServers(options.server, servers, &t);
  t.Add("shards", fmt::format("{}", shards.size()));
  t.Add("uptime", program::Duration(SecondsOf(t["uptime_us"])));
  t.Add("server CPU", fmt::format("{:.3f} s", SecondsOf(t["cpu_us"])));
  t.AddCount("items", "items");
  AddSpace(shards, &t);
  AddLog(&t);
  AddRecovery(&t);
  t.Add("clients", fmt::format("{} (this one included)", t["clients"]));
  t.AddCount("clients refused", "clients_refused");
  t.Add("connections", fmt::format("at most {}", program::Bytes(t["connection_bytes_max"])));
  t.AddCount("requests", "requests");
  t.AddCount("messages", "messages");
  t.AddCount("puts", "puts");
  t.AddCount("deletes", "deletes");
  t.AddCount("commits", "commits");
  t.AddCount("commits refused", "commits_refused");
  t.AddCount("gets by message", "gets_by_message");
  t.AddCount("refused, full", "no_space");
  t.AddCount("expired", "expired");
  t.AddCount("evicted", "evicted");
  t.AddCount("hits told", "hits_told");
  t.AddCount("retries answered", "retries_answered");
  t.AddCount("damaged", "corrupt");
  t.AddCount("protocol errors", "protocol_errors");
  t.AddCount("clients dropped", "clients_dropped_unconfirmed");
  return t.text();
}

}  // namespace

program::Json ShardStats(std::string_view text) {
  program::Json shard = program::Json::object();
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), line.size() + 1));
    const size_t space = std::min(line.find(' '), line.size());
    const std::string_view number = line.substr(std::min(space + 1, line.size()));
    uint64_t value = 0;
    const char* end = number.data() + number.size();
    const std::string_view name = line.substr(0, space);
    const bool is_number = name == kShardNumber || !name.starts_with(kCluster);
    if (line.starts_with(kPid) || line.starts_with(kOption) || !is_number) continue;
    const auto [rest, failure] = std::from_chars(number.data(), end, value);
    if (failure == std::errc() && rest == end) shard[std::string(name)] = value;
  }
  return shard;
}

namespace {

std::expected<std::string, Error> PrometheusOf(const std::vector<std::string>& texts) {
  std::vector<verify::Counters> shards;
  for (const std::string& text : texts) shards.push_back(verify::CountersOf(text).counters);
  return metrics::PrometheusText(shards);
}

Outcome Print(const Options& options, Client* client, program::Output* output) {
  const auto texts = client->ServerStats(Freshness::kAsFound);
  if (!texts) return std::unexpected(texts.error());
  if (options.prometheus) {
    const auto text = PrometheusOf(*texts);
    if (!text) return std::unexpected(text.error());
    output->Write(*text);
    return {};
  }
  program::Json shards = program::Json::array();
  for (const std::string& text : *texts) shards.push_back(ShardStats(text));
  const program::Json servers = AboutServers(*texts);
  if (options.json) {
    program::Json object = program::Json::object();
    object["server"] = options.server;
    if (servers.size() == 1) object.update(servers[0]);
    if (servers.size() > 1) object["servers"] = servers;
    object["shards"] = shards;
    object["total"] = Total(shards);
    output->Write(program::LineOf(object));
  } else {
    output->Write(TextOf(options, servers, shards));
  }
  return {};
}

// On a terminal each takes the place of the one before; else an empty line is between texts for people.
Outcome PrintAgain(const Options& options, Client* client, program::Output* output) {
  const bool is_terminal = ::isatty(STDOUT_FILENO) == 1;
  while (true) {
    if (is_terminal) program::WriteAll(STDOUT_FILENO, "\x1b[H\x1b[J");
    if (auto printed = Print(options, client, output); !printed) return printed;
    if (!is_terminal && !options.json) output->Write("\n");
    if (auto written = output->Finish(); !written) return written;
    std::this_thread::sleep_for(*options.watch);
  }
}

}  // namespace

Outcome Stats(const Options& options, program::Output* output) {
  auto client = ConnectAsAdministrator(options);
  if (!client) return std::unexpected(client.error());
  return options.watch ? PrintAgain(options, &*client, output) : Print(options, &*client, output);
}

}  // namespace plov::cli
