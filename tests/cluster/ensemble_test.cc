// zk: against a real ensemble, whose members and clients are killed and stopped.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/stat.h>

#include <chrono>
#include <cstdio>
#include <fstream>
#include <map>
#include <mutex>
#include <set>
#include <thread>

#include "cluster/configuration_register.h"
#include "cluster/coordinator.h"
#include "tests/cluster/conformance.h"
#include "tests/cluster/ensemble_world.h"
#include "tests/cluster/values.h"
#include "tests/support/child.h"
#include "tests/support/folder.h"

namespace plov::test {
namespace {

using cluster::ConfigurationRegister;
using cluster::Coordinator;
using cluster::Lifetime;
using cluster::Open;
using cluster::Options;
using cluster::State;
using cluster::Verdict;
using std::chrono::milliseconds;
using ::testing::AnyOf;
using ::testing::HasSubstr;

constexpr std::chrono::seconds kLimit{30};
// A session that ends soon, and calls that do not wait long.
const Options kQuick{
    .timeout = milliseconds(1000), .session_timeout = milliseconds(600), .creates_root = true};
// Calls that do not wait long, of a session that a busy machine does not end.
const Options kHasty{
    .timeout = milliseconds(1000), .session_timeout = milliseconds(4000), .creates_root = true};
// For a busy machine: where no member is disturbed, no connection is lost.
const Options kPatient{
    .timeout = milliseconds(20'000), .session_timeout = milliseconds(4000), .creates_root = true};

// Until `is_so`, within the limit.
bool Await(const auto& is_so) {
  const auto deadline = std::chrono::steady_clock::now() + kLimit;
  while (!is_so()) {
    if (std::chrono::steady_clock::now() > deadline) return false;
    std::this_thread::sleep_for(milliseconds(5));
  }
  return true;
}

// Also where one attempt is too short on a busy machine.
std::expected<std::unique_ptr<Coordinator>, Error> OpenedInTime(const std::string& uri,
                                                                const Options& options) {
  auto opened = Open(uri, options);
  Await([&] {
    if (!opened) opened = Open(uri, options);
    return opened.has_value();
  });
  return opened;
}

std::unique_ptr<Coordinator> Opened(const std::string& root, const Options& options,
                                    size_t first = 0) {
  auto opened = OpenedInTime(world->Uri(first) + root, options);
  EXPECT_TRUE(opened) << opened.error().message;
  return opened ? std::move(*opened) : nullptr;
}

// By a session that is lost within a moment on a busy machine: then once more.
bool IsCreated(Coordinator* coordinator, const std::string& path, Lifetime lifetime) {
  return Await([&] {
    const auto created = coordinator->Create(path, "1", lifetime);
    return created || created.error().code == Code::kExists;
  });
}

std::unique_ptr<Coordinator> OpenConformance() { return Opened("/plov/conformance", kPatient); }

INSTANTIATE_TEST_SUITE_P(Zk, CoordinatorConformance,
                         ::testing::Values(Store{"zk", OpenConformance}));

TEST(Zk, NobodyThereIsAnErrorWithTheAddressesTried) {
  const auto opened =
      Open("zk://127.0.0.1:1,localhost:2/plov/none", {.timeout = milliseconds(300)});
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().code, Code::kUnavailable);
  EXPECT_THAT(opened.error().message, HasSubstr("127.0.0.1:1"));
  EXPECT_THAT(opened.error().message, HasSubstr(":2"));
}

TEST(Zk, NameThatIsNotKnownIsAnErrorUnlessOthersAre) {
  const std::string name(64, 'n');  // a label of a domain is shorter
  const auto opened = Open("zk://" + name + "/plov/none", {});
  EXPECT_EQ(opened.error().code, Code::kInvalidArgument);
  EXPECT_THAT(opened.error().message, HasSubstr(name));
  const std::string known = world->Uri().substr(5);
  EXPECT_TRUE(Open("zk://" + name + "," + known + "/plov/known", kPatient));
}

TEST(Zk, NamesAndIpv6AddressesAreLookedUp) {
  const std::string port = std::to_string(world->PortOf(0));
  const auto opened = Open("zk://[::1]:1,localhost:" + port + "/plov/names", kPatient);
  EXPECT_TRUE(opened) << opened.error().message;
}

TEST(Zk, MissingRootIsAnErrorUnlessItIsToBeCreated) {
  Options options = kPatient;
  options.creates_root = false;
  const auto opened = Open(world->Uri() + "/plov/absent/deep", options);
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().code, Code::kNotFound);
  EXPECT_THAT(opened.error().message, HasSubstr("/plov/absent/deep"));
  EXPECT_TRUE(Open(world->Uri() + "/plov/absent/deep", kPatient));
  EXPECT_TRUE(Open(world->Uri() + "/plov/absent/deep", options));
}

TEST(Zk, RootThatIsGoneIsNotCreatedByAWrite) {
  const auto above = Opened("/plov/gone", kPatient);
  const auto coordinator = Opened("/plov/gone/root", kPatient);
  ASSERT_TRUE(above->Delete("root", 0));
  EXPECT_EQ(coordinator->Create("a/b", "", Lifetime::kPersistent).error().code, Code::kNotFound);
  EXPECT_EQ(coordinator->Create("a", "", Lifetime::kPersistent).error().code, Code::kNotFound);
  EXPECT_TRUE(above->List("")->empty());
}

// A file with user and password.
class AuthFile {
 public:
  AuthFile(const std::string& text, mode_t mode) {
    std::ofstream(path_) << text;
    ::chmod(path_.c_str(), mode);
  }

