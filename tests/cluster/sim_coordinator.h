// SimEnsemble: a coordinator in memory, with the faults that a real one has: reads that are old, writes whose replies
// are lost - which have happened, have not, or happen later - hints that are lost, sessions that end, connections that
// are cut. What it does depends on its seed and on the calls alone.
//
// Threads: one.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "cluster/coordinator.h"
#include "fabric/os.h"

namespace plov::test {

// Of 1000 calls each.
struct SimFaults {
  uint32_t old_read = 0;
  uint32_t lost_done = 0;   // the write has happened
  uint32_t lost_never = 0;  // it never will
  uint32_t lost_late = 0;   // it may at any later call
  uint32_t lost_hint = 0;
  uint32_t ended_session = 0;
};

class SimEnsemble {
 public:
  struct Write {
    enum class Kind : uint8_t { kSet, kCreate, kDelete };
    Kind kind = Kind::kSet;
    std::string path{};
    std::string data{};
    cluster::Revision revision = 0;
    uint64_t owner = 0;  // the session of an ephemeral node; 0: none
  };
  // A state of a node: nothing when it is not there.
  using Node = std::optional<cluster::Value>;

  explicit SimEnsemble(uint64_t seed) : random_(seed) {}

  std::unique_ptr<cluster::Coordinator> Connect();

  // Called before each call does something: where others get on. It may make calls.
  std::function<void()> between;
  SimFaults faults;

  // All states that the node has had; each once for each write.
  const std::vector<Node>& HistoryOf(const std::string& path) { return nodes_[path].states; }
  uint64_t late_done() const { return late_done_; }
  uint64_t late_refused() const { return late_refused_; }
  uint64_t old_reads() const { return old_reads_; }
  // Does what is late now, in any order.
  void DoLate();

 private:
  friend class SimCoordinator;

  struct States {
    std::vector<Node> states{std::nullopt};
    uint64_t owner = 0;
  };
  struct Client {
    std::set<std::string> watched;
    std::set<std::string> armed;
    std::set<std::string> hinted;
    int event_fd;
    uint64_t session;
  };

  bool Chance(uint32_t of_1000) { return random_() % 1000 < of_1000; }
  void Proceed();
  std::expected<cluster::Revision, Error> Do(const Write& write);
  // What its client hears of it.
  std::expected<cluster::Revision, Error> Send(const Write& write);
  Node Read(const std::string& path);
  bool IsThere(const std::string& path);
  void Tell(const std::string& path);
  uint64_t Begin();  // a session
  void End(uint64_t session);

  std::mt19937_64 random_;
  std::map<std::string, States> nodes_;
  std::vector<Write> late_;
  std::set<Client*> clients_;
  uint64_t sessions_ = 0;
  std::set<uint64_t> alive_;
  uint64_t late_done_ = 0, late_refused_ = 0, old_reads_ = 0;
};

class SimCoordinator : public cluster::Coordinator {
 public:
  explicit SimCoordinator(SimEnsemble* ensemble);
  ~SimCoordinator() override;

  std::expected<cluster::Value, Error> Get(const std::string& path) override;
  std::expected<cluster::Revision, Error> Set(const std::string& path, const std::string& data,
                                              cluster::Revision revision) override;
  std::expected<cluster::Revision, Error> Create(const std::string& path, const std::string& data,
                                                 cluster::Lifetime lifetime) override;
  std::expected<void, Error> Delete(const std::string& path, cluster::Revision revision) override;
  std::expected<std::vector<std::string>, Error> List(const std::string& path) override;
  void Watch(const std::string& path) override { client_.watched.insert(path); }
  int hint_fd() const override { return event_.get(); }
  std::vector<std::string> TakeHints() override;
  cluster::State state() const override;

  // No call gets through, or all do again.
  void Cut(bool is_cut);
  void EndSession();
  // The data of each Set so far, whatever became of it.
  const std::vector<std::string>& sent() const { return sent_; }

 private:
  // The errors of a call that is not made.
  std::expected<void, Error> Begin(const std::string& path);

  SimEnsemble* ensemble_;
  fabric::Fd event_;
  SimEnsemble::Client client_;
  uint64_t number_ = 1;  // of the session, counted here
  bool has_ended_ = false;
  bool is_cut_ = false;
  std::chrono::steady_clock::time_point since_ = std::chrono::steady_clock::now();
  std::vector<std::string> sent_;
};

}  // namespace plov::test
