// The client's end of the shared-memory fabric.

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "fabric/shm/channel.h"
#include "fabric/shm/life.h"
#include "fabric/shm/region_view.h"
#include "fabric/shm/shm.h"
#include "fabric/shm/staging.h"
#include "verify/words.h"

namespace plov::fabric::shm {

namespace {

struct Parts {
  Fd socket;
  RegionView region;
  Channel channel;
  LifeWatch life;
  uint64_t staging_bytes = 0;
};

class ShmConnection final : public Connection {
 public:
  explicit ShmConnection(Parts parts)
      : parts_(std::move(parts)),
        limits_{.region_bytes = parts_.region.bytes(),
                .staging_bytes = parts_.staging_bytes,
                .message_bytes_max = parts_.channel.has_rings() ? kMessageBytesMax : 0,
                .read_depth = kReadDepth},
        requests_(parts_.channel.request_control(), parts_.channel.request_data()),
        replies_(parts_.channel.reply_control(), parts_.channel.reply_data()),
        message_(limits_.message_bytes_max) {}

  const Limits& limits() const override { return limits_; }

  std::span<const std::byte> region() const override { return parts_.region.memory(); }

  // Posting starts to fetch the lines; the copy is made when the completion is polled, so that the
  // misses of a batch overlap.
  size_t Read(std::span<const ReadOp> batch) override {
    const size_t count = std::min(batch.size(), kReadDepth - (posted_ - done_));
    for (const ReadOp& op : batch.first(count)) {
      if (InRange(op) && op.bytes > 0) {
        parts_.region.Prefetch(op.offset, op.bytes);
      }
      queue_[posted_++ % kReadDepth] = op;
    }
    return count;
  }

  size_t Poll(std::span<Completion> completions) override {
    const size_t count = std::min(completions.size(), posted_ - done_);
    for (size_t i = 0; i < count; ++i) {
      const ReadOp& op = queue_[(done_ + i) % kReadDepth];
      completions[i] = {op.tag, Copy(op)};
    }
    done_ += count;
    // Judged after the last word was read: alive now means alive then.
    if (count > 0 && !alive()) {
      for (Completion& completion : completions.first(count)) {
        completion.status = Status::kPeerGone;
      }
    }
    return count;
  }

  bool Send(std::span<const std::byte> message) override {
    if (unanswered_ == kUnansweredMax) return false;
    const auto result = requests_.Write(message);
    if (result == RingWriter::Result::kBroken) broken_ = true;
    if (result != RingWriter::Result::kWritten) return false;
    ++unanswered_;
    if (requests_.TakeSleeper()) WakePeer(parts_.socket.get());
    return true;
  }

  std::optional<std::span<const std::byte>> Receive() override {
    if (armed_) Disarm();
    size_t bytes = 0;
    const auto result = replies_.Read(message_, &bytes);
    if (result == RingReader::Result::kBroken) broken_ = true;
    if (result != RingReader::Result::kMessage) return std::nullopt;
    if (unanswered_ > 0) --unanswered_;
    return std::span<const std::byte>(message_).first(bytes);
  }

  // Who may not write gets none.
  std::expected<std::span<std::byte>, Error> staging() override {
    if (!parts_.channel.has_rings()) return Fail(Code::kPermission, kOnlyReads);
    if (limits_.staging_bytes == 0) return Fail(Code::kPermission, kMayNotWrite);
    if (staging_.bytes().empty()) {
      auto passed = StagingMemory::Pass(parts_.socket.get(), limits_.staging_bytes);
      if (!passed) return std::unexpected(passed.error());
      staging_ = std::move(*passed);
    }
    return staging_.bytes();
  }
  // The closed word pairs with ShmPort::Close.
  bool alive() const override {
    return parts_.life.alive() && parts_.channel.closed()->load(std::memory_order_acquire) == 0 &&
           !broken_ && !hung_up_;
  }
  int fd() const override { return parts_.socket.get(); }

  bool Arm() override {
    if (posted_ != done_ || !alive()) return false;
    armed_ = true;
    return replies_.Sleep();
  }

  bool SleepForMessage(Clock::duration most) override {
    if (posted_ != done_ || !alive()) return false;
    replies_.SleepHere(most);
    return true;
  }

  bool OnPeersCore() override {
    const uint32_t core = ThisCore();
    replies_.ShowCore(core);
    return requests_.ConsumerIsOn(core);
  }

 private:
  bool InRange(const ReadOp& op) const {
    return verify::WordsInside(op.offset, op.bytes, limits_.region_bytes);
  }

  Status Copy(const ReadOp& op) const {
    const bool copied = InRange(op) && parts_.region.Copy(op.offset, op.to, op.bytes);
    return copied ? Status::kDone : Status::kOutOfRange;
  }

  void Disarm() {
    armed_ = false;
    replies_.StayAwake();
    if (!TakeWakes(parts_.socket.get())) hung_up_ = true;
  }

