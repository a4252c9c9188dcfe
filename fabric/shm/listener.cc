// The server's end of the shared-memory fabric: the name, the handshake, the life word.

#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <deque>
#include <filesystem>

#include "fabric/file_lock.h"
#include "fabric/shm/life.h"
#include "fabric/shm/port.h"
#include "fabric/shm/shm.h"

namespace plov::fabric::shm {

namespace {

// Connections that have not said Hello; the oldest is dropped for a new one beyond this, once all
// that have said it are served.
constexpr size_t kPendingMax = 64;

class ShmListener final : public Listener {
 public:
  ShmListener(std::string uri, std::string path, FileLock lock, LifeHolder life,
              const ListenOptions& options)
      : uri_(std::move(uri)),
        path_(std::move(path)),
        lock_(std::move(lock)),
        life_(std::move(life)),
        options_(options) {}

  ~ShmListener() override {
    if (socket_) ::unlink(path_.c_str());
  }

  std::expected<void, Error> Open();

  const std::string& uri() const override { return uri_; }
  Port& port(uint32_t shard) override { return *ports_[shard]; }
  int fd() const override { return epoll_.get(); }
  void HandleEvents() override;

 private:
  std::expected<void, Error> OpenShard(const Exposure& shard);
  std::expected<void, Error> OpenSocket();
  bool Watch(int fd);
  void Accept();
  void RefuseOne();
  static Fd OpenSpare() { return Fd(::open("/dev/null", O_RDONLY | O_CLOEXEC)); }
  void HandleHello(Fd socket, const Hello& hello);
  Code Judge(int socket, const Hello& hello) const;
  bool Serve(Fd* socket, const Hello& hello);

  std::string uri_;
  std::string path_;
  FileLock lock_;
  LifeHolder life_;
  ListenOptions options_;
  Fd epoll_;
  Fd socket_;
  Fd spare_ = OpenSpare();
  std::vector<Fd> region_fds_;  // read-only descriptors for clients
  std::vector<std::unique_ptr<ShmPort>> ports_;
  std::deque<Fd> pending_;
};

std::expected<void, Error> ShmListener::OpenShard(const Exposure& shard) {
  auto read_only = ReopenReadOnly(shard.region_fd);
  if (!read_only) return std::unexpected(read_only.error());
  region_fds_.push_back(std::move(*read_only));
  auto port = ShmPort::Create();
  if (!port) return std::unexpected(port.error());
  ports_.push_back(std::move(*port));
  return {};
}

std::expected<void, Error> ShmListener::OpenSocket() {
  Fd socket(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!socket) return FailErrno("cannot create a socket", errno);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  path_.copy(address.sun_path, sizeof(address.sun_path) - 1);
  // We hold the name: a socket that lies there is left from a server that was killed.
  struct stat status;
  if (::lstat(path_.c_str(), &status) == 0 && !S_ISSOCK(status.st_mode)) {
    return Fail(Code::kInvalidArgument,
                path_ + " is there and is no socket: choose another name with --listen");
  }
  ::unlink(path_.c_str());
  if (::bind(socket.get(), reinterpret_cast<sockaddr*>(&address), sizeof(address)) != 0) {
    return FailErrno("cannot create the socket " + path_, errno);
  }
  socket_ = std::move(socket);  // from here on the destructor unlinks it
  ::chmod(path_.c_str(), 0600);
  if (::listen(socket_.get(), 128) != 0) return FailErrno("cannot listen on " + path_, errno);
  return {};
}

bool ShmListener::Watch(int fd) {
  epoll_event event{.events = EPOLLIN | EPOLLRDHUP, .data = {.fd = fd}};
  return ::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd, &event) == 0;
}

std::expected<void, Error> ShmListener::Open() {
  epoll_ = Fd(::epoll_create1(EPOLL_CLOEXEC));
  if (!epoll_) return FailErrno("cannot create an epoll", errno);
  for (const Exposure& shard : options_.shards) {
    if (auto opened = OpenShard(shard); !opened) return opened;
  }
  if (auto opened = OpenSocket(); !opened) return opened;
  if (!Watch(socket_.get())) return FailErrno("cannot watch the socket", errno);
  return {};
}

// Out of descriptors: the spare one takes the next connection and hangs up, or it would stay at the
// door and keep us awake.
void ShmListener::RefuseOne() {
  spare_ = Fd();
  Fd(::accept4(socket_.get(), nullptr, nullptr, SOCK_CLOEXEC));
  spare_ = OpenSpare();
}

// As many as there is room for, or one for the oldest. The rest stays at the door until those who
// have spoken meanwhile are heard: among many that come at once, nobody is dropped for being served
// late.
void ShmListener::Accept() {
  const size_t count = std::max<size_t>(kPendingMax - pending_.size(), 1);
  for (size_t i = 0; i < count; ++i) {
    Fd fresh(::accept4(socket_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!fresh && (errno == EMFILE || errno == ENFILE)) {
      RefuseOne();
      return;
    }
    if (!fresh) return;
    if (!Watch(fresh.get())) continue;
    if (pending_.size() == kPendingMax) pending_.pop_front();
    pending_.push_back(std::move(fresh));
  }
}

void ShmListener::HandleEvents() {
  std::array<epoll_event, kPendingMax + 1> events;  // all that there can be
  const int count = ::epoll_wait(epoll_.get(), events.data(), static_cast<int>(events.size()), 0);
  bool accepts = false;
  for (int i = 0; i < count; ++i) {
    const int fd = events[static_cast<size_t>(i)].data.fd;
    if (fd == socket_.get()) {
      accepts = true;
      continue;
    }
    const auto it =
        std::ranges::find(pending_, fd, [](const Fd& pending) { return pending.get(); });
    if (it == pending_.end()) continue;
    Fd socket = std::move(*it);
    pending_.erase(it);
    ::epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, fd, nullptr);
    Hello hello;
    if (ReceiveHello(fd, &hello)) HandleHello(std::move(socket), hello);
  }
  // Last: it may drop a pending connection and reuse its number, which an event still names.
  if (accepts) Accept();
}

// The kernel has checked the socket's mode already; credentials say it again where a file system
// does not: root and the server's own user always, others only when the operator has opened the
// socket to its group or to all.
Code ShmListener::Judge(int socket, const Hello& hello) const {
  ucred peer;
  socklen_t bytes = sizeof(peer);
  struct stat status;
  if (::getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &bytes) != 0 ||
      ::stat(path_.c_str(), &status) != 0) {
    return Code::kPermission;
  }
  const bool opened = (status.st_mode & (S_IWGRP | S_IWOTH)) != 0;
  if (peer.uid != 0 && peer.uid != ::geteuid() && !opened) return Code::kPermission;
  if (hello.format_version != options_.format_version) return Code::kProtocol;
  if (hello.shard >= ports_.size()) return Code::kInvalidArgument;
  return Code::kOk;
}

