// The server's end of the shared-memory fabric: the name, the handshake, the life word.

#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <algorithm>
#include <cassert>
#include <cerrno>
#include <cstring>
#include <deque>
#include <filesystem>
#include <map>
#include <thread>

#include "fabric/file_lock.h"
#include "fabric/notices.h"
#include "fabric/own_path.h"
#include "fabric/shm/life.h"
#include "fabric/shm/passed_sockets.h"
#include "fabric/shm/port.h"
#include "fabric/shm/shm.h"

namespace plov::fabric::shm {

namespace {

using namespace std::chrono_literals;

// Connections that have not said Hello; the oldest is dropped for a new one beyond this, once all
// that have said it are served.
constexpr size_t kPendingMax = 64;

// How long the socket of a server that is ending may outlive its lock.
constexpr auto kEndingMax = 1s;

// Whether a connection there is accepted, or would be. A server's own lock keeps other servers away; this
// is for who holds a socket without it, and would lose its name.
bool IsListenedTo(const sockaddr_un& address) {
  const Deadline end = Clock::now() + kEndingMax;
  while (true) {
    const Fd probe(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    const int result =
        ::connect(probe.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address));
    if (result != 0 && errno != EAGAIN) return false;
    if (Clock::now() >= end) return true;
    std::this_thread::sleep_for(10ms);
  }
}

RefusalReason RefusalOf(int error_number) {
  if (error_number == EMFILE) return RefusalReason::kDescriptors;
  return error_number == ENFILE ? RefusalReason::kAllDescriptors : RefusalReason::kOther;
}

class ShmListener final : public Listener {
 public:
  ShmListener(std::string uri, std::string path, FileLock lock, LifeHolder life,
              const ListenOptions& options)
      : uri_(std::move(uri)),
        path_(std::move(path)),
        lock_(std::move(lock)),
        life_(std::move(life)),
        options_(options) {}

  std::expected<void, Error> Open();

  const std::string& uri() const override { return uri_; }
  std::expected<Port*, Error> Expose(uint32_t shard, const Exposure& exposure) override;
  void Withdraw(uint32_t shard) override { shards_.erase(shard); }
  Port& port(uint32_t shard) override { return *shards_.at(shard).port; }
  int fd() const override { return epoll_.get(); }
  void HandleEvents() override;
  std::string TakeNotice() override { return notices_.Take(); }

 private:
  struct Shard {
    uint64_t region_bytes;
    Fd region_fd;  // read-only, for clients
    std::unique_ptr<ShmPort> port;
  };
  // A connection that has not said Hello.
  struct Pending {
    Fd socket;
    Deadline deadline;
  };

  std::expected<void, Error> OpenSocket();
  bool Watch(int fd);
  void Accept();
  void RefuseOne(int error_number);
  void DropLate();
  void Refuse(int socket, RefusalReason refusal, const std::string& cause = {});
  static Fd OpenSpare() { return Fd(::open("/dev/null", O_RDONLY | O_CLOEXEC)); }
  void HandleHello(Fd socket, const Hello& hello);
  Code Check(const Person& person, const Hello& hello) const;
  std::expected<void, Error> Serve(Fd* socket, const Shard& shard, NewPeer peer);
  const Access& access() const { return options_.admission->access(); }

