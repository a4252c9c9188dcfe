// What a connection costs: the rate at which clients connect, one at a time and all at once, and
// the memory that each takes, here, at the server and in the kernel.
//
//   connections URI COUNT [PID]
//
// Connects COUNT clients, lets each put an item and read it, and lets them go again; PID is the
// server's process, where it runs on this machine. Memory is what the numbers of /proc have grown
// by, of the kernel also what everybody else took meanwhile. Reports; fails when a client does.
#include <plov/client.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "program/machine.h"

namespace {

using Clock = std::chrono::steady_clock;
using Clients = std::vector<std::optional<plov::Client>>;

// Everybody at once may keep a small server busy for long; no client gives up meanwhile.
constexpr std::chrono::seconds kTimeout(120);

double SecondsSince(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

// In a file of /proc, in KiB; 0 where there is none.
double KibOf(const std::string& path, const std::string& name) {
  return static_cast<double>(plov::program::Machine().ReadField(path, name).value_or(0));
}

// In KiB. Pinned memory is counted once for each registration; most of it is resident, too.
struct Memory {
  struct Process {
    double resident = 0, pinned = 0;
  };
  Process client, server;
  double kernel = 0;  // slab and vmalloc: nothing gives them back while they are in use

  static Process Of(const std::string& pid) {
    const std::string path = "/proc/" + pid + "/status";
    return {KibOf(path, "VmRSS"), KibOf(path, "VmPin")};
  }
  static Memory Now(const std::string& server) {
    return {Of("self"), server.empty() ? Process{} : Of(server),
            KibOf("/proc/meminfo", "SUnreclaim") + KibOf("/proc/meminfo", "VmallocUsed")};
  }
};

class Bench {
 public:
  Bench(std::string uri, size_t count, std::string server)
      : uri_(std::move(uri)), server_(std::move(server)), clients_(count) {}

  // Fails when a client cannot connect, put or get.
  bool Run() {
    // What the first connection sets up for all that follow is none of theirs.
    if (!ConnectOne(0)) return false;
    clients_[0].reset();
    const Memory before = Memory::Now(server_);
    bool right = Report("connect, one at a time", [this] {
      size_t failed = 0;
      for (size_t i = 0; i < clients_.size(); ++i) failed += !ConnectOne(i);
      return failed;
    });
    const Memory connected = Memory::Now(server_);
    right &= Report("put and get, each client once", [this] { return UseAll(); });
    PrintMemory("connected", before, connected);
    PrintMemory("and used", before, Memory::Now(server_));
    right &= Report("disconnect", [this] { return DropAll(); });
    right &= Report("connect, all at once", [this] { return ConnectAtOnce(); });
    right &= UseAll() == 0;
    return right;
  }

 private:
  bool ConnectOne(size_t i) {
    auto client = plov::Client::Connect(uri_, {.timeout = kTimeout, .location_cache_bytes = 0});
    if (!client) {
      std::fprintf(stderr, "connections: client %zu: %s\n", i, client.error().message.c_str());
      return false;
    }
    clients_[i].emplace(std::move(*client));
    return true;
  }

  size_t ConnectAtOnce() {
    std::vector<char> connected(clients_.size());
    {
      std::vector<std::jthread> threads;
      for (size_t i = 0; i < clients_.size(); ++i) {
        threads.emplace_back([this, &connected, i] { connected[i] = ConnectOne(i); });
      }
    }
    size_t failed = 0;
    for (const char one : connected) failed += one == 0;
    return failed;
  }

  size_t DropAll() {
    for (auto& client : clients_) client.reset();
    return 0;
  }

  // How many do not get back what they put.
  size_t UseAll() {
    size_t wrong = 0;
    for (size_t i = 0; i < clients_.size(); ++i) {
      const std::string key = "bench:" + std::to_string(i);
      if (!clients_[i] || !clients_[i]->Put(key, key)) {
        ++wrong;
        continue;
      }
      const auto item = clients_[i]->Get(key);
      wrong += !item || !*item || (*item)->value != key;
    }
    return wrong;
  }

  template <typename Body>
  bool Report(const char* name, Body&& body) {
    const auto start = Clock::now();
    const size_t failed = body();
    const auto count = static_cast<double>(clients_.size());
    std::printf("%-30s %10.1f /s %8zu failed\n", name, count / SecondsSince(start), failed);
    std::fflush(stdout);
    return failed == 0;
  }

  void PrintMemory(const char* when, const Memory& before, const Memory& now) const {
    const auto each = [this](double later, double earlier) {
      return (later - earlier) / static_cast<double>(clients_.size());
    };
    std::printf("%-10s KiB each: client %7.1f resident %7.1f pinned;", when,
                each(now.client.resident, before.client.resident),
                each(now.client.pinned, before.client.pinned));
    if (!server_.empty()) {
      std::printf(" server %7.1f resident %7.1f pinned;",
                  each(now.server.resident, before.server.resident),
                  each(now.server.pinned, before.server.pinned));
    }
    std::printf(" kernel %7.1f\n", each(now.kernel, before.kernel));
  }

  std::string uri_;
  std::string server_;
  Clients clients_;
};

}  // namespace

int main(int argc, char** argv) {
  const size_t count = argc < 3 ? 0 : std::strtoull(argv[2], nullptr, 10);
  if (argc > 4 || count == 0) {
    std::fprintf(stderr, "usage: connections URI COUNT [PID]\n");
    return 2;
  }
  return Bench(argv[1], count, argc == 4 ? argv[3] : "").Run() ? 0 : 3;
}