void ShmListener::HandleHello(Fd socket, const Hello& hello) {
  Code status = Judge(socket.get(), hello);
  if (status == Code::kOk) {
    if (Serve(&socket, hello)) return;
    status = Code::kSystem;
  }
  const Welcome refusal{kHandshakeMagic, static_cast<uint32_t>(status), options_.format_version, 0,
                        0};
  SendWelcome(socket.get(), refusal, {});
}

bool ShmListener::Serve(Fd* socket, const Hello& hello) {
  const size_t channel_bytes = Channel::Bytes(options_.staging_bytes);
  auto memory = CreateMemory("plov-channel", channel_bytes);
  if (!memory) return false;
  auto mapping = Mapping::Map(memory->get(), channel_bytes, PROT_READ | PROT_WRITE);
  if (!mapping) return false;
  // The Welcome goes out last: who can READ is known to the port already. It goes through a copy of
  // the socket, since the port may close its own at any time from then on.
  Fd copy(::fcntl(socket->get(), F_DUPFD_CLOEXEC, 0));
  if (!copy) return false;
  const Welcome welcome{kHandshakeMagic, 0, options_.format_version,
                        options_.shards[hello.shard].region.size(), options_.staging_bytes};
  const std::array<int, kHandshakeFds> fds = {region_fds_[hello.shard].get(), life_.fd(),
                                              memory->get()};
  NewPeer peer;
  peer.socket = std::move(*socket);
  peer.channel.mapping = std::move(*mapping);
  peer.client_id = hello.client_id;
  ports_[hello.shard]->Adopt(std::move(peer));
  // A client that gets no Welcome is hung up on, and the port sees it close.
  if (!SendWelcome(copy.get(), welcome, fds)) ::shutdown(copy.get(), SHUT_RDWR);
  return true;
}

}  // namespace

std::expected<std::unique_ptr<Listener>, Error> Listen(std::string_view uri,
                                                       const ListenOptions& options) {
  const auto path = SocketPath(uri);
  if (!path) return std::unexpected(path.error());
  const std::filesystem::path folder = std::filesystem::path(*path).parent_path();
  if (!uri.substr(uri.find(':') + 1).starts_with('/')) {
    std::error_code ignored;  // the lock file's own error says more
    if (std::filesystem::create_directory(folder, ignored)) {
      const mode_t mode = ::geteuid() == 0 ? 0755 : 0700;
      ::chmod(folder.c_str(), mode);
    }
  }
  auto lock = FileLock::Take(
      *path, "another plovd serves " + *path + ": stop it, or choose another name with --listen");
  if (!lock) return std::unexpected(lock.error());
  auto life = LifeHolder::Create();
  if (!life) return std::unexpected(life.error());
  auto listener = std::make_unique<ShmListener>(std::string(uri), *path, std::move(*lock),
                                                std::move(*life), options);
  if (auto opened = listener->Open(); !opened) return std::unexpected(opened.error());
  return listener;
}

}  // namespace plov::fabric::shm
