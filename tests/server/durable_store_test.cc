// Random lives of a store with its log and its snapshots on a simulated disk, all in one thread in a random
// order: writes, publishing, the pass of a snapshot, the log's and the snapshots' threads, growth, faults of
// the disk; each life ends with a power cut. What the next begins with is the state after some prefix of the
// writes, and that has all that was promised; and of each write its sessions know what became of it, or
// say that they do not.
//
// PLOV_SEEDS: how many seeds each test runs, 100 unless given, few where each access is watched. PLOV_SEED: this one alone.
#include <gtest/gtest.h>
#include <spdlog/spdlog.h>

#include <cstdlib>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "server/durable_log.h"
#include "server/sessions.h"
#include "server/shard_snapshot.h"
#include "tests/log/simulated_disk.h"
#include "tests/server/store_world.h"
#include "tests/support/sanitizers.h"

namespace plov::server {
namespace {

using log::CommitMode;

struct Value {
  uint64_t version = 0;
  std::string bytes;
  bool operator==(const Value&) const = default;
};
using State = std::map<std::string, Value>;

constexpr uint64_t kClients = 3;

// A write that was logged; without a value the key is deleted.
struct Change {
  uint64_t batch = 0;
  uint64_t client = 0;
  uint64_t sequence = 0;
  std::string key;
  std::optional<Value> value;
};

class DurableLives {
 public:
  DurableLives(uint64_t seed, CommitMode mode)
      : random_(seed),
        mode_(mode),
        keys_(OneIn(4) ? 1500 : 20 + Below(400)),
        fills_memory_(OneIn(8)),
        disk_(std::make_unique<test::SimulatedDisk>(seed)) {}

  void Live() {
    Begin();
    if (testing::Test::HasFatalFailure()) return;
    const uint64_t steps = 200 + Below(OneIn(3) && !fills_memory_ ? 20'000 : 3'000);
    deletes_ = 1 + Below(4);
    snapshot_every_ = OneIn(3) ? 100 : 2000;
    const bool fails = OneIn(3);
    if (fails) running_->FailAtRandom(0.002);
    for (uint64_t i = 0; i < steps; ++i) Step();
    EXPECT_TRUE(fails || log_->feed_of_shard(0)->stats().failed == 0);
    End();
  }
  uint64_t snapshots_taken() const { return snapshots_taken_; }
  uint64_t answered() const { return answered_; }  // writes that a later life knows as applied

 private:
  uint64_t Below(uint64_t n) { return random_() % n; }
  bool OneIn(uint64_t n) { return Below(n) == 0; }

  LogOptions Options() {
    return {.folder = "sim",
            .mode = mode_,
            .segment_bytes = (16 + 16 * Below(3)) << 10,
            .buffer_bytes = size_t{8} << 20,
            .snapshots = {.rate_bytes = uint64_t{1} << 30, .keep = 1 + Below(2)}};
  }

  // What is on the disk is the state after a prefix of `changes_`; that one is the first of this life.
  void Begin() {
    running_ = disk_.get();
    auto opened = DurableLog::OpenOn(std::move(disk_), Options(), 1);
    ASSERT_TRUE(opened) << opened.error().message;
    log_ = std::move(*opened);
    StoreOptions options{.memory_bytes = 16 * kMiB, .hash_seed = 0x5eed, .bucket_count = 64};
    if (OneIn(2)) options.bucket_bytes = 0;
    auto store = Store::Create(options);
    ASSERT_TRUE(store) << store.error().message;
    store_ = std::move(*store);
    Sessions sessions;
    const auto recovered = log_->Recover(0, store_.get(), &sessions);
    ASSERT_TRUE(recovered) << recovered.error().message;
    CheckRecovered(&sessions);
    const auto begun = log_->Begin(0x5eed, {[] {}});
    ASSERT_TRUE(begun) << begun.error().message;
    store_->LogTo(log_->of_shard(0), mode_);
    snapshot_.emplace(store_.get(), log_->of_shard(0), log_->feed_of_shard(0));
    promised_ = 0;
    changes_.clear();
  }

