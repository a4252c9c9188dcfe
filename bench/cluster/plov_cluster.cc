#include "bench/cluster/plov_cluster.h"

#include <plov/client.h>

#include <charconv>
#include <filesystem>
#include <utility>

namespace plov::bench {

namespace {

constexpr uint64_t kServerBytes = uint64_t{256} << 20;
constexpr uint64_t kValueBytesMax = uint64_t{1} << 16;
constexpr uint32_t kServers = 3, kShards = 16;
constexpr std::chrono::seconds kMendsWithin{120}, kEndsWithin{20};
constexpr std::chrono::seconds kCallMax{30};  // longer than anything here lasts

class PlovSubjectClient final : public SubjectClient {
 public:
  explicit PlovSubjectClient(Client client) : client_(std::move(client)) {}

  std::expected<void, Error> Put(size_t key, uint64_t value) override {
    const auto put = client_.Put(SubjectKey(key), std::to_string(value));
    return put ? std::expected<void, Error>() : std::unexpected(put.error());
  }

  std::expected<uint64_t, Error> Get(size_t key) override {
    const auto got = client_.Get(SubjectKey(key));
    if (!got) return std::unexpected(got.error());
    uint64_t value = 0;
    if (*got)
      std::from_chars((*got)->value.data(), (*got)->value.data() + (*got)->value.size(), value);
    return value;
  }

 private:
  Client client_;
};

}  // namespace

std::expected<std::unique_ptr<PlovCluster>, Error> PlovCluster::Start(const std::string& plovd,
                                                                      const std::string& folder,
                                                                      const std::string& log) {
  const std::string own = folder + "/cluster";
  std::error_code failed;
  std::filesystem::create_directory(own, failed);
  if (failed) return Fail(Code::kSystem, own + ": " + failed.message());
  auto cluster = torture::OwnCluster::Start({.plovd = plovd,
                                             .folder = own,
                                             .servers = kServers,
                                             .shards = kShards,
                                             .memory_bytes = kServerBytes,
                                             .max_value_bytes = kValueBytesMax,
                                             .log = log,
                                             .detect = std::chrono::milliseconds(300),
                                             .drop = std::chrono::milliseconds(80),
                                             .spin_us = program::kPlovdSpinUs});
  if (!cluster) return std::unexpected(cluster.error());
  return std::unique_ptr<PlovCluster>(new PlovCluster(std::move(*cluster)));
}

PlovCluster::~PlovCluster() { cluster_->Close(kEndsWithin); }

std::expected<std::unique_ptr<SubjectClient>, Error> PlovCluster::Connect() const {
  ClientOptions options;
  options.timeout = kCallMax;
  auto client = Client::Connect(uri(), options);
  if (!client) return std::unexpected(client.error());
  return std::make_unique<PlovSubjectClient>(std::move(*client));
}

std::expected<void, Error> PlovCluster::Do(Harm harm) {
  victim_ = cluster_->PrimaryOf(kHarmedShard);
  program::OwnServer& server = cluster_->server(victim_);
  switch (harm) {
    case Harm::kKill:
      server.process().Kill();
      return {};
    case Harm::kStop:
      server.process().Stop();
      return {};
    case Harm::kCut:
      cluster_->Isolate(victim_);
      return {};
    case Harm::kMove:
      return cluster_->HandOver(kHarmedShard);
  }
  return {};
}

std::expected<void, Error> PlovCluster::Mend(Harm harm) {
  program::OwnServer& server = cluster_->server(victim_);
  if (harm == Harm::kKill) {
    if (auto started = server.Start(program::Life::kEmpty); !started) return started;
  }
  if (harm == Harm::kStop) server.process().Continue();
  if (harm == Harm::kCut) cluster_->Rejoin(victim_);
  if (cluster_->AwaitWhole(kMendsWithin)) return {};
  return Fail(Code::kTimeout, "the cluster does not become whole again: " + server.Log());
}

}  // namespace plov::bench
