// Random lives of a store with its log and its snapshots on a simulated disk, all in one thread in a random
// order: writes, publishing, the pass of a snapshot, the log's and the snapshots' threads, growth, faults of
// the disk; each life ends with a power cut. What the next begins with is the state after some prefix of the
// writes, and that has all that was promised; and of each write its sessions know what became of it, or
// say that they do not.
//
// PLOV_SEEDS: how many seeds each test runs, 50 unless given, few where each access is watched. PLOV_SEED: this one alone.
#include <gtest/gtest.h>
#include <spdlog/spdlog.h>

#include <map>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "log/folder.h"
#include "log/snapshot_reader.h"
#include "server/durable_log.h"
#include "server/sessions.h"
#include "server/shard_snapshot.h"
#include "tests/log/simulated_disk.h"
#include "tests/server/store_world.h"
#include "tests/support/environment.h"
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

constexpr uint64_t kClients = 8;
constexpr uint64_t kBusyClients = 3;  // of a life; the others write seldom

// A write that was logged; without a value the key is deleted.
struct Change {
  uint64_t batch = 0;
  uint64_t client = 0;
  uint64_t sequence = 0;
  std::string key;
  std::optional<Value> value;
  uint64_t reply = 0;     // the version that its client was told; 0: none
  bool has_more = false;  // of its COMMIT, which are there with it or not
};

// Of a client the last write that was applied.
struct Last {
  uint64_t batch = 0;
  uint64_t sequence = 0;
};

class DurableLives {
 public:
  DurableLives(uint64_t seed, CommitMode mode)
      : random_(seed),
        mode_(mode),
        keys_(OneIn(4) ? 1500 : 20 + Below(400)),
        fills_memory_(OneIn(8)),
        has_crowds_(OneIn(8)),
        disk_(std::make_unique<test::SimulatedDisk>(seed)) {}

