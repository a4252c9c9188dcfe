// ConfigurationRegister, over a coordinator that loses replies, does writes late and returns old data.
#include <gtest/gtest.h>

#include <map>
#include <random>
#include <set>

#include "cluster/configuration_register.h"
#include "tests/cluster/sim_coordinator.h"
#include "tests/cluster/values.h"
#include "tests/support/sanitizers.h"

namespace plov::test {
namespace {

using cluster::ConfigurationRegister;
using cluster::Held;
using cluster::Outcome;
using cluster::Shard;
using cluster::Verdict;

constexpr SimFaults kFaults = {.old_read = 200,
                               .lost_done = 100,
                               .lost_never = 60,
                               .lost_late = 150,
                               .lost_hint = 0,
                               .ended_session = 5};
constexpr char kPath[] = "shards/3";

// One of those that propose, and what it was told of each proposal.
struct Proposer {
  explicit Proposer(SimEnsemble* ensemble)
      : coordinator(ensemble), shards(&coordinator, 3, kClusterId) {}

  SimCoordinator coordinator;
  ConfigurationRegister shards;
  bool is_busy = false;
  uint64_t mark = 0;   // of what it proposed last, in what it proposed
  uint64_t epoch = 0;  // of that
};

class Proposers {
 public:
  explicit Proposers(uint64_t seed) : ensemble_(seed), random_(seed) {
    for (int i = 0; i < kProposers; ++i) {
      proposers_.push_back(std::make_unique<Proposer>(&ensemble_));
    }
    EXPECT_TRUE(proposers_[0]->shards.Create(WholeShard()));
    ensemble_.faults = kFaults;
    ensemble_.between = [this] {
      if (depth_ < kDepthMax && random_() % 3 == 0) Step();
    };
  }

  // One of them that waits for nothing goes on.
  void Step() {
    Proposer* proposer = proposers_[random_() % kProposers].get();
    if (proposer->is_busy) return;
    proposer->is_busy = true;
    ++depth_;
    if (proposer->shards.is_open()) {
      Note(proposer, proposer->shards.Settle());
    } else {
      Propose(proposer);
    }
    --depth_;
    proposer->is_busy = false;
  }

  void Check() {
    ensemble_.faults = {};
    ensemble_.between = nullptr;
    ensemble_.DoLate();
    std::map<uint64_t, uint64_t> mark_of_epoch;
    std::set<uint64_t> marks;
    for (const auto& state : ensemble_.HistoryOf(kPath)) {
      if (!state) continue;
      const auto shard = cluster::DecodeShard(state->data);
      ASSERT_TRUE(shard) << shard.error().message;
      const uint64_t mark = shard->joining.at(0).incarnation;
      const auto [first, is_new] = mark_of_epoch.emplace(shard->epoch, mark);
      ASSERT_EQ(first->second, mark) << "epoch " << shard->epoch << " has two values";
      ASSERT_EQ(mark_of_epoch.rbegin()->first, shard->epoch) << "a former epoch has come back";
      ASSERT_EQ(mark_of_epoch.size(), shard->epoch) << "an epoch was left out";
      ASSERT_EQ(marks.insert(mark).second, is_new) << "a proposal was accepted twice";
    }
    for (const auto& [mark, verdict] : verdicts_) {
      if (verdict == Verdict::kPassed) continue;
      ASSERT_EQ(marks.contains(mark), verdict == Verdict::kAccepted) << "epoch and mark " << mark;
    }
  }

  std::map<Verdict, uint64_t> counts;
  uint64_t killed = 0, accepted_though_lost = 0;
  const SimEnsemble& ensemble() const { return ensemble_; }

 private:
  static constexpr int kProposers = 5, kDepthMax = 3;

  void Propose(Proposer* proposer) {
    const auto base = proposer->shards.Read();
    if (!base) return;
    Shard next = base->shard;
    next.primary = next.in_sync[random_() % next.in_sync.size()].server;
    next.joining = {{"mark", proposer->mark = ++last_mark_}};
    proposer->epoch = base->shard.epoch + 1;
    const size_t sent = proposer->coordinator.sent().size();
    const Outcome outcome = proposer->shards.Propose(*base, next);
    if (outcome.verdict == Verdict::kAccepted && proposer->coordinator.sent().size() > sent + 1) {
      ++accepted_though_lost;
    }
    Note(proposer, outcome);
  }