  // A PUT and the DELETE after it leave nothing: the sessions may know of both or neither.
  void CheckRecovered(Sessions* sessions) {
    const State found = Found();
    const auto known = KnownTo(sessions);
    State state = state_;
    bool is_state = false;
    bool agrees = false;
    for (size_t prefix = 0; prefix <= changes_.size() && !agrees; ++prefix) {
      if (prefix > 0) Apply(changes_[prefix - 1], &state);
      if (prefix < promised_ || found != state) continue;
      is_state = true;
      agrees = Agree(known, prefix);
    }
    ASSERT_TRUE(is_state) << "what was recovered is no state after " << promised_ << " to "
                          << changes_.size() << " writes: " << Differs(found);
    ASSERT_TRUE(agrees) << "the sessions know of other writes than were recovered";
    ASSERT_EQ(store_->table().stats().items, found.size());
    state_ = found;
  }

  // What a client would be told that sends each of the writes again.
  std::vector<Session::State> KnownTo(Sessions* sessions) {
    std::vector<Session*> of_client;
    for (uint64_t client = 1; client <= kClients; ++client) {
      of_client.push_back(sessions->Enter(client, client));
    }
    std::vector<Session::State> known;
    for (const Change& change : changes_) {
      WriteReply reply;
      known.push_back(of_client[change.client - 1]->Find(change.sequence, true, &reply));
      if (known.back() != Session::State::kDone) continue;
      ++answered_;
      EXPECT_TRUE(!change.value || reply.version == change.value->version);
    }
    return known;
  }

  // Only what lies before the log or before a client's window may be forgotten.
  bool Agree(const std::vector<Session::State>& known, size_t prefix) const {
    std::vector<uint64_t> last(kClients + 1);
    for (size_t i = 0; i < prefix; ++i) last[changes_[i].client] = changes_[i].sequence;
    const bool is_whole = log::Folder::List(running_)->shards[0].snapshots.empty();
    for (size_t i = 0; i < changes_.size(); ++i) {
      const Change& change = changes_[i];
      const bool may_be_forgotten =
          !is_whole || change.sequence + kSessionWindow <= last[change.client];
      const auto right = i < prefix ? Session::State::kDone : Session::State::kNew;
      if (known[i] != right && (!may_be_forgotten || known[i] != Session::State::kForgotten)) {
        return false;
      }
    }
    return true;
  }

  // From the state that was promised, for a look at what went wrong.
  std::string Differs(const State& found) const {
    State state = state_;
    for (size_t i = 0; i < promised_; ++i) Apply(changes_[i], &state);
    std::string text;
    for (const auto& [key, value] : state) {
      const auto it = found.find(key);
      if (it == found.end())
        text += "\n" + key + " of version " + std::to_string(value.version) + " is gone";
      if (it != found.end() && it->second.version < value.version)
        text += "\n" + key + " is an older one";
    }
    for (const auto& [key, value] : found) {
      if (!state.contains(key))
        text += "\n" + key + " of version " + std::to_string(value.version) + " is there";
    }
    return text;
  }

  static void Apply(const Change& change, State* state) {
    if (change.value) {
      (*state)[change.key] = *change.value;
    } else {
      state->erase(change.key);
    }
  }

  State Found() {
    State found;
    for (uint64_t i = 0; i < keys_; ++i) {
      const auto hit = store_->Get(Key(i), kStartUs);
      if (hit) found[Key(i)] = {hit->item.version(), hit->item.value()};
    }
    return found;
  }

  static std::string Key(uint64_t number) { return "key" + std::to_string(number); }

  void Step() {
    log::GroupCommit& commit = *log_->of_shard(0);
    switch (Below(10)) {
      case 0:
        commit.PassOn();
        break;
      case 1:
        commit.Step(OneIn(20));
        break;
      case 2:
        store_->PublishDurable(1 + Below(64));
        break;
      case 3:
        snapshot_->Step();
        break;
      case 4:
        log_->snapshots()->Step(true);
        break;
      case 5:
        if (OneIn(10)) store_->OnIdle();
        if (OneIn(snapshot_every_)) log_->feed_of_shard(0)->Ask();
        store_->growth().OnConfirmed(UINT64_MAX);
        break;
      default:
        Write();
    }
  }

