#include "tests/support/plovd.h"

#include <chrono>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <thread>

namespace plov::test {

std::string PlovdPath() { return PLOVD_PATH; }

Plovd::Plovd(std::vector<std::string> options) : options_(std::move(options)) {
  uri_ = "shm:" + folder_.path() + "/s.sock";
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

void Plovd::Restart() { Start(); }

std::string Plovd::Log() const {
  std::ifstream file(folder_.path() + "/log");
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

Client Plovd::Connect(const ClientOptions& options) const {
  auto client = Client::Connect(uri_, options);
  if (!client) throw std::runtime_error("no client: " + client.error().message);
  return std::move(*client);
}

}  // namespace plov::test