  void Note(Proposer* proposer, const Outcome& outcome) {
    ++counts[outcome.verdict];
    EXPECT_EQ(outcome.verdict == Verdict::kOpen, proposer->shards.is_open());
    if (outcome.verdict == Verdict::kOpen) return;
    verdicts_[proposer->mark] = outcome.verdict;
    if (!outcome.held) return;
    const uint64_t held = outcome.held->shard.epoch;
    if (outcome.verdict == Verdict::kAccepted) {
      EXPECT_EQ(held, proposer->epoch);
    }
    if (outcome.verdict == Verdict::kRefused) {
      EXPECT_GE(held, proposer->epoch - 1);
    }
    if (outcome.verdict == Verdict::kPassed) {
      EXPECT_GT(held, proposer->epoch);
    }
    if (outcome.why.ends_with("it was killed")) ++killed;
  }

  SimEnsemble ensemble_;
  std::mt19937_64 random_;
  std::vector<std::unique_ptr<Proposer>> proposers_;
  std::map<uint64_t, Verdict> verdicts_;  // by marks
  uint64_t last_mark_ = 100;              // other than those of WholeShard
  int depth_ = 0;
};

TEST(Register, NoEpochHasTwoValuesAndNoVerdictIsWrong) {
  constexpr uint64_t kSeeds = test::kSanitized ? 10 : 40;
  constexpr int kSteps = 1500;
  std::map<Verdict, uint64_t> counts;
  uint64_t killed = 0, accepted_though_lost = 0, late_done = 0, late_refused = 0, old_reads = 0;
  for (uint64_t seed = 1; seed <= kSeeds; ++seed) {
    SCOPED_TRACE(seed);
    Proposers proposers(seed);
    for (int i = 0; i < kSteps; ++i) proposers.Step();
    proposers.Check();
    if (HasFatalFailure()) return;
    for (const auto& [verdict, count] : proposers.counts) counts[verdict] += count;
    killed += proposers.killed;
    accepted_though_lost += proposers.accepted_though_lost;
    late_done += proposers.ensemble().late_done();
    late_refused += proposers.ensemble().late_refused();
    old_reads += proposers.ensemble().old_reads();
  }
  std::printf(
      "accepted %lu refused %lu passed %lu open %lu; killed %lu, accepted though lost %lu; late: "
      "%lu done, "
      "%lu refused; %lu old reads\n",
      counts[Verdict::kAccepted], counts[Verdict::kRefused], counts[Verdict::kPassed],
      counts[Verdict::kOpen], killed, accepted_though_lost, late_done, late_refused, old_reads);
  // Each way through it was taken often.
  for (const uint64_t count :
       {counts[Verdict::kAccepted], counts[Verdict::kRefused], counts[Verdict::kPassed],
        counts[Verdict::kOpen], killed, accepted_though_lost, late_done, late_refused, old_reads}) {
    EXPECT_GT(count, 20u);
  }
}

// What the coordinator does with one proposal, without faults but those of the test.
class RegisterTest : public ::testing::Test {
 protected:
  RegisterTest() {
    EXPECT_TRUE(first_.shards.Create(WholeShard()));
    base_ = *first_.shards.Read();
  }

  Shard Next() const { return base_.shard; }

