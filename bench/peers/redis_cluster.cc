// A Redis Cluster of six servers, three of them replicas, on ports of 127.0.0.1; its clients follow it by hiredis, as
// those of its own libraries do: they ask who else has a key when the one that had it does not answer.

#include <fmt/core.h>
#include <hiredis/hiredis.h>
#include <sys/socket.h>

#include <array>
#include <chrono>
#include <filesystem>
#include <optional>
#include <string_view>
#include <thread>
#include <vector>

#include "bench/cluster/subject.h"
#include "bench/peers/peer_server.h"
#include "fabric/os.h"
#include "program/loopback.h"

namespace plov::bench {

namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr size_t kNodes = 6, kMasters = 3;
constexpr int kPortMax = 55'000;  // servers speak to each other 10,000 above
constexpr int kNodeTimeoutMs = 1000;
constexpr milliseconds kReplyMax{100}, kAgain{1};
constexpr std::chrono::seconds kWholeWithin{120}, kCallMax{30};

struct ReplyDeleter {
  void operator()(redisReply* reply) const { ::freeReplyObject(reply); }
};
struct ContextDeleter {
  void operator()(redisContext* context) const { ::redisFree(context); }
};
using Reply = std::unique_ptr<redisReply, ReplyDeleter>;

std::string_view TextOf(const redisReply* reply) { return {reply->str, reply->len}; }

// A connection to one node, made when it is needed, and anew after it has broken.
class Node {
 public:
  explicit Node(int port) : port_(port) {}
  int port() const { return port_; }

  // Null: it does not answer.
  Reply Ask(const std::vector<std::string>& words) {
    if (context_ == nullptr) context_ = Connect();
    if (context_ == nullptr) return nullptr;
    std::vector<const char*> texts;
    std::vector<size_t> bytes;
    for (const std::string& word : words) {
      texts.push_back(word.data());
      bytes.push_back(word.size());
    }
    Reply reply(static_cast<redisReply*>(::redisCommandArgv(
        context_.get(), static_cast<int>(words.size()), texts.data(), bytes.data())));
    if (reply == nullptr) context_ = nullptr;
    return reply;
  }

 private:
  using Context = std::unique_ptr<redisContext, ContextDeleter>;

  Context Connect() const {
    const timeval limit{.tv_sec = 0, .tv_usec = 1000 * kReplyMax.count()};
    Context context(::redisConnectWithTimeout("127.0.0.1", port_, limit));
    if (context == nullptr || context->err != 0) return nullptr;
    ::redisSetTimeout(context.get(), limit);
    return context;
  }

  int port_;
  Context context_;
};

class RedisClusterClient final : public SubjectClient {
 public:
  explicit RedisClusterClient(const std::vector<int>& ports) {
    for (const int port : ports) nodes_.emplace_back(port);
  }

  std::expected<void, Error> Put(size_t key, uint64_t value) override {
    const Reply reply = Call(key, {"SET", SubjectKey(key), std::to_string(value)});
    if (reply == nullptr) return Fail(Code::kTimeout, "Redis Cluster does not answer");
    if (reply->type == REDIS_REPLY_STATUS) return {};
    return Fail(Code::kProtocol, "Redis: " + std::string(TextOf(reply.get())));
  }

  std::expected<uint64_t, Error> Get(size_t key) override {
    const Reply reply = Call(key, {"GET", SubjectKey(key)});
    if (reply == nullptr) return Fail(Code::kTimeout, "Redis Cluster does not answer");
    if (reply->type == REDIS_REPLY_NIL) return 0;
    if (reply->type == REDIS_REPLY_STRING) return std::stoull(reply->str);
    return Fail(Code::kProtocol, "Redis: " + std::string(TextOf(reply.get())));
  }

  // The node that was asked for it last.
  size_t OwnerOf(size_t key) const { return owner_.at(key); }

 private:
  // Of who has the key, until a while has passed.
  Reply Call(size_t key, const std::vector<std::string>& words) {
    for (const auto end = Clock::now() + kCallMax; Clock::now() < end;) {
      Reply reply = nodes_[owner_[key]].Ask(words);
      if (reply != nullptr && reply->type != REDIS_REPLY_ERROR) return reply;
      if (reply != nullptr && TextOf(reply.get()).starts_with("MOVED ")) {
        if (Follow(key, TextOf(reply.get()))) continue;
      }
      std::this_thread::sleep_for(kAgain);
      if (reply == nullptr) owner_[key] = (owner_[key] + 1) % nodes_.size();
    }
    return nullptr;
  }

  // "MOVED 3999 127.0.0.1:6381".
  bool Follow(size_t key, std::string_view moved) {
    const std::string port(moved.substr(moved.rfind(':') + 1));
    for (size_t i = 0; i < nodes_.size(); ++i) {
      if (std::to_string(nodes_[i].port()) != port) continue;
      const bool is_news = owner_[key] != i;
      owner_[key] = i;
      return is_news;
    }
    return false;
  }

