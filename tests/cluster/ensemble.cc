#include "tests/cluster/ensemble.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <string_view>
#include <thread>
#include <vector>

#include "fabric/os.h"

namespace plov::test {

namespace {

constexpr char kJava[] = "/usr/bin/java";
constexpr char kJars[] = "/usr/share/java";
constexpr std::chrono::seconds kReadyLimit{60};
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

sockaddr_in Loopback(uint16_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

// Ports that nobody listens on; they are held until all are chosen.
std::vector<uint16_t> FreePorts(size_t count) {
  std::vector<fabric::Fd> held;
  std::vector<uint16_t> ports;
  for (size_t i = 0; i < count; ++i) {
    held.emplace_back(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in address = Loopback(0);
    socklen_t bytes = sizeof(address);
    ::bind(held.back().get(), reinterpret_cast<sockaddr*>(&address), bytes);
    ::getsockname(held.back().get(), reinterpret_cast<sockaddr*>(&address), &bytes);
    ports.push_back(ntohs(address.sin_port));
  }
  return ports;
}

// What a member answers to a word of four letters; nothing when it does not within half a second.
std::string Ask(uint16_t port, std::string_view word) {
  const fabric::Fd socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const timeval limit{0, 500'000};
  ::setsockopt(socket.get(), SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
  const sockaddr_in address = Loopback(port);
  if (::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0) {
    return "";
  }
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

std::string Ensemble::Missing() {
  if (::access(kJava, X_OK) != 0) return "no java: install default-jre-headless";
  if (!std::filesystem::exists(std::string(kJars) + "/zookeeper.jar")) {
    return "no ZooKeeper: install zookeeper";
  }
  return "";
}

Ensemble::Ensemble() {
  const std::vector<uint16_t> ports = FreePorts(3 * kMembers);
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
    std::filesystem::create_directory(FolderOf(i));
    std::ofstream(FolderOf(i) + "/myid") << i + 1 << "\n";
    std::ofstream(FolderOf(i) + "/log4j.properties")
        << "log4j.rootLogger=WARN, out\nlog4j.appender.out=org.apache.log4j.ConsoleAppender\n"
           "log4j.appender.out.layout=org.apache.log4j.PatternLayout\n"
           "log4j.appender.out.layout.ConversionPattern=%d %p %c{1}: %m%n\n";
    std::ofstream(FolderOf(i) + "/zoo.cfg")
        << "tickTime=200\ninitLimit=50\nsyncLimit=5\ndataDir=" << FolderOf(i)
        << "\nclientPort=" << members_[i].client_port
        << "\nclientPortAddress=127.0.0.1\nadmin.enableServer=false\n4lw.commands.whitelist=srvr\n"
        << servers;
    Start(i);
  }
}

void Ensemble::Start(size_t member) {
  const std::string folder = FolderOf(member);
  members_[member].child = std::make_unique<Child>(
      Child::Exec({kJava, "-Xmx64m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1",
                   "-XX:-UsePerfData", "-cp", folder + Classpath(),
                   "org.apache.zookeeper.server.quorum.QuorumPeerMain", folder + "/zoo.cfg"},
                  folder + "/output"));
}

std::string Ensemble::ModeOf(size_t member) const {
  constexpr std::string_view kMode = "Mode: ";
  const std::string answer = Ask(members_[member].client_port, "srvr");
  const size_t at = answer.find(kMode);
  if (at == std::string::npos) return "";
  const size_t begin = at + kMode.size();
  return answer.substr(begin, answer.find('\n', begin) - begin);
}

std::optional<size_t> Ensemble::Leader() const {
  for (size_t i = 0; i < kMembers; ++i) {
    if (ModeOf(i) == "leader") return i;
  }
  return std::nullopt;
}

bool Ensemble::AwaitReady() const {
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

void Ensemble::SignalAll(int signal) const {
  for (size_t i = 0; i < kMembers; ++i) Signal(i, signal);
}

std::string Ensemble::Uri(size_t first) const {
  std::string uri = "zk://";
  for (size_t i = 0; i < kMembers; ++i) {
    uri += (i == 0 ? "127.0.0.1:" : ",127.0.0.1:") + std::to_string(PortOf((first + i) % kMembers));
  }
  return uri;
}

std::string Ensemble::UriOf(size_t member) const {
  return "zk://127.0.0.1:" + std::to_string(PortOf(member));
}

}  // namespace plov::test
