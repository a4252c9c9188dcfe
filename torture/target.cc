#include "torture/target.h"

#include <algorithm>
#include <filesystem>
#include <thread>
#include <vector>

#include "torture/key_names.h"
#include "torture/standing.h"

namespace plov::torture {

namespace {

using std::chrono::milliseconds;

constexpr std::chrono::microseconds kTimeoutMin = std::chrono::seconds(2);
constexpr std::chrono::seconds kStopWithin{30};
// A question ends with its connection, which may have been broken unnoticed since the last.
constexpr int kQuestionsMax = 5;
constexpr size_t kWindow = 1024;  // DELETEs at once

// Ballast: large values first, then ever smaller ones into what they leave.
constexpr size_t kBallastBytes[] = {size_t{256} << 10, size_t{16} << 10, size_t{1} << 10, 64, 16};
constexpr size_t kBallastAtOnce = 16;
constexpr uint64_t kBallastKeys = kKeysMax;  // their numbers start behind those of the run's keys
// Then it is full enough, on a slow machine; of a cluster, whose PUTs take longer.
constexpr std::chrono::seconds kFillWithin{1}, kFillClusterWithin{5};

ClientOptions ToolsOwn(std::chrono::microseconds timeout) {
  return {.timeout = std::max(timeout, kTimeoutMin), .location_cache_bytes = 0};
}

// How many of the keys are gone for certain.
size_t DeleteKeys(Client* client, std::span<const KeyName> keys) {
  size_t gone = 0;
  for (size_t begin = 0; begin < keys.size(); begin += kWindow) {
    const auto some = keys.subspan(begin, std::min(kWindow, keys.size() - begin));
    for (const KeyName& key : some) {
      client->StartDelete(key.view(), 0,
                          [&gone](const Client::DeleteResult& result) { gone += result ? 1 : 0; });
    }
    while (client->Poll() > 0) std::this_thread::sleep_for(std::chrono::microseconds(20));
  }
  return gone;
}

}  // namespace

void DeleteRun(const std::string& uri, uint32_t run, std::chrono::microseconds timeout) {
  constexpr int kPassesMax = 10;
  // What killed clients have sent is applied by then.
  std::this_thread::sleep_for(milliseconds(200));
  auto client = Client::Connect(uri, ToolsOwn(timeout));
  const KeyName any(run, 0, 0);
  for (int pass = 0; client && pass < kPassesMax; ++pass) {
    std::vector<std::string> found;
    const auto scanned = client->Scan([&](std::string_view key, const Item&) {
      if (key.size() == KeyName::kBytes && key.starts_with(any.prefix())) found.emplace_back(key);
      return true;
    });
    if (!scanned || (found.empty() && scanned->settled)) return;
    for (const std::string& key : found) client->Delete(key);
  }
}

std::expected<std::unique_ptr<Target>, Error> Target::Open(const ToolOptions& options,
                                                           uint32_t run) {
  std::unique_ptr<Target> target(new Target(run, options.server));
  // The janitor is forked before there is a connection: memory that is registered with an RDMA
  // device does not go well with fork.
  auto opened = options.has_own_server() ? target->OpenOwn(options) : target->GuardKeys(options);
  if (opened) opened = target->Connect(options.timeout);
  if (!opened) return std::unexpected(opened.error());
  return target;
}

std::expected<void, Error> Target::GuardKeys(const ToolOptions& options) {
  auto janitor = program::Janitor::Start(
      [uri = uri_, run = run_, timeout = options.timeout] { DeleteRun(uri, run, timeout); });
  if (!janitor) return std::unexpected(janitor.error());
  janitor_.emplace(std::move(*janitor));
  return {};
}

std::expected<void, Error> Target::OpenOwn(const ToolOptions& options) {
  if (!options.log.empty()) {
    auto log_folder = LogFolder::Open(options.log);
    if (!log_folder) return std::unexpected(log_folder.error());
    log_folder->TellServers(options.commit);
    log_folder_ = std::move(*log_folder);
  }
  const bool warm = options.has(Fault::kKillServer) && options.cluster == 0;
  auto folder = program::MakeFolder(warm ? program::Place::kMemory : program::Place::kDisk);
  if (!folder) return std::unexpected(folder.error());
  folder_ = *folder;
  auto janitor = program::Janitor::Start([path = folder_, log = log_folder_] {
    program::RemoveFolder(path);
    if (log) log->Remove();
  });
  if (!janitor) return std::unexpected(janitor.error());
  janitor_.emplace(std::move(*janitor));
  const std::string plovd = options.plovd.empty() ? program::FindPlovd() : options.plovd;
  if (plovd.empty()) return Fail(Code::kUnavailable, "plovd was not found: name it with --plovd");
  const program::OwnServerOptions own{
      .plovd = plovd,
      .folder = folder_,
      .listen = options.listen,
      .memory_bytes = options.memory_bytes,
      .max_value_bytes = std::max<uint64_t>(options.value_bytes_max, kBallastBytes[0]),
      .shards = options.shards,
      .bucket_bytes = options.bucket_bytes,
      .is_warm = warm};
  if (options.cluster > 0) return OpenCluster(own, options);
  return options.servers > 1 ? OpenTwo(own) : OpenOne(own);
}

std::expected<void, Error> Target::OpenCluster(const program::OwnServerOptions& each,
                                               const ToolOptions& options) {
  auto cluster =
      OwnCluster::Start({.plovd = each.plovd,
                         .folder = each.folder,
                         .listen = each.listen,
                         .servers = options.cluster,
                         .shards = each.shards,
                         .memory_bytes = each.memory_bytes,
                         .is_uneven = options.has(Fault::kFull),
                         .max_value_bytes = each.max_value_bytes,
                         .log = log_folder_ ? log_folder_->path() : "",
                         .detect = std::chrono::ceil<std::chrono::milliseconds>(options.detect),
                         .drop = std::chrono::ceil<std::chrono::milliseconds>(options.drop)});
  if (!cluster) return std::unexpected(cluster.error());
  cluster_ = std::move(*cluster);
  uri_ = cluster_->uri();
  return {};
}

std::optional<std::string> Target::Ended() {
  if (cluster_ != nullptr) return cluster_->Ended();
  if (servers_.empty() || !process().HasEnded()) return std::nullopt;
  return process().ending() + ": " + server().Log();
}

std::expected<void, Error> Target::OpenOne(const program::OwnServerOptions& options) {
  servers_.emplace_back(options);
  uri_ = server().uri();
  return Restart(program::Life::kFirst);
}

// Each in a folder of its own; the name is a link to the socket of one of them. One has buckets
// that become wider and one small ones, unless it is said which.
std::expected<void, Error> Target::OpenTwo(const program::OwnServerOptions& options) {
  for (const char* name : {"a", "b"}) {
    program::OwnServerOptions own = options;
    own.folder = folder_ + "/" + name;
    if (own.bucket_bytes == program::kBucketsInTurn) own.bucket_bytes = servers_.empty() ? 0 : 64;
    std::error_code failed;
    std::filesystem::create_directory(own.folder, failed);
    if (failed) return Fail(Code::kSystem, own.folder + ": " + failed.message());
    servers_.emplace_back(std::move(own));
  }
  uri_ = "shm:" + folder_ + "/name.sock";
  auto opened = server().Start(program::Life::kFirst);
  if (opened) opened = LoadStanding(server());
  if (opened) opened = Point(active_);
  return opened;
}

std::expected<void, Error> Target::Point(size_t server) {
  const std::string link = folder_ + "/name.sock";
  std::error_code failed;
  std::filesystem::create_symlink(server == 0 ? "a/s.sock" : "b/s.sock", link + ".new", failed);
  if (!failed) std::filesystem::rename(link + ".new", link, failed);
  if (failed) return Fail(Code::kSystem, link + ": " + failed.message());
  return {};
}

std::expected<void, Error> Target::LoadStanding(const program::OwnServer& server) {
  auto client = Client::Connect(server.uri(), ToolsOwn(kTimeoutMin));
  if (!client) return std::unexpected(client.error());
  return Standing(run_).Load(&*client);
}

// Each keeps what it held every other time.
std::expected<void, Error> Target::StartStandby() {
  program::OwnServer& standby = servers_[1 - active_];
  auto started =
      standby.Start(standbys_++ / 2 % 2 == 0 ? program::Life::kWarm : program::Life::kEmpty);
  return started ? LoadStanding(standby) : started;
}

void Target::FailOver() {
  Observe();
  const size_t former = active_;
  active_ = 1 - active_;
  // The clients stay with the former one while it lives, and find the other one by the name then.
  if (auto pointed = Point(active_); !pointed) return;
  servers_[former].process().Kill();
  tally_.EndLife();
}

std::expected<void, Error> Target::Connect(std::chrono::microseconds timeout) {
  auto client = Client::Connect(uri_, ToolsOwn(timeout));
  if (!client) return std::unexpected(client.error());
  client_ = std::move(*client);
  const auto texts = client_->ServerStats();
  if (!texts) return std::unexpected(texts.error());
  const auto evicts = [](const std::string& text) { return text.contains("\noption.evict yes\n"); };
  if (std::ranges::any_of(*texts, evicts)) {
    return Fail(
        Code::kInvalidArgument,
        "this server is a cache (plovd --evict): what it loses cannot be told from what it evicts");
  }
  tally_.BeginAt(ReadServerCounts(*texts));
  return {};
}

Target::~Target() {
  Close();
  if (log_folder_ && !keeps_log_) log_folder_->Remove();
  if (!folder_.empty()) program::RemoveFolder(folder_);
}

void Target::Kill() {
  Observe();
  server().process().Kill();
  tally_.EndLife();
}

std::expected<void, Error> Target::Restart(program::Life life) {
  using program::Life;
  if (log_folder_ && life == Life::kEmpty) log_folder_->Clear();
  if (log_folder_ && life == Life::kWarm && lives_with_log_++ % 2 == 0) life = Life::kCold;
  auto started = server().Start(life);
  if (started || !log_folder_) return started;
  // It may well be the log: the server's last line alone.
  const std::string& message = started.error().message;
  std::string_view line = std::string_view(message).substr(message.rfind('\n') + 1);
  if (const size_t said = line.find("plovd: "); said != line.npos) line.remove_prefix(said + 7);
  return Fail(started.error().code, "the server does not start with its log: " + std::string(line));
}

bool Target::Observe() {
  const auto texts = client_->ServerStats();
  if (texts) tally_.Observe(ReadServerCounts(*texts));
  return texts.has_value();
}

bool Target::ObserveAtLast() {
  for (int question = 0; question < kQuestionsMax; ++question) {
    if (Observe()) return true;
  }
  return false;
}

void Target::Fill(uint32_t history) {
  const auto end =
      std::chrono::steady_clock::now() + (cluster_ == nullptr ? kFillWithin : kFillClusterWithin);
  for (const size_t bytes : kBallastBytes) {
    const std::string value(bytes, 'b');
    bool has_room = true;
    while (has_room && std::chrono::steady_clock::now() < end) {
      std::array<KeyName, kBallastAtOnce> names;
      std::array<PutItem, kBallastAtOnce> items;
      for (size_t i = 0; i < items.size(); ++i) {
        names[i] = KeyName(run_, history, kBallastKeys + ballast_++);
        items[i] = {names[i].view(), value};
      }
      client_->PutMany(items, [&has_room](size_t, const Client::PutResult& result) {
        has_room = has_room && (result || result.error().code != Code::kNoSpace);
      });
    }
  }
}

void Target::Empty(uint32_t history) {
  std::vector<KeyName> names;
  for (uint64_t i = 0; i < ballast_; ++i) names.emplace_back(run_, history, kBallastKeys + i);
  DeleteKeys(&*client_, names);
  ballast_ = 0;
}

bool Target::Delete(uint32_t history, uint64_t first, uint64_t keys) {
  std::vector<KeyName> names;
  for (uint64_t i = 0; i < keys; ++i) names.emplace_back(run_, history, first + i);
  return DeleteKeys(&*client_, names) == names.size();
}

std::optional<std::string> Target::Close() {
  std::optional<std::string> wrong;
  client_.reset();
  if (cluster_ != nullptr) return cluster_->Close(kStopWithin);
  for (program::OwnServer& own : servers_) {
    if (!own.has_process() || own.process().HasEnded()) continue;
    program::Process& process = own.process();
    process.Continue();
    process.Terminate();
    if (!process.Await(kStopWithin)) {
      wrong = "the server did not stop within 30 s of SIGTERM";
    } else if (process.ending() != "exit status 0") {
      wrong = "the server stopped with " + process.ending();
    }
    process.Kill();
  }
  return wrong;
}

}  // namespace plov::torture