  std::vector<Node> nodes_;
  std::array<size_t, kSubjectKeys> owner_{};
};

class RedisCluster final : public Subject {
 public:
  // Errors: kUnavailable (it is not installed), kSystem.
  static StartedSubject Start(const std::string& folder) {
    std::unique_ptr<RedisCluster> cluster(new RedisCluster(folder));
    if (!cluster->ChoosePorts()) return Fail(Code::kSystem, "no free ports on 127.0.0.1");
    PeerProgram create{
        .name = "redis-cli", .package = "redis-tools", .arguments = {"--cluster", "create"}};
    for (size_t i = 0; i < kNodes; ++i) {
      if (auto started = cluster->StartNode(i); !started) return std::unexpected(started.error());
      create.arguments.push_back(fmt::format("127.0.0.1:{}", cluster->ports_[i]));
    }
    create.arguments.insert(create.arguments.end(), {"--cluster-replicas", "1", "--cluster-yes"});
    if (auto created = OutputOf(create); !created) return std::unexpected(created.error());
    if (!cluster->AwaitWhole(kWholeWithin)) {
      return Fail(Code::kSystem, "the Redis Cluster does not serve");
    }
    return cluster;
  }

  std::expected<std::unique_ptr<SubjectClient>, Error> Connect() const override {
    return std::make_unique<RedisClusterClient>(ports_);
  }
  // They would have to be cut off from each other, and not from clients, by other means than plov's.
  bool Can(Harm harm) const override { return harm != Harm::kCut; }

  std::expected<void, Error> Do(Harm harm) override {
    RedisClusterClient client(ports_);
    if (auto got = client.Get(0); !got) return std::unexpected(got.error());
    victim_ = client.OwnerOf(0);
    if (harm == Harm::kKill) processes_[victim_]->Kill();
    if (harm == Harm::kStop) processes_[victim_]->Stop();
    return harm == Harm::kMove ? HandOver() : std::expected<void, Error>();
  }

  std::expected<void, Error> Mend(Harm harm) override {
    if (harm == Harm::kKill) {
      if (auto started = StartNode(victim_); !started) return started;
    }
    if (harm == Harm::kStop) processes_[victim_]->Continue();
    if (AwaitWhole(kWholeWithin)) return {};
    return Fail(Code::kTimeout, "the Redis Cluster does not become whole again");
  }

 private:
  explicit RedisCluster(const std::string& folder) : folder_(folder), processes_(kNodes) {}

  bool ChoosePorts() {
    std::vector<fabric::Fd> held;  // until all are chosen
    while (ports_.size() < kNodes) {
      held.emplace_back(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
      const auto port = program::BindLoopback(held.back().get());
      if (!port) return false;
      if (*port <= kPortMax) ports_.push_back(*port);
    }
    return true;
  }

  // What it has of the cluster is in its folder; of items it has nothing.
  std::expected<void, Error> StartNode(size_t node) {
    const std::string own = fmt::format("{}/redis-{}", folder_, node);
    std::error_code ignored;
    std::filesystem::create_directory(own, ignored);
    const PeerProgram program{
        .name = "redis-server",
        .package = "redis-server",
        .arguments = {"--bind", "127.0.0.1", "--port", std::to_string(ports_[node]), "--dir", own,
                      "--save", "", "--appendonly", "no", "--cluster-enabled", "yes",
                      "--cluster-node-timeout", std::to_string(kNodeTimeoutMs)}};
    auto process =
        StartPeerServer(program, [&] { return Node(ports_[node]).Ask({"PING"}) != nullptr; });
    if (!process) return std::unexpected(process.error());
    processes_[node].emplace(std::move(*process));
    return {};
  }

  // As each of them sees it.
  bool IsWhole() {
    size_t masters = 0, replicas = 0;
    for (const int port : ports_) {
      Node node(port);
      const Reply nodes = node.Ask({"CLUSTER", "NODES"});
      const Reply info = node.Ask({"CLUSTER", "INFO"});
      const Reply role = node.Ask({"ROLE"});
      if (nodes == nullptr || info == nullptr || role == nullptr) return false;
      if (TextOf(nodes.get()).contains("fail")) return false;
      if (!TextOf(info.get()).contains("cluster_state:ok")) return false;
      if (role->type != REDIS_REPLY_ARRAY || role->elements < 3) return false;
      const bool is_master = TextOf(role->element[0]) == "master";
      if (is_master) ++masters;
      const bool follows = role->elements > 3 && TextOf(role->element[3]) == "connected";
      if (!is_master && follows) ++replicas;
    }
    return masters == kMasters && replicas == kNodes - kMasters;
  }
  bool AwaitWhole(std::chrono::seconds limit) {
    for (const auto end = Clock::now() + limit; Clock::now() < end;) {
      if (IsWhole()) return true;
      std::this_thread::sleep_for(milliseconds(50));
    }
    return false;
  }

  std::expected<void, Error> HandOver() {
    const Reply role = Node(ports_[victim_]).Ask({"ROLE"});
    const bool has_replica =
        role != nullptr && role->elements == 3 && role->element[2]->elements > 0;
    if (!has_replica) return Fail(Code::kSystem, "a Redis has no replica");
    const std::string port(TextOf(role->element[2]->element[0]->element[1]));
    const Reply told = Node(std::stoi(port)).Ask({"CLUSTER", "FAILOVER"});
    if (told != nullptr && told->type == REDIS_REPLY_STATUS) return {};
    return Fail(Code::kSystem, "Redis hands nothing over");
  }

  std::string folder_;
  std::vector<int> ports_;
  std::vector<std::optional<program::Process>> processes_;
  size_t victim_ = 0;
};

}  // namespace

StartedSubject MakeRedisCluster(const std::string& folder) { return RedisCluster::Start(folder); }

}  // namespace plov::bench