  void Write() {
    log::GroupCommit& commit = *log_->of_shard(0);
    const std::string key = Key(Below(keys_));
    const size_t bytes = 100 + Below(fills_memory_ ? 300'000 : 400);
    if (commit.failure() != Code::kOk || !commit.HasRoom(verify::LoggedBytes(10, bytes))) return;
    if (store_->IsPending(key) || snapshot_->is_behind()) return;
    const uint64_t client = 1 + Below(kClients);
    const uint64_t sequence = ++sequences_[client];
    if (OneIn(deletes_ + 1)) {
      auto request = RequestOf(verify::Operation::kDelete, key, {});
      request.sequence = sequence;
      if (store_->Delete(request, kStartUs, client).status != Code::kOk) return;
      changes_.push_back({commit.last_batch(), client, sequence, key, std::nullopt});
      return;
    }
    const uint64_t number = ++written_;
    const std::string value = OneIn(2) ? InlineValue(number) : RecordValue(number, bytes);
    auto request = RequestOf(verify::Operation::kPut, key, value);
    request.sequence = sequence;
    Store::Writing writing;
    writing.client_id = client;
    auto reply = store_->Write(request, kStartUs, &writing);
    while (!reply) reply = store_->Write(request, kStartUs, &writing);
    if (reply->status == Code::kNoSpace) return;
    ASSERT_EQ(reply->status, Code::kOk);
    changes_.push_back({commit.last_batch(), client, sequence, key, Value{reply->version, value}});
  }

  void End() {
    const uint64_t durable = log_->of_shard(0)->durable();
    while (promised_ < changes_.size() && changes_[promised_].batch <= durable) ++promised_;
    // What can be read is promised, too.
    const size_t published = changes_.size() - store_->pending();
    EXPECT_TRUE(mode_ != CommitMode::kStrict || published <= promised_);
    snapshots_taken_ += log_->feed_of_shard(0)->stats().taken;
    disk_ = running_->Crash(&random_);
    running_->ClearFaults();
    snapshot_.reset();
    log_.reset();
    store_.reset();
  }

  std::mt19937_64 random_;
  CommitMode mode_;
  uint64_t keys_;
  bool fills_memory_;  // with values that do not fit all at once
  uint64_t deletes_ = 1;
  uint64_t snapshot_every_ = 100;
  uint64_t written_ = 0;
  uint64_t snapshots_taken_ = 0;
  uint64_t answered_ = 0;
  std::map<uint64_t, uint64_t> sequences_;     // the last, by client
  std::unique_ptr<test::SimulatedDisk> disk_;  // between two lives
  test::SimulatedDisk* running_ = nullptr;     // the log's
  State state_;                                // at the beginning of this life
  std::vector<Change> changes_;                // since
  size_t promised_ = 0;                        // of these, when the life ended
  std::unique_ptr<DurableLog> log_;
  std::unique_ptr<Store> store_;
  std::optional<ShardSnapshot> snapshot_;
};

constexpr uint64_t kSeeds = test::kSanitized ? 8 : 100;

uint64_t Given(const char* name, uint64_t otherwise) {
  const char* text = std::getenv(name);
  return text != nullptr ? std::strtoull(text, nullptr, 10) : otherwise;
}

class DurableStore : public testing::TestWithParam<CommitMode> {};

TEST_P(DurableStore, IsAfterAPowerCutWhatItWasAfterAPrefixOfItsWrites) {
  const auto level = spdlog::get_level();
  spdlog::set_level(spdlog::level::off);
  const uint64_t only = Given("PLOV_SEED", 0);
  const uint64_t first = only != 0 ? only : 1;
  const uint64_t last = only != 0 ? only : Given("PLOV_SEEDS", kSeeds);
  uint64_t snapshots = 0;
  uint64_t answered = 0;
  for (uint64_t seed = first; seed <= last && !HasFailure(); ++seed) {
    SCOPED_TRACE("PLOV_SEED=" + std::to_string(seed));
    DurableLives lives(seed, GetParam());
    for (int life = 0; life < 4 && !HasFailure(); ++life) lives.Live();
    snapshots += lives.snapshots_taken();
    answered += lives.answered();
  }
  EXPECT_TRUE(only != 0 || snapshots > last) << snapshots << " snapshots were taken";
  EXPECT_TRUE(only != 0 || answered > last) << answered << " writes were known to a later life";
  RecordProperty("snapshots", std::to_string(snapshots));
  spdlog::set_level(level);
}

constexpr CommitMode kModes[] = {CommitMode::kStrict, CommitMode::kAcked, CommitMode::kAsync};
INSTANTIATE_TEST_SUITE_P(Modes, DurableStore, testing::ValuesIn(kModes));

}  // namespace
}  // namespace plov::server
