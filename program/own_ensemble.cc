#include "program/own_ensemble.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "fabric/os.h"
#include "program/loopback.h"

namespace plov::program {

namespace {

constexpr char kJava[] = "/usr/bin/java";
constexpr char kJars[] = "/usr/share/java";
constexpr std::chrono::seconds kReadyLimit{180};
constexpr std::chrono::milliseconds kPause{50};

std::string Classpath() {
  std::string path;
  for (const auto& entry : std::filesystem::directory_iterator(kJars)) {
    const std::string name = entry.path().filename();
    if (name.starts_with("zookeeper") && name.ends_with(".jar"))
      path += ":" + entry.path().string();
  }
  return path;
}

// Ports that nobody listens on; they are held until all are chosen. Fewer: there are no more.
std::vector<uint16_t> FreePorts(size_t count) {
  std::vector<fabric::Fd> held;
  std::vector<uint16_t> ports;
  while (ports.size() < count) {
    held.emplace_back(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    const auto port = BindLoopback(held.back().get());
    if (!port) break;
    ports.push_back(*port);
  }
  return ports;
}

// What a member answers to a word of four letters; nothing when it does not within half a second.
std::string Ask(uint16_t port, std::string_view word) {
  const fabric::Fd socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const timeval limit{0, 500'000};
  ::setsockopt(socket.get(), SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
  if (!ConnectLoopback(socket.get(), port)) return "";
  if (::send(socket.get(), word.data(), word.size(), MSG_NOSIGNAL) < 0) return "";
  std::string answer;
  std::array<char, 4096> part;
  ssize_t bytes;
  while ((bytes = ::recv(socket.get(), part.data(), part.size(), 0)) > 0) {
    answer.append(part.data(), static_cast<size_t>(bytes));
  }
  return answer;
}

}  // namespace

std::string OwnEnsemble::Missing() {
  if (::access(kJava, X_OK) != 0) return "no java: install default-jre-headless";
  if (!std::filesystem::exists(std::string(kJars) + "/zookeeper.jar")) {
    return "no ZooKeeper: install zookeeper";
  }
  return "";
}

std::expected<std::unique_ptr<OwnEnsemble>, Error> OwnEnsemble::Start(const std::string& folder) {
  std::unique_ptr<OwnEnsemble> ensemble(new OwnEnsemble(folder));
  if (auto configured = ensemble->Configure(); !configured) {
    return std::unexpected(configured.error());
  }
  for (size_t i = 0; i < kMembers; ++i) {
    if (auto started = ensemble->Start(i); !started) return std::unexpected(started.error());
  }
  return ensemble;
}

std::expected<void, Error> OwnEnsemble::Configure() {
  const std::vector<uint16_t> ports = FreePorts(3 * kMembers);
  if (ports.size() < 3 * kMembers) return Fail(Code::kSystem, "no free ports on 127.0.0.1");
  std::string servers;
  for (size_t i = 0; i < kMembers; ++i) {
    Member& member = members_[i];
    member.client_port = ports[3 * i];
    member.quorum_port = ports[3 * i + 1];
    member.election_port = ports[3 * i + 2];
    servers += "server." + std::to_string(i + 1) +
               "=127.0.0.1:" + std::to_string(member.quorum_port) + ":" +
               std::to_string(member.election_port) + "\n";
  }
  for (size_t i = 0; i < kMembers; ++i) {
    const std::string folder = FolderOf(i);
    std::error_code failed;
    std::filesystem::create_directory(folder, failed);
    if (failed) return Fail(Code::kSystem, folder + ": " + failed.message());
    std::ofstream(folder + "/myid") << i + 1 << "\n";
    std::ofstream(folder + "/log4j.properties")
        << "log4j.rootLogger=WARN, out\nlog4j.appender.out=org.apache.log4j.ConsoleAppender\n"
           "log4j.appender.out.layout=org.apache.log4j.PatternLayout\n"
           "log4j.appender.out.layout.ConversionPattern=%d %p %c{1}: %m%n\n";
    std::ofstream(folder + "/zoo.cfg")
        << "tickTime=200\ninitLimit=50\nsyncLimit=5\ndataDir=" << folder
        << "\nclientPort=" << members_[i].client_port
        << "\nclientPortAddress=127.0.0.1\nadmin.enableServer=false\n4lw.commands.whitelist=srvr\n"
        << servers;
  }
  return {};
}

std::expected<void, Error> OwnEnsemble::Start(size_t member) {
  const std::string folder = FolderOf(member);
  const fabric::Fd output(
      ::open((folder + "/output").c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600));
  std::vector<std::string> words = {kJava,
                                    "-Xmx64m",
                                    "-XX:+UseSerialGC",
                                    "-XX:TieredStopAtLevel=1",
                                    "-XX:-UsePerfData",
                                    "-cp",
                                    folder + Classpath(),
                                    "org.apache.zookeeper.server.quorum.QuorumPeerMain",
                                    folder + "/zoo.cfg"};
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  // The thread sanitizer, under which tests start it, does not know how Process::Start does it.
  auto started = Process::Fork([&output, &arguments] {
    ::setpgid(0, 0);
    ::dup2(output.get(), STDOUT_FILENO);
    ::dup2(output.get(), STDERR_FILENO);
    ::execv(arguments[0], arguments.data());
    return 127;
  });
  if (!started) return std::unexpected(started.error());
  members_[member].process.emplace(std::move(*started));
  return {};
}

std::expected<void, Error> OwnEnsemble::Wipe() {
  for (size_t i = 0; i < kMembers; ++i) Kill(i);
  for (size_t i = 0; i < kMembers; ++i) {
    std::error_code failed;
    std::filesystem::remove_all(FolderOf(i) + "/version-2", failed);
    if (failed) return Fail(Code::kSystem, FolderOf(i) + ": " + failed.message());
    if (auto started = Start(i); !started) return started;
  }
  return {};
}

std::string OwnEnsemble::ModeOf(size_t member) const {
  constexpr std::string_view kMode = "Mode: ";
  const std::string answer = Ask(members_[member].client_port, "srvr");
  const size_t at = answer.find(kMode);
  if (at == std::string::npos) return "";
  const size_t begin = at + kMode.size();
  return answer.substr(begin, answer.find('\n', begin) - begin);
}

std::optional<size_t> OwnEnsemble::Leader() const {
  for (size_t i = 0; i < kMembers; ++i) {
    if (ModeOf(i) == "leader") return i;
  }
  return std::nullopt;
}

bool OwnEnsemble::AwaitReady() const {
  const auto deadline = std::chrono::steady_clock::now() + kReadyLimit;
  while (std::chrono::steady_clock::now() < deadline) {
    int leaders = 0, followers = 0;
    for (size_t i = 0; i < kMembers; ++i) {
      const std::string mode = ModeOf(i);
      leaders += mode == "leader" ? 1 : 0;
      followers += mode == "follower" ? 1 : 0;
    }
    if (leaders == 1 && followers == kMembers - 1) return true;
    std::this_thread::sleep_for(kPause);
  }
  return false;
}

void OwnEnsemble::StopAll() {
  for (size_t i = 0; i < kMembers; ++i) Stop(i);
}

void OwnEnsemble::ContinueAll() {
  for (size_t i = 0; i < kMembers; ++i) Continue(i);
}

std::string OwnEnsemble::Uri(size_t first) const {
  std::string uri = "zk://";
  for (size_t i = 0; i < kMembers; ++i) {
    uri += (i == 0 ? "127.0.0.1:" : ",127.0.0.1:") + std::to_string(PortOf((first + i) % kMembers));
  }
  return uri;
}

}  // namespace plov::program
