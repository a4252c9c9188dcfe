#include "tests/support/plovd.h"

#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <thread>

#include "tests/support/probe.h"

namespace plov::test {

std::string PlovdPath() { return PLOVD_PATH; }

// Ports are as good as fresh: a process's own, and few at a time.
std::string UriIn(const std::string& folder, const std::string& name) {
  const char* rdma = std::getenv("PLOV_TEST_RDMA");
  const char* address = std::getenv("PLOV_RDMA_ADDRESS");
  if (rdma == nullptr || address == nullptr) return "shm:" + folder + "/" + name;
  static std::atomic<uint32_t> servers = 0;
  const uint32_t number = static_cast<uint32_t>(::getpid()) * 16 + servers.fetch_add(1);
  return "rdma://" + std::string(address) + ":" + std::to_string(20'000 + number % 40'000);
}

Plovd::Plovd(std::vector<std::string> options)
    : uri_(UriIn(folder_.path(), "s.sock")), options_(std::move(options)) {
  Start();
}

void Plovd::Start() {
  std::vector<std::string> arguments = {PlovdPath(), "--listen", uri_};
  arguments.insert(arguments.end(), options_.begin(), options_.end());
  std::filesystem::remove(folder_.path() + "/log");
  child_ = std::make_unique<Child>(Child::Exec(arguments, folder_.path() + "/log"));
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (Log().find("plovd: ready on") == std::string::npos) {
    if (std::chrono::steady_clock::now() > deadline) throw std::runtime_error("no plovd: " + Log());
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
}

void Plovd::Restart(const std::vector<std::string>& more) {
  options_.insert(options_.end(), more.begin(), more.end());
  Start();
}

std::string Plovd::Log() const {
  std::ifstream file(folder_.path() + "/log");
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

Client Plovd::Connect(const ClientOptions& options) const {
  ClientOptions patient = options;
  patient.timeout *= Slowness();
  auto client = Client::Connect(uri_, patient);
  if (!client) throw std::runtime_error("no client: " + client.error().message);
  return std::move(*client);
}

}  // namespace plov::test
