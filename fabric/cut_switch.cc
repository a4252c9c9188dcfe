#include "fabric/cut_switch.h"

#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstring>
#include <deque>
#include <stdexcept>
#include <thread>
#include <vector>

namespace plov::fabric {

namespace {

using std::chrono::milliseconds;

// How often a sleeper looks whether its hosts are cut off.
constexpr milliseconds kLookPeriod{5};
// Messages that wait for the hosts to be healed; a fabric takes no more without a reply.
constexpr size_t kHeldMessagesMax = 4;

// Two hosts, as a connection sees them.
struct Wire {
  const CutTable* table;
  HostId one, other;

  uint32_t turns() const { return table->Turns(one, other); }
  bool is_cut() const { return table->IsCut(one, other); }
};

template <typename T>
T OrThrow(std::expected<T, Error> made) {
  if (!made) throw std::runtime_error(made.error().message);
  return std::move(*made);
}

class CutConnection final : public Connection {
 public:
  CutConnection(std::unique_ptr<Connection> real, const Wire& wire, uint32_t turns,
                Clock::duration dies_after)
      : real_(std::move(real)), wire_(wire), turns_(turns), dies_after_(dies_after) {
    SetTimer(timer_.get(), kLookPeriod);
  }

  const Limits& limits() const override { return real_->limits(); }
  std::span<const std::byte> region() const override {
    return dies_at_once() ? real_->region() : std::span<const std::byte>();
  }

  size_t Read(std::span<const ReadOp> batch) override {
    const size_t count = std::min<size_t>(batch.size(), limits().read_depth - reads_.size());
    reads_.insert(reads_.end(), batch.begin(), batch.begin() + static_cast<ptrdiff_t>(count));
    Look();
    return count;
  }

  size_t Poll(std::span<Completion> completions) override {
    Look();
    if (dead_) return EndReads(completions);
    if (wire_.is_cut()) return 0;
    const size_t count = real_->Poll(completions);
    for (const Completion& done : completions.first(count)) {
      reads_.erase(std::ranges::find(reads_, done.tag, &ReadOp::tag));
    }
    posted_ -= count;
    return count;
  }

  bool Send(std::span<const std::byte> message) override {
    Look();
    if (dead_ || limits().message_bytes_max == 0) return false;
    if (!wire_.is_cut() && held_.empty()) {
      if (!real_->Send(message)) return false;
    } else {
      if (held_.size() == kHeldMessagesMax) return false;
      held_.emplace_back(message.begin(), message.end());
    }
    ++unanswered_;
    return true;
  }

  std::optional<std::span<const std::byte>> Receive() override {
    ClearEvent(timer_.get());
    Look();
    if (dead_ || wire_.is_cut()) return std::nullopt;
    const auto message = real_->Receive();
    if (message && unanswered_ > 0) --unanswered_;
    return message;
  }

  std::expected<std::span<std::byte>, Error> staging() override { return real_->staging(); }

  bool alive() const override {
    if (dead_ || (dies_at_once() && wire_.turns() != turns_)) return false;
    return wire_.is_cut() || real_->alive();
  }

  int fd() const override { return epoll_.get(); }
  // What comes while the hosts are cut off wakes nobody.
  bool Arm() override {
    Look();
    if (dead_) return false;
    const bool is_cut = wire_.is_cut();
    epoll_event event{.events = is_cut ? 0u : EPOLLIN, .data = {}};
    ::epoll_ctl(epoll_.get(), EPOLL_CTL_MOD, real_->fd(), &event);
    return is_cut || real_->Arm();
  }

 private:
  bool dies_at_once() const { return dies_after_ == Clock::duration::zero(); }

  // Sends what is held up, or notices that the connection is dead.
  void Look() {
    const uint32_t turns = wire_.turns();
    if (turns % 2 == 0) Forward();
    if (std::exchange(turns_, turns) == turns) {
      const bool waits = turns % 2 == 1 && (!reads_.empty() || unanswered_ > 0);
      if (!waits) waits_since_.reset();
      if (waits && !waits_since_) waits_since_ = Clock::now();
      if (waits_since_ && Clock::now() - *waits_since_ >= dies_after_) dead_ = true;
    } else {
      waits_since_.reset();
      dead_ = dead_ || dies_at_once();
    }
  }