  void Live() {
    Begin();
    if (testing::Test::HasFatalFailure()) return;
    const uint64_t steps = 200 + Below(OneIn(3) && !fills_memory_ ? 20'000 : 3'000);
    deletes_ = 1 + Below(4);
    first_busy_ = Below(kClients);
    snapshot_every_ = OneIn(3) ? 100 : 2000;
    const bool fails = OneIn(3);
    if (fails) running_->FailAtRandom(0.002);
    for (uint64_t i = 0; i < steps; ++i) Step();
    EXPECT_TRUE(fails || log_->feed_of_shard(0)->stats().failed == 0);
    End();
  }
  uint64_t snapshots_taken() const { return snapshots_taken_; }
  uint64_t answered() const { return answered_; }  // writes that a later life knows as applied
  // Likewise the last ones of clients of which the log that was replayed had nothing.
  uint64_t answered_by_snapshot() const { return answered_by_snapshot_; }

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
    auto opened = DurableLog::OpenOn(std::move(disk_), Options(), ShardSet::Of(1));
    ASSERT_TRUE(opened) << opened.error().message;
    log_ = std::move(*opened);
    StoreOptions options{.memory_bytes = 16 * kMiB, .hash_seed = 0x5eed, .bucket_count = 64};
    if (OneIn(2)) options.bucket_bytes = 0;
    auto store = Store::Create(options);
    ASSERT_TRUE(store) << store.error().message;
    store_ = std::move(*store);
    connected_.clear();
    sessions_.emplace();
    const auto recovered = log_->Recover(0, store_.get(), &*sessions_);
    ASSERT_TRUE(recovered) << recovered.error().message;
    CheckRecovered();
    const auto begun = log_->Begin(0x5eed, {[] {}});
    ASSERT_TRUE(begun) << begun.error().message;
    store_->LogTo(log_->of_shard(0), mode_);
    snapshot_.emplace(store_.get(), &*sessions_, log_->of_shard(0), log_->feed_of_shard(0));
    promised_ = 0;
    changes_.clear();
  }

  // A PUT and the DELETE after it leave nothing: the sessions may know of both or neither.
  void CheckRecovered() {
    const State found = Found();
    const Known known = KnownToSessions();
    const uint64_t replayed_from = ReplayedFrom();
    State state = state_;
    std::map<uint64_t, Last> last = last_;
    bool is_state = false;
    bool agrees = false;
    for (size_t prefix = 0; prefix <= changes_.size() && !agrees; ++prefix) {
      if (prefix > 0) {
        const Change& change = changes_[prefix - 1];
        Apply(change, &state);
        last[change.client] = {change.batch, change.sequence};
      }
      if (prefix < promised_ || found != state) continue;
      if (prefix > 0 && changes_[prefix - 1].has_more) continue;
      is_state = true;
      agrees = Agree(known, prefix, last, replayed_from);
    }
    ASSERT_TRUE(is_state) << "what was recovered is no state after " << promised_ << " to "
                          << changes_.size() << " writes: " << Differs(found);
    ASSERT_TRUE(agrees) << "the sessions know of other writes than were recovered";
    ASSERT_EQ(store_->table().stats().items, found.size());
    state_ = found;
    last_ = last;
    for (const auto& [client, is] : known.last) {
      if (is == Session::State::kDone && last[client].batch < replayed_from)
        ++answered_by_snapshot_;
    }
  }

  // The first batch of the log that was replayed on a snapshot; 0: there was none.
  uint64_t ReplayedFrom() {
    const auto snapshots = log::Folder::List(running_)->shards[0].snapshots;
    if (snapshots.empty()) return 0;
    const auto reader =
        log::SnapshotReader::Open(running_, log::SnapshotName(0, *snapshots.rbegin()));
    EXPECT_TRUE(reader && *reader);
    return (*reader)->head().first_batch;
  }

  // What a client would be told that sends each of the writes of the last life again, and the last that was
  // applied in all.
  struct Known {
    std::vector<Session::State> changes;
    std::map<uint64_t, Session::State> last;  // by client, of those that were asked
  };
  // Who has nothing to ask for may stay away, so that a session is handed on from a life to the next.
  Known KnownToSessions() {
    std::map<uint64_t, Session*> of_client;
    for (const Change& change : changes_) of_client[change.client] = nullptr;
    for (uint64_t client = 1; client <= kClients; ++client) {
      if (of_client.contains(client) || OneIn(2)) of_client[client] = Connect(client);
    }
    Known known;
    WriteReply reply;
    for (const Change& change : changes_) {
      known.changes.push_back(of_client[change.client]->Find(change.sequence, true, &reply));
      if (known.changes.back() != Session::State::kDone) continue;
      ++answered_;
      EXPECT_TRUE(change.reply == 0 || reply.version == change.reply);
    }
    for (const auto& [client, session] : of_client) {
      const auto last = last_.find(client);
      if (last != last_.end())
        known.last[client] = session->Find(last->second.sequence, true, &reply);
    }
    return known;
  }

  Session* Connect(uint64_t client) {
    auto& session = connected_[client];
    if (session == nullptr) session = sessions_->Enter(client, client);
    return session;
  }

  // More clients come and go than are remembered: of those that had gone before nothing is known any more.
  void Crowd() {
    for (uint64_t client = 1'000'000; client < 1'000'000 + kIdleSessionsMax; ++client) {
      sessions_->Enter(client, client);
      sessions_->Leave(client);
    }
    was_crowded_ = true;
  }

  // A write that is not there is never taken for one that is, nor the other way round. Of a client's writes that
  // are there all but the last may be forgotten, where they lie before the log that was replayed or before the
  // client's window; and after a crowd any.
  bool Agree(const Known& known, size_t prefix, const std::map<uint64_t, Last>& last,
             uint64_t replayed_from) const {
    for (size_t i = 0; i < changes_.size(); ++i) {
      const Change& change = changes_[i];
      const bool is_there = i < prefix;
      const uint64_t last_sequence =
          last.contains(change.client) ? last.at(change.client).sequence : 0;
      const bool may_be_forgotten =
          was_crowded_ ||
          (change.sequence < last_sequence &&
           (change.batch < replayed_from || change.sequence + kSessionWindow <= last_sequence));
      const auto right = is_there ? Session::State::kDone : Session::State::kNew;
      if (known.changes[i] == right) continue;
      if (known.changes[i] != Session::State::kForgotten || !may_be_forgotten) return false;
    }
    for (const auto& [client, is] : known.last) {
      const bool is_last = last_.at(client).sequence == last.at(client).sequence;
      if (is == Session::State::kNew) return false;
      if (is == Session::State::kForgotten && is_last && !was_crowded_) return false;
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
        if (OneIn(10)) ComeOrGo(1 + Below(kClients));
        if (has_crowds_ && OneIn(2000)) Crowd();
        break;
      default:
        Write();
    }
  }

  void ComeOrGo(uint64_t client) {
    if (!connected_.contains(client)) {
      Connect(client);
    } else {
      connected_.erase(client);
      sessions_->Leave(client);
    }
  }

  void Write() {
    log::GroupCommit& commit = *log_->of_shard(0);
    const std::string key = Key(Below(keys_));
    const size_t bytes = 100 + Below(fills_memory_ ? 300'000 : 400);
    if (commit.failure() != Code::kOk || !commit.HasRoom(verify::LoggedBytes(10, bytes))) return;
    if (snapshot_->is_behind()) return;
    const uint64_t busy = OneIn(500) ? kClients : kBusyClients;
    const uint64_t client = 1 + (first_busy_ + Below(busy)) % kClients;
    const uint64_t sequence = ++sequences_[client];
    Session* session = Connect(client);
    if (OneIn(6)) return Commit(client, session);
    if (OneIn(deletes_ + 1)) {
      auto request = RequestOf(verify::Operation::kDelete, key, {});
      request.sequence = sequence;
      const auto reply = store_->Delete(request, kStartUs, client);
      session->Remember(sequence, reply);
      if (reply.status != Code::kOk) return;
      changes_.push_back({commit.last_batch(), client, sequence, key, {}});
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
    session->Remember(sequence, *reply);
    if (reply->status == Code::kNoSpace) return;
    ASSERT_EQ(reply->status, Code::kOk);
    changes_.push_back({.batch = commit.last_batch(),
                        .client = client,
                        .sequence = sequence,
                        .key = key,
                        .value = Value{reply->version, value},
                        .reply = reply->version});
  }

  // Some writes together, of which one key may have two.
  void Commit(uint64_t client, Session* session) {
    log::GroupCommit& commit = *log_->of_shard(0);
    const size_t count = 1 + Below(5);
    std::vector<std::pair<std::string, std::string>> items;  // an empty value: it is deleted
    size_t bytes = 0;
    for (size_t i = 0; i < count; ++i) {
      const uint64_t number = ++written_;
      const std::string value =
          OneIn(2) ? InlineValue(number) : RecordValue(number, 100 + Below(400));
      items.emplace_back(Key(Below(keys_)), OneIn(4) ? std::string() : value);
      bytes += verify::LoggedBytes(10, value.size());
    }
    if (!commit.HasRoom(bytes)) return;
    verify::Transaction all;
    for (const auto& [key, value] : items) {
      all.writes.push_back(RequestOf(
          value.empty() ? verify::Operation::kDelete : verify::Operation::kPut, key, value));
    }
    const uint64_t sequence = sequences_[client];
    const WriteReply reply = DoCommit(store_.get(), all, kStartUs, {client, sequence});
    session->Remember(sequence, reply);
    if (reply.status == Code::kNoSpace) return;
    ASSERT_EQ(reply.status, Code::kOk);
    for (size_t i = 0; i < count; ++i) {
      const auto& [key, value] = items[i];
      changes_.push_back({.batch = commit.last_batch(),
                          .client = client,
                          .sequence = sequence,
                          .key = key,
                          .value = {},
                          .reply = reply.version,
                          .has_more = i + 1 < count});
      if (!value.empty()) changes_.back().value = Value{reply.version - (count - 1 - i), value};
    }
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
    sessions_.reset();
    log_.reset();
    store_.reset();
  }

  std::mt19937_64 random_;
  CommitMode mode_;
  uint64_t keys_;
  bool fills_memory_;  // with values that do not fit all at once
  bool has_crowds_;
  bool was_crowded_ = false;
  uint64_t deletes_ = 1;
  uint64_t snapshot_every_ = 100;
  uint64_t first_busy_ = 0;
  uint64_t written_ = 0;
  uint64_t snapshots_taken_ = 0;
  uint64_t answered_ = 0;
  uint64_t answered_by_snapshot_ = 0;
  std::map<uint64_t, uint64_t> sequences_;     // the last, by client
  std::unique_ptr<test::SimulatedDisk> disk_;  // between two lives
  test::SimulatedDisk* running_ = nullptr;     // the log's
  State state_;                                // at the beginning of this life
  std::map<uint64_t, Last> last_;              // likewise, by client
  std::vector<Change> changes_;                // since
  size_t promised_ = 0;                        // of these, when the life ended
  std::unique_ptr<DurableLog> log_;
  std::unique_ptr<Store> store_;
  std::optional<Sessions> sessions_;
  std::map<uint64_t, Session*> connected_;  // by client
  std::optional<ShardSnapshot> snapshot_;
};

constexpr uint64_t kSeeds = test::kSanitized ? 8 : 50;

class DurableStore : public testing::TestWithParam<CommitMode> {};

TEST_P(DurableStore, IsAfterAPowerCutWhatItWasAfterAPrefixOfItsWrites) {
  const auto level = spdlog::get_level();
  spdlog::set_level(spdlog::level::off);
  const uint64_t only = test::NumberFrom("PLOV_SEED", 0);
  const uint64_t first = only != 0 ? only : 1;
  const uint64_t last = only != 0 ? only : test::NumberFrom("PLOV_SEEDS", kSeeds);
  uint64_t snapshots = 0;
  uint64_t answered = 0;
  uint64_t answered_by_snapshot = 0;
  for (uint64_t seed = first; seed <= last && !HasFailure(); ++seed) {
    SCOPED_TRACE("PLOV_SEED=" + std::to_string(seed));
    DurableLives lives(seed, GetParam());
    for (int life = 0; life < 4 && !HasFailure(); ++life) lives.Live();
    snapshots += lives.snapshots_taken();
    answered += lives.answered();
    answered_by_snapshot += lives.answered_by_snapshot();
  }
  EXPECT_TRUE(only != 0 || snapshots > last) << snapshots << " snapshots were taken";
  EXPECT_TRUE(only != 0 || answered > last) << answered << " writes were known to a later life";
  EXPECT_TRUE(only != 0 || answered_by_snapshot > last / 2)
      << answered_by_snapshot << " writes were known by a snapshot alone";
  RecordProperty("snapshots", std::to_string(snapshots));
  RecordProperty("answered_by_snapshot", std::to_string(answered_by_snapshot));
  spdlog::set_level(level);
}

INSTANTIATE_TEST_SUITE_P(Modes, DurableStore,
                         testing::Values(CommitMode::kStrict, CommitMode::kAcked,
                                         CommitMode::kAsync));

}  // namespace
}  // namespace plov::server