  Parts parts_;
  Limits limits_;
  StagingMemory staging_;  // none until it is asked for
  RingWriter requests_;
  RingReader replies_;
  std::vector<std::byte> message_;
  std::array<ReadOp, kReadDepth> queue_;
  size_t posted_ = 0;
  size_t done_ = 0;
  size_t unanswered_ = 0;
  bool armed_ = false;
  bool broken_ = false;
  bool hung_up_ = false;
};

std::unexpected<Error> ConnectFailed(const std::string& path, int error_number) {
  switch (error_number) {
    case ENOENT:
    case ECONNREFUSED:
      return Fail(Code::kUnavailable,
                  "no server on " + path + ": start plovd, or name another with --server");
    case EACCES:
    case EPERM:
      return Fail(Code::kPermission, "no permission on " + path +
                                         ": run as the server's user, or let its operator open "
                                         "the socket to your group (chmod g+rw)");
    case EAGAIN:
      return Fail(Code::kUnavailable, "the server on " + path + " takes no more connections now");
    default:
      return FailErrno("cannot connect to " + path, error_number);
  }
}

void LimitWaits(int socket, Deadline deadline) {
  const auto left = std::max(std::chrono::microseconds(1000),
                             std::chrono::ceil<std::chrono::microseconds>(deadline - Clock::now()));
  const timeval timeout{.tv_sec = left.count() / 1'000'000, .tv_usec = left.count() % 1'000'000};
  ::setsockopt(socket, SOL_SOCKET, SO_SNDTIMEO, &timeout, sizeof(timeout));
}

// A signal ends a wait that is limited, whatever its handler asks for (signal(7)): it goes on.
std::expected<Fd, Error> ConnectSocket(const std::string& path, Deadline deadline) {
  Fd socket(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
  if (!socket) return FailErrno("cannot create a socket", errno);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  path.copy(address.sun_path, sizeof(address.sun_path) - 1);
  const auto connect = [&] {
    LimitWaits(socket.get(), deadline);
    return ::connect(socket.get(), reinterpret_cast<sockaddr*>(&address), sizeof(address)) == 0;
  };
  while (!connect()) {
    if (errno != EINTR) return ConnectFailed(path, errno);
    if (Clock::now() >= deadline) return ConnectFailed(path, EAGAIN);
  }
  ::fcntl(socket.get(), F_SETFL, O_NONBLOCK);
  return socket;
}

std::expected<void, Error> CheckWelcome(const Welcome& welcome, const ConnectOptions& options) {
  if (welcome.format_version != options.format_version) {
    return Fail(Code::kProtocol, "the server speaks format version " +
                                     std::to_string(welcome.format_version) + ", this client " +
                                     std::to_string(options.format_version) +
                                     ": use the same release of both");
  }
  if (welcome.status == static_cast<uint32_t>(Code::kPermission)) {
    return Fail(Code::kPermission, "the server refuses this user");
  }
  if (welcome.status == static_cast<uint32_t>(Code::kUnavailable)) {
    const auto refusal = static_cast<uint32_t>(welcome.region_bytes);
    return Fail(Code::kUnavailable, RefusalText(refusal, welcome.staging_bytes));
  }
  const std::string shard = "shard " + std::to_string(options.shard);
  if (welcome.status == static_cast<uint32_t>(Code::kNoShard)) {
    return Fail(Code::kNoShard, "the server does not serve " + shard + ": another one may");
  }
  if (welcome.status != 0) {
    return Fail(Code::kProtocol, "the server refuses " + shard + ": use the same release of both");
  }
  return {};
}

std::expected<Parts, Error> Assemble(Fd socket, const Welcome& welcome, HandshakeFds fds,
                                     size_t channel_bytes) {
  Parts parts;
  for (const int fd : {kLifeFd, kChannelFd}) {
    if (!IsFixedMemory(fds[static_cast<size_t>(fd)].get())) {
      return Fail(Code::kProtocol, "the server's memory could be cut short: it is not sealed");
    }
  }
  if (welcome.staging_bytes > kStagingBytesMax) {
    return Fail(Code::kProtocol, "the server's staging memory is larger than any value needs");
  }
  auto region =
      RegionView::Open(std::move(fds[kRegionFd]), welcome.region_bytes, TrustIn(socket.get()));
  if (!region) return std::unexpected(region.error());
  auto channel = Mapping::MapChecked(fds[kChannelFd].get(), channel_bytes, PROT_READ | PROT_WRITE);
  if (!channel) return std::unexpected(channel.error());
  auto life = LifeWatch::Watch(fds[kLifeFd].get());
  if (!life) return std::unexpected(life.error());
  parts.socket = std::move(socket);
  parts.region = std::move(*region);
  parts.channel.mapping = std::move(*channel);
  parts.life = std::move(*life);
  parts.staging_bytes = welcome.staging_bytes;
  return parts;
}

}  // namespace

std::expected<std::unique_ptr<Connection>, Error> Connect(std::string_view uri,
                                                          const ConnectOptions& options) {
  const auto path = SocketPath(uri);
  if (!path) return std::unexpected(path.error());
  auto socket = ConnectSocket(*path, options.deadline);
  if (!socket) return std::unexpected(socket.error());
  const Hello hello{.magic = kHandshakeMagic,
                    .format_version = options.format_version,
                    .shard = static_cast<uint16_t>(options.shard),
                    .flags = FlagsOf(options),
                    .client_id = options.client_id};
  SendHello(socket->get(), hello);  // where that fails, the server may have said why
  AwaitReadable(socket->get(), options.deadline);
  HandshakeFds fds;
  const auto welcome = ReceiveWelcome(socket->get(), &fds);
  if (!welcome) return std::unexpected(welcome.error());
  if (const auto checked = CheckWelcome(*welcome, options); !checked) {
    return std::unexpected(checked.error());
  }
  const size_t channel_bytes = options.reads_only ? Channel::kBytesWithoutRings : Channel::kBytes;
  auto parts = Assemble(std::move(*socket), *welcome, std::move(fds), channel_bytes);
  if (!parts) return std::unexpected(parts.error());
  return std::make_unique<ShmConnection>(std::move(*parts));
}

}  // namespace plov::fabric::shm