  void Forward() {
    if (dead_) return;
    for (; posted_ < reads_.size() && real_->Read({&reads_[posted_], 1}) == 1; ++posted_) continue;
    while (!held_.empty() && real_->Send(held_.front())) held_.pop_front();
  }

  size_t EndReads(std::span<Completion> completions) {
    const size_t count = std::min(completions.size(), reads_.size());
    for (size_t i = 0; i < count; ++i) completions[i] = {reads_[i].tag, Status::kPeerGone};
    reads_.erase(reads_.begin(), reads_.begin() + static_cast<ptrdiff_t>(count));
    return count;
  }

  std::unique_ptr<Connection> real_;
  Wire wire_;
  uint32_t turns_;  // when it was looked at last
  Clock::duration dies_after_;
  std::optional<Clock::time_point> waits_since_;
  bool dead_ = false;
  std::vector<ReadOp> reads_;  // that have no completion
  size_t posted_ = 0;          // of them, the first
  std::deque<std::vector<std::byte>> held_;
  size_t unanswered_ = 0;  // messages
  Fd timer_ = OrThrow(CreateTimerFd());
  Fd epoll_ = OrThrow(CreateEpoll({timer_.get(), real_->fd()}));
};

}  // namespace

struct CutFile::Content {
  std::array<std::array<char, kNameBytes>, CutTable::kHostsMax> names;
  CutTable table;
};

CutFile::Content* CutFile::content() const {
  return reinterpret_cast<Content*>(mapping_.bytes().data());
}

CutTable* CutFile::table() const { return &content()->table; }

std::optional<HostId> CutFile::Find(std::string_view name) const {
  const auto& names = content()->names;
  for (HostId host = 0; host < names.size(); ++host) {
    const auto& other = names[host];
    if (!name.empty() &&
        name == std::string_view(other.data(), ::strnlen(other.data(), kNameBytes)))
      return host;
  }
  return std::nullopt;
}

std::expected<CutFile, Error> CutFile::Create(const std::string& path,
                                              std::span<const std::string> names) {
  if (names.size() > CutTable::kHostsMax ||
      std::ranges::any_of(names, [](const auto& name) { return name.size() > kNameBytes; })) {
    return Fail(Code::kInvalidArgument, path + ": too many hosts, or too long names");
  }
  const Fd fd(::open(path.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
  if (!fd || ::ftruncate(fd.get(), sizeof(Content)) != 0) {
    return FailErrno(path, errno);
  }
  auto file = Open(path);
  if (!file) return file;
  for (size_t i = 0; i < names.size(); ++i) {
    std::ranges::copy(names[i], file->content()->names[i].begin());
  }
  return file;
}

std::expected<CutFile, Error> CutFile::Open(const std::string& path) {
  const Fd fd(::open(path.c_str(), O_RDWR | O_CLOEXEC));
  struct stat file {};
  if (!fd || ::fstat(fd.get(), &file) != 0) {
    return FailErrno(path, errno);
  }
  if (file.st_size != sizeof(Content)) {
    return Fail(Code::kInvalidArgument, path + " is no file of cuts");
  }
  auto mapping = Mapping::Map(fd.get(), sizeof(Content), PROT_READ | PROT_WRITE);
  if (!mapping) return std::unexpected(mapping.error());
  return CutFile(std::move(*mapping));
}

std::expected<std::unique_ptr<Connection>, Error> CutSwitch::Connect(
    HostId host, std::string_view uri, const ConnectOptions& options) const {
  const Wire wire{table_, mine_, host};
  const auto cut_off = [&] { return Fail(Code::kTimeout, "cut off from " + std::string(uri)); };
  while (wire.is_cut()) {
    if (Clock::now() >= options.deadline) return cut_off();
    std::this_thread::sleep_for(milliseconds(1));
  }
  const uint32_t turns = wire.turns();
  auto real = connector_(uri, options);
  if (wire.turns() != turns) return cut_off();
  if (!real) return real;
  return std::make_unique<CutConnection>(std::move(*real), wire, turns, dies_after_);
}

}  // namespace plov::fabric