  std::string uri_;
  std::string path_;
  FileLock lock_;
  LifeHolder life_;
  ListenOptions options_;
  Fd epoll_;
  Fd timer_;  // runs while a connection is pending
  Fd socket_;
  OwnPath own_path_;  // none of a socket that was passed
  Fd spare_ = OpenSpare();
  std::map<uint32_t, Shard> shards_;  // by number
  std::deque<Pending> pending_;       // oldest first
  bool timer_runs_ = false;
  Notices notices_;
};

std::expected<Port*, Error> ShmListener::Expose(uint32_t shard, const Exposure& exposure) {
  assert(shard <= kShardMax && !shards_.contains(shard));
  auto read_only = ReopenReadOnly(exposure.region_fd);
  if (!read_only) return std::unexpected(read_only.error());
  auto port = ShmPort::Create();
  if (!port) return std::unexpected(port.error());
  Shard exposed{exposure.region.size(), std::move(*read_only), std::move(*port)};
  return shards_.emplace(shard, std::move(exposed)).first->second.port.get();
}

std::expected<void, Error> ShmListener::OpenSocket() {
  if (options_.passed != nullptr) {
    if (auto passed = options_.passed->Claim(path_)) {
      socket_ = std::move(*passed);
      return {};
    }
  }
  Fd socket(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!socket) return FailErrno("cannot create a socket", errno);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  path_.copy(address.sun_path, sizeof(address.sun_path) - 1);
  // We hold the name: a socket that lies there is left from a server that was killed.
  struct stat status;
  if (::lstat(path_.c_str(), &status) == 0 && !S_ISSOCK(status.st_mode)) {
    return Fail(Code::kInvalidArgument,
                path_ + " exists and is not a socket: choose another name with --listen");
  }
  if (IsListenedTo(address)) {
    return Fail(Code::kInUse, "somebody listens on " + path_ +
                                  ", perhaps systemd for a .socket unit: stop that, or choose "
                                  "another name with --listen");
  }
  ::unlink(path_.c_str());
  ::fchmod(socket.get(), 0600);  // the file that bind creates has the mode of the socket
  if (::bind(socket.get(), reinterpret_cast<sockaddr*>(&address), sizeof(address)) != 0) {
    return FailErrno("cannot create the socket " + path_, errno);
  }
  socket_ = std::move(socket);
  own_path_ = OwnPath(path_);
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
  for (uint32_t shard = 0; shard < options_.shards.size(); ++shard) {
    if (auto exposed = Expose(shard, options_.shards[shard]); !exposed) {
      return std::unexpected(exposed.error());
    }
  }
  auto timer = CreateTimerFd();
  if (!timer) return std::unexpected(timer.error());
  timer_ = std::move(*timer);
  if (auto opened = OpenSocket(); !opened) return opened;
  if (!Watch(socket_.get()) || !Watch(timer_.get()))
    return FailErrno("cannot watch the socket", errno);
  return {};
}

// Out of descriptors: the spare one takes the next connection to say so, or it would stay at the
// door and keep us awake.
void ShmListener::RefuseOne(int error_number) {
  spare_ = Fd();
  if (const Fd fresh(::accept4(socket_.get(), nullptr, nullptr, SOCK_CLOEXEC)); fresh) {
    Refuse(fresh.get(), RefusalOf(error_number));
  }
  spare_ = OpenSpare();
}

void ShmListener::Refuse(int socket, RefusalReason refusal, const std::string& cause) {
  const Welcome welcome{kHandshakeMagic, static_cast<uint32_t>(Code::kUnavailable),
                        options_.format_version, static_cast<uint64_t>(refusal),
                        options_.admission->LimitOf(refusal)};
  SendWelcome(socket, welcome, {});
  notices_.Add(options_.admission->CountRefusal(refusal, UserOf(socket), cause));
}

void ShmListener::DropLate() {
  if (!ClearEvent(timer_.get())) return;
  while (!pending_.empty() && pending_.front().deadline <= Clock::now()) pending_.pop_front();
}

// As many as there is room for, or one for the oldest. The rest stays at the door until those who
// have spoken meanwhile are heard: among many that come at once, nobody is dropped for being served
// late.
void ShmListener::Accept() {
  const size_t count = std::max<size_t>(kPendingMax - pending_.size(), 1);
  for (size_t i = 0; i < count; ++i) {
    Fd fresh(::accept4(socket_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!fresh && (errno == EMFILE || errno == ENFILE)) return RefuseOne(errno);
    if (!fresh) return;
    if (!Watch(fresh.get())) continue;
    if (pending_.size() == kPendingMax) pending_.pop_front();
    pending_.push_back({std::move(fresh), Clock::now() + options_.hello_time});
  }
}

void ShmListener::HandleEvents() {
  std::array<epoll_event, kPendingMax + 2> events;  // all that there can be
  const int count = ::epoll_wait(epoll_.get(), events.data(), static_cast<int>(events.size()), 0);
  bool accepts = false;
  for (int i = 0; i < count; ++i) {
    const int fd = events[static_cast<size_t>(i)].data.fd;
    if (fd == socket_.get()) {
      accepts = true;
      continue;
    }
    const auto it = std::ranges::find(pending_, fd,
                                      [](const Pending& pending) { return pending.socket.get(); });
    if (it == pending_.end()) continue;
    Fd socket = std::move(it->socket);
    pending_.erase(it);
    ::epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, fd, nullptr);
    Hello hello;
    if (ReceiveHello(fd, &hello)) HandleHello(std::move(socket), hello);
  }
  // Last: they may drop a pending connection and reuse its number, which an event still names.
  DropLate();
  if (accepts) Accept();
  const bool waits = !pending_.empty();
  if (waits != timer_runs_) SetTimer(timer_.get(), waits ? options_.hello_time / 4 : 0ms);
  timer_runs_ = waits;
}

// The kernel has checked the socket's mode already; credentials say it again where a file system
// does not: root and the server's own user always, others only when the operator has opened the
// socket to its group or to all.
Code ShmListener::Check(const Person& person, const Hello& hello) const {
  struct stat status;
  if (!person.user || access().Of(person) == Right::kNone) return Code::kPermission;
  if (::stat(path_.c_str(), &status) != 0) return Code::kPermission;
  const bool opened = (status.st_mode & (S_IWGRP | S_IWOTH)) != 0;
  if (person.user != uid_t{0} && person.user != ::geteuid() && !opened) return Code::kPermission;
  if (hello.format_version != options_.format_version || (hello.flags & ~kHelloFlags) != 0) {
    return Code::kProtocol;
  }
  return shards_.contains(hello.shard) ? Code::kOk : Code::kNoShard;
}

void ShmListener::HandleHello(Fd socket, const Hello& hello) {
  const Person person = PersonOf(socket.get());
  const Code status = Check(person, hello);
  if (status != Code::kOk) {
    const Welcome refusal{kHandshakeMagic, static_cast<uint32_t>(status), options_.format_version,
                          0, 0};
    SendWelcome(socket.get(), refusal, {});
    return;
  }
  auto place = options_.admission->Admit(hello.shard, person.user,
                                         options_.admission->RoleOf(person, hello.flags));
  if (!place) return Refuse(socket.get(), place.error());
  errno = 0;
  const bool reads_only = ReadsOnly(hello.flags);
  NewPeer peer{.socket = {},
               .channel = {},
               .client_id = reads_only ? 0 : hello.client_id,
               .user = person.user,
               .may_write = MayWrite(hello.flags) && access().Of(person) == Right::kWrite,
               .reads_only = reads_only,
               .never_writes = NeverWrites(hello.flags),
               .staging_bytes = 0,
               .place = std::move(*place)};
  if (peer.may_write) peer.staging_bytes = options_.staging_bytes;
  const auto served = Serve(&socket, shards_.at(hello.shard), std::move(peer));
  if (!served) Refuse(socket.get(), RefusalOf(errno), served.error().message);
}

std::expected<void, Error> ShmListener::Serve(Fd* socket, const Shard& shard, NewPeer peer) {
  const size_t bytes = peer.reads_only ? Channel::kBytesWithoutRings : Channel::kBytes;
  auto memory = CreateMemory("plov-channel", bytes);
  if (!memory) return std::unexpected(memory.error());
  auto mapping = Mapping::Map(memory->get(), bytes, PROT_READ | PROT_WRITE);
  if (!mapping) return std::unexpected(mapping.error());
  // The Welcome goes out last: who can READ is known to the port already. It goes through a copy of
  // the socket, since the port may close its own at any time from then on.
  Fd copy(::fcntl(socket->get(), F_DUPFD_CLOEXEC, 0));
  if (!copy) return FailErrno("cannot copy a socket", errno);
  const Welcome welcome{kHandshakeMagic, 0, options_.format_version, shard.region_bytes,
                        peer.staging_bytes};
  const std::array<int, kHandshakeFds> fds = {shard.region_fd.get(), life_.fd(), memory->get()};
  peer.socket = std::move(*socket);
  peer.channel.mapping = std::move(*mapping);
  shard.port->Adopt(std::move(peer));
  // A client that gets no Welcome is hung up on, and the port sees it close.
  if (!SendWelcome(copy.get(), welcome, fds)) ::shutdown(copy.get(), SHUT_RDWR);
  return {};
}

}  // namespace

std::expected<std::unique_ptr<Listener>, Error> Listen(std::string_view uri,
                                                       const ListenOptions& options) {
  const auto path = SocketPath(uri);
  if (!path) return std::unexpected(path.error());
  const std::filesystem::path folder = std::filesystem::path(*path).parent_path();
  if (!uri.substr(uri.find(':') + 1).starts_with('/')) {
    // The lock file's own error says more. Nobody else enters before the mode is final.
    if (::mkdir(folder.c_str(), 0700) == 0 && ::geteuid() == 0) ::chmod(folder.c_str(), 0755);
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