  SimEnsemble ensemble_{1};
  Proposer first_{&ensemble_}, second_{&ensemble_};
  Held base_;
};

TEST_F(RegisterTest, ProposalIsTheNextEpoch) {
  EXPECT_EQ(base_.shard.epoch, 1u);
  const Outcome outcome = first_.shards.Propose(base_, Next());
  ASSERT_EQ(outcome.verdict, Verdict::kAccepted);
  EXPECT_EQ(outcome.held->shard.epoch, 2u);
  EXPECT_NE(outcome.held->shard.proposal, base_.shard.proposal);
  const auto read = second_.shards.Read();
  EXPECT_EQ(read->shard, outcome.held->shard);
  EXPECT_EQ(read->revision, outcome.held->revision);
}

TEST_F(RegisterTest, SecondProposalUponOneRevisionIsRefusedAndTold) {
  const Outcome first = first_.shards.Propose(base_, Next());
  const Outcome second = second_.shards.Propose(base_, Next());
  ASSERT_EQ(second.verdict, Verdict::kRefused);
  EXPECT_EQ(second.held->shard, first.held->shard);
}

TEST_F(RegisterTest, LostProposalIsKilled) {
  ensemble_.faults.lost_never = 1000;
  ensemble_.between = [this] {
    if (first_.coordinator.sent().size() == 2) ensemble_.faults = {};
  };
  const Outcome outcome = first_.shards.Propose(base_, Next());
  ASSERT_EQ(outcome.verdict, Verdict::kRefused);
  EXPECT_EQ(outcome.held->shard, base_.shard);
  EXPECT_GT(outcome.held->revision, base_.revision);
  EXPECT_EQ(first_.shards.Propose(*outcome.held, Next()).verdict, Verdict::kAccepted);
}

TEST_F(RegisterTest, ProposalIsOpenUntilThereIsAConnection) {
  ensemble_.faults.lost_done = 1000;
  ensemble_.between = [this] {
    if (first_.coordinator.sent().size() == 2) first_.coordinator.Cut(true);
  };
  EXPECT_EQ(first_.shards.Propose(base_, Next()).verdict, Verdict::kOpen);
  EXPECT_EQ(first_.shards.Settle().verdict, Verdict::kOpen);
  first_.coordinator.Cut(false);
  ensemble_.between = nullptr;
  ensemble_.faults = {};
  const Outcome outcome = first_.shards.Settle();
  EXPECT_EQ(outcome.verdict, Verdict::kAccepted);
  EXPECT_EQ(outcome.held->shard.epoch, 2u);
}

TEST_F(RegisterTest, ProposalThatAnotherKilledUponIsStillFound) {
  ensemble_.faults.lost_done = 1000;
  ensemble_.between = [this] {
    if (first_.coordinator.sent().size() == 2) first_.coordinator.Cut(true);
  };
  ASSERT_EQ(first_.shards.Propose(base_, Next()).verdict, Verdict::kOpen);
  ensemble_.between = [this] {
    if (second_.coordinator.sent().size() == 2) ensemble_.faults = {};
  };
  ensemble_.faults = {.lost_never = 1000};
  ASSERT_EQ(second_.shards.Propose(*second_.shards.Read(), Next()).verdict, Verdict::kRefused);
  ensemble_.between = nullptr;
  first_.coordinator.Cut(false);
  EXPECT_EQ(first_.shards.Settle().verdict, Verdict::kAccepted);
}

TEST_F(RegisterTest, FieldsOfALaterReleaseOutliveAKill) {
  const std::string data = base_.data.substr(0, base_.data.size() - 1) + ",\"later\":1}";
  ASSERT_TRUE(first_.coordinator.Set(kPath, data, base_.revision));
  ensemble_.faults.lost_never = 1000;
  ensemble_.between = [this] {
    if (first_.coordinator.sent().size() == 3) ensemble_.faults = {};
  };
  ASSERT_EQ(first_.shards.Propose(*first_.shards.Read(), Next()).verdict, Verdict::kRefused);
  EXPECT_EQ(first_.coordinator.Get(kPath)->data, data);
}

TEST_F(RegisterTest, ProposalThatMakesNoSenseIsNotSent) {
  Shard next = Next();
  next.primary = "z9";
  const Outcome outcome = first_.shards.Propose(base_, next);
  EXPECT_EQ(outcome.verdict, Verdict::kRefused);
  EXPECT_NE(outcome.why.find("primary"), std::string::npos) << outcome.why;
  EXPECT_TRUE(first_.coordinator.sent().empty());
}

TEST_F(RegisterTest, DataOfAnotherClusterAreRefused) {
  ConfigurationRegister other(&first_.coordinator, 3, kClusterId + 1);
  const auto read = other.Read();
  ASSERT_FALSE(read);
  EXPECT_NE(read.error().message.find("data of another cluster"), std::string::npos);
}

TEST_F(RegisterTest, DataOlderThanWhatWasReadAreRefused) {
  ASSERT_EQ(first_.shards.Propose(base_, Next()).verdict, Verdict::kAccepted);
  ASSERT_TRUE(first_.coordinator.Set(kPath, base_.data, first_.shards.Read()->revision));
  const auto read = first_.shards.Read();
  ASSERT_FALSE(read);
  EXPECT_NE(read.error().message.find("older than the servers"), std::string::npos);
}

TEST_F(RegisterTest, SecondCreationIsRefused) {
  EXPECT_EQ(second_.shards.Create(WholeShard()).error().code, Code::kExists);
}

TEST(RegisterCreate, LostCreationIsFound) {
  SimEnsemble ensemble(1);
  Proposer proposer(&ensemble);
  ensemble.faults.lost_done = 1000;
  int calls = 0;
  ensemble.between = [&] {
    if (++calls == 2) ensemble.faults = {};
  };
  const auto created = proposer.shards.Create(WholeShard());
  ASSERT_TRUE(created) << created.error().message;
  EXPECT_EQ(created->shard.epoch, 1u);
}

}  // namespace
}  // namespace plov::test
