// How many operations a second one core checks for linearizability while they are made.
//
//   checker [OPERATIONS]      (4000000)
//
// Histories of clients that GET, PUT, ADD, DELETE and DELETE by version, made before the clock
// runs: many keys with 4 clients, and one key with 16 that all overlap; fed as plov-torture feeds
// them, with a new horizon every thousand operations. One history in which a write in a thousand
// got no answer: each of those may take effect at any later time. The thread's own CPU time counts.
// Exit status 1 if the checker calls one of them wrong.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <queue>
#include <random>
#include <vector>

#include "bench/load/clock.h"
#include "torture/interval_checker.h"

namespace {

using namespace plov::torture;

constexpr size_t kOperationsPerHorizon = 1024;

struct Client {
  Operation next;
  Instant point = 0;
  uint64_t sequence = 0;
};

struct Stored {
  bool present = false;
  uint64_t version = 0;
  ValueId value = kForeign;
  uint64_t told = 0;  // the last version that a client knows
};

struct Work {
  const char* name;
  uint32_t clients;
  uint64_t keys;
  uint64_t unknown_in = 0;  // one in so many writes, 0 for none
  std::vector<Operation> operations = {};
  std::vector<Instant> horizons = {};
};

class Maker {
 public:
  explicit Maker(Work* work) : work_(*work), clients_(work->clients), stored_(work->keys) {}

  void Make(size_t count) {
    const auto later = [this](uint32_t a, uint32_t b) {
      return clients_[a].point > clients_[b].point;
    };
    std::priority_queue<uint32_t, std::vector<uint32_t>, decltype(later)> by_point(later);
    for (uint32_t i = 0; i < work_.clients; ++i) {
      Prepare(i, Draw(200));
      by_point.push(i);
    }
    for (size_t i = 0; i < count; ++i) {
      const uint32_t first = by_point.top();
      by_point.pop();
      Operation& operation = clients_[first].next;
      const bool is_unknown = work_.unknown_in != 0 && operation.kind != Kind::kGet &&
                              random_() % work_.unknown_in == 0;
      Expect(&operation);
      if (!is_unknown || random_() % 2 == 0) Apply(&operation, is_unknown);
      if (is_unknown) operation.outcome = Outcome::kUnknown;
      work_.operations.push_back(operation);
      Prepare(first, clients_[first].next.end + 1 + Draw(50));
      by_point.push(first);
      if ((i + 1) % kOperationsPerHorizon == 0) work_.horizons.push_back(Horizon());
    }
  }

 private:
  Instant Draw(uint64_t limit) { return static_cast<Instant>(random_() % limit); }

  Instant Horizon() const {
    const auto start = [](const Client& client) { return client.next.start; };
    return std::ranges::min(clients_, {}, start).next.start;
  }

  void Prepare(uint32_t index, Instant start) {
    constexpr Kind kWrites[] = {Kind::kPut,    Kind::kPut, Kind::kPut,     Kind::kPut,
                                Kind::kDelete, Kind::kAdd, Kind::kDeleteIf};
    Client& client = clients_[index];
    client.next = {};
    client.next.process = index;
    client.next.kind = random_() % 2 == 0 ? Kind::kGet : kWrites[random_() % std::size(kWrites)];
    client.next.key = random_() % work_.keys;
    client.next.value = IsStore(client.next.kind) ? MakeValueId(index, ++client.sequence) : 0;
    client.next.start = start;
    client.point = start + Draw(1000);
    client.next.end = client.point + Draw(1000);
  }

  void Expect(Operation* operation) {
    const uint64_t told = stored_[operation->key].told;
    if (operation->kind == Kind::kDeleteIf && told == 0) operation->kind = Kind::kDelete;
    if (operation->kind == Kind::kDeleteIf) operation->expected = told;
  }

  void Apply(Operation* operation, bool is_unknown) {
    Stored& stored = stored_[operation->key];
    if (operation->kind == Kind::kAdd && stored.present) {
      operation->outcome = Outcome::kExists;
    } else if (IsStore(operation->kind)) {
      operation->version = ++version_;
      stored = {true, version_, operation->value, is_unknown ? stored.told : version_};
    } else if (!stored.present) {
      operation->outcome = Outcome::kAbsent;
    } else if (operation->kind == Kind::kGet) {
      operation->version = stored.told = stored.version;
      operation->value = stored.value;
    } else if (operation->kind == Kind::kDeleteIf && operation->expected != stored.version) {
      operation->outcome = Outcome::kMismatch;
    } else {
      stored.present = false;
    }
  }

  Work& work_;
  std::mt19937_64 random_{1};
  std::vector<Client> clients_;
  std::vector<Stored> stored_;
  uint64_t version_ = 0;
};

bool Check(const Work& work) {
  IntervalChecker checker;
  size_t largest = 0;
  const int64_t start_ns = plov::bench::ThreadCpuNs();
  for (size_t i = 0; i < work.operations.size(); ++i) {
    checker.Feed(work.operations[i]);
    if ((i + 1) % kOperationsPerHorizon != 0) continue;
    checker.Advance(work.horizons[i / kOperationsPerHorizon]);
    largest = std::max(largest, checker.size());
  }
  checker.Finish();
  const double seconds = static_cast<double>(plov::bench::ThreadCpuNs() - start_ns) / 1e9;
  std::printf("%-24s %9zu operations: %6.2f million a second, %zu held at most, %llu violations\n",
              work.name, work.operations.size(),
              static_cast<double>(work.operations.size()) / seconds / 1e6, largest,
              static_cast<unsigned long long>(checker.violations()));
  return checker.violations() == 0 && checker.undecided() == 0;
}

}  // namespace

int main(int argc, char** argv) {
  const size_t count = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 4'000'000;
  bool right = true;
  for (Work work :
       {Work{"100000 keys, 4 clients", 4, 100'000}, Work{"1000000 keys, 4 clients", 4, 1'000'000},
        Work{"16 keys, 16 clients", 16, 16}, Work{"1 key, 16 clients", 16, 1},
        Work{"the same, some unknown", 16, 1, 1000}}) {
    Maker(&work).Make(count);
    right &= Check(work);
  }
  return right ? 0 : 1;
}
