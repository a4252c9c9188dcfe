#include <fmt/core.h>
#include <plov/client.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <string_view>

#include "client/cli/probes.h"
#include "fabric/shm/shm.h"
#include "fabric/verbs/verbs.h"
#include "verify/counters.h"

namespace plov::cli {

namespace {

const std::string kCluster = "cluster:";

bool Exists(const std::string& path) {
  struct stat status;
  return ::lstat(path.c_str(), &status) == 0;
}

std::string StartCommand(const std::string& uri) {
  return fmt::format("plovd --listen {} &", program::Quoted(uri));
}

// What helps when a server, or what is left of one, is at `path`.
std::string MendOf(Code code, const std::string& uri, const std::string& path) {
  switch (code) {
    case Code::kPermission:
      return program::AsRoot(fmt::format("chmod g+rw {}", program::Quoted(path)));
    case Code::kTimeout:
      return "kill -CONT $(pidof plovd)";
    case Code::kProtocol:
      return "plov --version; plovd --version";
    default:
      return StartCommand(uri);
  }
}

// The same of a server over RDMA, which may be on another machine: there is no file to look at.
std::string MendOfRdma(Code code, const std::string& uri) {
  switch (code) {
    case Code::kProtocol:
      return "plov --version; plovd --version";
    case Code::kInvalidArgument:
      return "plov --server rdma://192.0.2.1:7777 doctor";
    case Code::kTimeout:
      return "kill -CONT $(pidof plovd)  # where it runs";
    case Code::kNoSpace:
      return "ulimit -l unlimited";
    default:
      return StartCommand(uri) + "  # on the machine that has this address";
  }
}

// Whether the server has the memory that it may take.
void ProbeHostLimit(Client* client, Findings* findings) {
  const auto texts = client->ServerStats();
  if (!texts) return;
  for (const std::string& text : *texts) {
    if (!text.contains("\nhost_refuses 1\n")) continue;
    return findings->Problem("server memory",
                             "its host gives it less than --memory: PUTs fail, and its log says "
                             "which file system or limit is full",
                             "df -h; free -m");
  }
}

// Whose server it is; nothing of a single one.
void ProbeMembership(Client* client, Findings* findings) {
  const auto texts = client->ServerStats();
  if (!texts || texts->empty()) return;
  const std::string_view text = texts->front();
  const std::string_view id = verify::TextValue(text, "cluster.id");
  if (id.empty()) return;
  const std::string_view shards = verify::TextValue(text, "cluster.shards");
  findings->Ok("cluster",
               fmt::format("{}, server {}{}{}", id, verify::TextValue(text, "cluster.server"),
                           shards.empty() ? "" : " with shards ", shards));
}

// Whether all servers of the cluster are up: one that answers is enough for a client.
void ProbeAllShards(const std::string& uri, Client* client, Findings* findings) {
  const auto texts = client->ServerStats(Freshness::kAsFound);
  if (texts) return;
  findings->Problem(
      "cluster", texts.error().message,
      fmt::format("plov --server {} stats  # once that server is up", program::Quoted(uri)));
}

// Whether a plovd of this user could make its socket.
void ProbeFolder(const std::string& uri, const std::string& path, Findings* findings) {
  const std::string folder = std::filesystem::path(path).parent_path().string();
  const bool named = uri.find('/') == std::string::npos;  // then plovd makes the last folder
  const std::string above =
      named && !Exists(folder) ? std::filesystem::path(folder).parent_path().string() : folder;
  if (::access(above.c_str(), W_OK | X_OK) == 0) {
    return findings->Ok("socket folder", fmt::format("{}: a plovd can make its socket", folder));
  }
  if (errno == ENOENT) {
    return findings->Problem("socket folder", fmt::format("{} does not exist", above),
                             fmt::format("mkdir -p {}", program::Quoted(above)));
  }
  findings->Note(
      "socket folder",
      fmt::format("{} is not writable for this user: a plovd of this user needs another", above),
      StartCommand("shm:/tmp/plov.sock"));
}

}  // namespace

void ProbeServer(const std::string& uri, std::chrono::microseconds timeout, Findings* findings) {
  ClientOptions options;
  options.timeout = timeout;
  auto client = Client::Connect(uri, options);
  const auto time = client ? client->Ping() : std::unexpected(client.error());
  if (time) {
    findings->Ok("server",
                 fmt::format("{} answers in {:.1f} us, {} shard(s)", uri,
                             static_cast<double>(time->count()) / 1e3, client->shard_count()));
    ProbeMembership(&*client, findings);
    ProbeHostLimit(&*client, findings);
    if (uri.starts_with(kCluster)) return ProbeAllShards(uri, &*client, findings);
    return ProbeReads(uri, timeout, findings);
  }
  const Error& error = time.error();
  if (error.message.ends_with(kCluster + uri)) {
    return findings->Problem(
        "server", error.message,
        fmt::format("plov --server {} doctor", program::Quoted(kCluster + uri)));
  }
  if (fabric::verbs::IsRdma(uri)) {
    // And not on the server's machine.
    const bool here = findings->HasProblem("RDMA") || findings->HasProblem("locked memory");
    return findings->Problem("server", error.message,
                             here ? fmt::format("plov --server {} doctor  # again, when what "
                                                "is wrong here is mended",
                                                program::Quoted(uri))
                                  : MendOfRdma(error.code, uri));
  }
  const auto path = fabric::shm::IsShm(uri) ? fabric::shm::SocketPath(uri) : std::unexpected(error);
  if (!path) return findings->Problem("server", path.error().message, "plov --server shm:default");
  if (error.message.contains("(plov drain)")) {
    return findings->Problem("server", error.message,
                             fmt::format("plov --server {} drain --cancel  # or wait for its end",
                                         program::Quoted(uri)));
  }
  if (error.code == Code::kUnavailable && !Exists(*path)) {
    findings->Note("server", fmt::format("none runs on {} ({})", uri, *path), StartCommand(uri));
    return ProbeFolder(uri, *path, findings);
  }
  findings->Problem("server", error.message, MendOf(error.code, uri, *path));
}

void ProbeRuntimeFolder(const std::string& uri, Findings* findings) {
  constexpr auto kSubject = "XDG_RUNTIME_DIR";
  if (!uri.starts_with("shm:") || uri.starts_with("shm:/")) {
    return findings->Ok(kSubject, "not used: the server is named by a path or an address");
  }
  if (::geteuid() == 0) return findings->Ok(kSubject, "not used: root's sockets are in /run/plov");
  const char* folder = std::getenv(kSubject);
  if (folder == nullptr || folder[0] != '/') {
    return findings->Note(kSubject,
                          fmt::format("not set: sockets are in /tmp/plov-{}; a program that has it "
                                      "set looks elsewhere",
                                      ::geteuid()),
                          "export XDG_RUNTIME_DIR=/run/user/$(id -u)");
  }
  if (::access(folder, W_OK | X_OK) != 0) {
    return findings->Problem(kSubject, fmt::format("{} is not there or not writable", folder),
                             program::AsRoot("loginctl enable-linger $(id -un)"));
  }
  findings->Ok(kSubject, fmt::format("{} is writable", folder));
}

}  // namespace plov::cli