  Options options() const {
    Options options = kPatient;
    options.auth_file = path_;
    return options;
  }

 private:
  TemporaryFolder folder_;
  const std::string path_ = folder_.path() + "/auth";
};

TEST(Zk, DataOfAUserAreForThatUserAlone) {
  const AuthFile ours("plov:secret:with:colons\n", 0600), others("plov:wrong", 0400);
  const auto coordinator = Opened("/plov/private", ours.options());
  ASSERT_TRUE(coordinator->Create("a/b", "1", Lifetime::kPersistent));
  EXPECT_TRUE(coordinator->Set("a/b", "2", 0));
  EXPECT_TRUE(Open(world->Uri() + "/plov/private", ours.options()));
  for (const Options& options : {others.options(), kPatient}) {
    const auto opened = Open(world->Uri() + "/plov/private", options);
    ASSERT_FALSE(opened);
    EXPECT_EQ(opened.error().code, Code::kPermission);
    EXPECT_THAT(opened.error().message, HasSubstr("NoAuth"));
  }
  // Whoever comes from above meets the same.
  const auto above = Opened("/plov", kPatient);
  EXPECT_EQ(above->Get("private/a/b").error().code, Code::kPermission);
  EXPECT_EQ(above->Set("private/a/b", "3", 1).error().code, Code::kPermission);
  EXPECT_EQ(above->Create("private/c", "3", Lifetime::kEphemeral).error().code, Code::kPermission);
  EXPECT_EQ(above->Delete("private/a/b", 1).error().code, Code::kPermission);
  EXPECT_EQ(coordinator->Get("a/b")->data, "2");
}

TEST(Zk, AuthFileThatOthersMayUseIsRefused) {
  for (const mode_t mode : {0604u, 0640u, 0660u, 0602u}) {
    const AuthFile file("plov:secret", mode);
    const auto opened = Open(world->Uri() + "/plov/mode", file.options());
    EXPECT_EQ(opened.error().code, Code::kPermission);
    EXPECT_THAT(opened.error().message, HasSubstr("chmod 600"));
  }
}

TEST(Zk, AuthFileThatMakesNoSenseIsRefused) {
  for (const std::string& text : {std::string(), std::string("plov"), std::string(":secret"),
                                  std::string("plov:"), std::string("plov:a\nplov:b\n"),
                                  "plov:" + std::string(2000, 's'), std::string("p\0:s", 4)}) {
    const AuthFile file(text, 0600);
    EXPECT_EQ(Open(world->Uri() + "/plov/mode", file.options()).error().code,
              Code::kInvalidArgument);
  }
  EXPECT_EQ(Open(world->Uri() + "/plov/mode", {.auth_file = "/"}).error().code,
            Code::kInvalidArgument);
  EXPECT_EQ(Open(world->Uri() + "/plov/mode", {.auth_file = "/none"}).error().code, Code::kSystem);
}

TEST(Zk, RevisionThatIsNoneIsRefusedAndNotTakenForAny) {
  const auto coordinator = Opened("/plov/revision", kPatient);
  ASSERT_TRUE(coordinator->Create("a", "1", Lifetime::kPersistent));
  for (const cluster::Revision revision : {int64_t{-1}, int64_t{1} << 32, INT64_MIN, INT64_MAX}) {
    EXPECT_EQ(coordinator->Set("a", "2", revision).error().code, Code::kInvalidArgument);
    EXPECT_EQ(coordinator->Delete("a", revision).error().code, Code::kInvalidArgument);
  }
  EXPECT_EQ(coordinator->Get("a")->data, "1");
}

TEST(Zk, TimesThatMakeNoSenseAreRefused) {
  for (const milliseconds time : {milliseconds(-1), milliseconds(0), milliseconds::max()}) {
    Options options = kQuick;
    options.timeout = time;
    EXPECT_EQ(Open(world->Uri() + "/plov/times", options).error().code, Code::kInvalidArgument);
    options = kQuick;
    options.session_timeout = time;
    EXPECT_EQ(Open(world->Uri() + "/plov/times", options).error().code, Code::kInvalidArgument);
  }
}

TEST(Zk, StoppedClientLosesItsSessionAndBeginsAnother) {
  const auto coordinator = Opened("/plov/stopped", kPatient);
  TemporaryFolder folder;
  Child client = Child::Exec({"/proc/self/exe", "--client", world->Uri() + "/plov/stopped"},
                             folder.path() + "/output");
  coordinator->Watch("servers");
  const auto has = [&](const std::string& name) {
    const auto names = coordinator->List("servers");
    return names && std::ranges::count(*names, name) > 0;
  };
  ASSERT_TRUE(Await([&] { return has("first"); }));
  client.Signal(SIGSTOP);
  EXPECT_TRUE(Await([&] { return !has("first"); }));
  client.Signal(SIGCONT);
  EXPECT_TRUE(Await([&] { return has("second"); }));
  ASSERT_TRUE(coordinator->Create("end", "", Lifetime::kPersistent));
  EXPECT_EQ(client.Wait(), 0);
}

TEST(Zk, CallsFromManyThreadsAreAnswered) {
  const auto coordinator = Opened("/plov/threads", kPatient);
  ASSERT_TRUE(coordinator->Create("n", "0", Lifetime::kPersistent));
  constexpr int kThreads = 4, kAdds = 50;
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&coordinator] {
      for (int added = 0; added < kAdds;) {
        const auto value = coordinator->Get("n");
        const int number = std::stoi(value->data) + 1;
        if (coordinator->Set("n", std::to_string(number), value->revision)) ++added;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(coordinator->Get("n")->data, std::to_string(kThreads * kAdds));
}

TEST(Zk, StoppedEnsembleIsNoticedAndComesBack) {
  const auto coordinator = Opened("/plov/outage", kHasty);
  ASSERT_TRUE(IsCreated(coordinator.get(), "a", Lifetime::kPersistent));
  coordinator->Watch("a");
  ASSERT_TRUE(Await([&] { return coordinator->Get("a").has_value(); }));
  world->StopAll();
  EXPECT_EQ(coordinator->Set("a", "2", 0).error().code, Code::kUnknown);
  ASSERT_TRUE(Await([&] { return coordinator->state().kind != State::Kind::kConnected; }));
  EXPECT_THAT(coordinator->Set("a", "2", 0).error().code,
              AnyOf(Code::kUnknown, Code::kUnavailable));
  EXPECT_THAT(coordinator->Get("a").error().code, AnyOf(Code::kTimeout, Code::kUnavailable));
  coordinator->TakeHints();
  world->ContinueAll();
  EXPECT_TRUE(AwaitHint(coordinator.get(), "a"));
  ASSERT_TRUE(Await([&] { return coordinator->Get("a").has_value(); }));
  EXPECT_TRUE(Await(
      [&] { return coordinator->Set("a", "3", coordinator->Get("a")->revision).has_value(); }));
  EXPECT_EQ(coordinator->state().kind, State::Kind::kConnected);
  EXPECT_TRUE(world->AwaitReady());
}

TEST(Zk, ClientOfAStoppedEnsembleEndsAtOnce) {
  auto coordinator = Opened("/plov/ends", kHasty);
  world->StopAll();
  EXPECT_EQ(coordinator->Create("a", "1", Lifetime::kPersistent).error().code, Code::kUnknown);
  coordinator.reset();
  world->ContinueAll();
  EXPECT_TRUE(world->AwaitReady());
}

// Proposers of one shard, each with a connection of its own; what they have seen of it, and have been told.
class Proposing {
 public:
  Proposing() {
    const auto coordinator = Opened(kRoot, kPatient);
    EXPECT_TRUE(ConfigurationRegister(coordinator.get(), 0, kClusterId).Create(WholeShard()));
    for (size_t i = 0; i < kThreads; ++i) threads_.emplace_back([this, i] { Propose(i); });
  }
  ~Proposing() { End(); }

  // Waits for so many more accepted ones.
  bool AwaitAccepted(uint64_t count) {
    const uint64_t before = accepted();
    return Await([&] { return accepted() >= before + count; });
  }

  void End() {
    ends_.store(true, std::memory_order_relaxed);
    for (std::thread& thread : threads_) thread.join();
    threads_.clear();
  }

  void Check() {
    for (const auto& [epoch, values] : seen_) EXPECT_EQ(values.size(), 1u) << "epoch " << epoch;
    std::set<uint64_t> seen;
    for (const auto& [_, values] : seen_) seen.insert(values.begin(), values.end());
    for (const uint64_t refused : refused_) EXPECT_FALSE(seen.contains(refused));
    std::printf("%zu epochs seen, %lu accepted, %zu refused, %lu open for a while\n", seen_.size(),
                accepted_, refused_.size(), open_);
  }

 private:
  static constexpr char kRoot[] = "/plov/proposing";
  static constexpr size_t kThreads = 3;

  uint64_t accepted() {
    const std::scoped_lock lock(mutex_);
    return accepted_;
  }

  void Propose(size_t which) {
    const auto coordinator = Opened(kRoot, kQuick, which);
    ConfigurationRegister shards(coordinator.get(), 0, kClusterId);
    uint64_t mark = (which + 1) << 32;  // of a proposal, in what it proposes
    while (!ends_.load(std::memory_order_relaxed) || shards.is_open()) {
      if (shards.is_open()) {
        Note(mark, shards.Settle());
        continue;
      }
      const auto base = shards.Read();
      if (!base) continue;
      Saw(*base);
      cluster::Shard next = base->shard;
      next.joining = {{"mark", ++mark}};
      Note(mark, shards.Propose(*base, next));
    }
  }

  void Saw(const cluster::Held& held) {
    const std::scoped_lock lock(mutex_);
    seen_[held.shard.epoch].insert(held.shard.joining.at(0).incarnation);
  }

  void Note(uint64_t mark, const cluster::Outcome& outcome) {
    if (outcome.held) Saw(*outcome.held);
    const std::scoped_lock lock(mutex_);
    if (outcome.verdict == Verdict::kAccepted) ++accepted_;
    if (outcome.verdict == Verdict::kRefused) refused_.insert(mark);
    if (outcome.verdict == Verdict::kOpen) ++open_;
  }

  std::atomic<bool> ends_ = false;
  std::vector<std::thread> threads_;
  std::mutex mutex_;
  // Under mutex_.
  std::map<uint64_t, std::set<uint64_t>> seen_;
  std::set<uint64_t> refused_;
  uint64_t accepted_ = 0, open_ = 0;
};

TEST(Zk, NoVerdictIsWrongWhenMembersAreKilledAndStopped) {
  Proposing proposing;
  ASSERT_TRUE(proposing.AwaitAccepted(50));
  for (int i = 0; i < 2; ++i) {
    const auto killed = world->Leader();
    ASSERT_TRUE(killed);
    world->Kill(*killed);
    EXPECT_TRUE(proposing.AwaitAccepted(50));
    ASSERT_TRUE(world->Start(*killed));
    ASSERT_TRUE(world->AwaitReady());
    const auto stopped = world->Leader();
    ASSERT_TRUE(stopped);
    world->Stop(*stopped);
    EXPECT_TRUE(proposing.AwaitAccepted(50));  // the others have another leader
    world->Continue(*stopped);
    ASSERT_TRUE(world->AwaitReady());
    world->StopAll();
    std::this_thread::sleep_for(kQuick.session_timeout / 2);
    world->ContinueAll();
    EXPECT_TRUE(proposing.AwaitAccepted(50));
    ASSERT_TRUE(world->AwaitReady());
  }
  proposing.End();
  proposing.Check();
}

}  // namespace

int RunClient(const std::string& uri) {
  auto opened = OpenedInTime(uri, kQuick);
  if (!opened) return 2;
  if (!IsCreated(opened->get(), "servers/first", Lifetime::kEphemeral)) return 3;
  while ((*opened)->state().kind != State::Kind::kSessionEnded) {
    pollfd hint{(*opened)->hint_fd(), POLLIN, 0};
    if (::poll(&hint, 1, static_cast<int>(milliseconds(kLimit).count())) != 1) return 4;
    (*opened)->TakeHints();
  }
  (*opened)->Watch("end");
  if ((*opened)->Get("end").error().code != Code::kNotFound) return 5;
  if (!IsCreated(opened->get(), "servers/second", Lifetime::kEphemeral)) return 6;
  while (!(*opened)->Get("end")) {
    if (!AwaitHint(opened->get(), "end")) return 7;
  }
  return (*opened)->state().session >= 2 ? 0 : 8;
}

}  // namespace plov::test
