#include "bench/load/process_pool.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <new>
#include <optional>
#include <string>
#include <thread>
#include <utility>

#include "program/output.h"

namespace plov::bench {

namespace {

constexpr std::chrono::milliseconds kLook{100};
constexpr int64_t kIdleNsMax = 60'000'000'000;
// Until the start is seen by all that sleep for it.
constexpr int64_t kStartNs = 2'000'000;
constexpr std::chrono::microseconds kStartLook{100};

std::string MessageOf(const std::expected<program::Json, Error>& outcome) {
  program::Json message = program::Json::object();
  if (outcome) {
    message["result"] = *outcome;
  } else {
    message["code"] = static_cast<uint16_t>(outcome.error().code);
    message["error"] = outcome.error().message;
  }
  return program::LineOf(message);
}

std::expected<program::Json, Error> ParseMessage(const std::string& text) {
  program::Json message = program::Json::parse(text, nullptr, false);
  if (message.is_discarded()) return Fail(Code::kSystem, "a client's process died");
  if (message.contains("result")) return std::move(message["result"]);
  return Fail(static_cast<Code>(message.at("code").get<uint16_t>()), message.at("error"));
}

class ProcessPool {
 public:
  explicit ProcessPool(const PoolOptions& options) : options_(options) {}
  ProcessPool(const ProcessPool&) = delete;
  ProcessPool& operator=(const ProcessPool&) = delete;
  ~ProcessPool();

  std::expected<void, Error> Start(const MemberWork& work) {
    void* memory =
        ::mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) return FailErrno("cannot map memory to share", errno);
    shared_ = new (memory) Shared{};
    const pid_t parent = ::getpid();
    for (uint32_t index = 0; index < options_.members; ++index) {
      int pipe[2];
      if (::pipe2(pipe, O_CLOEXEC) != 0) return FailErrno("cannot make a pipe", errno);
      const pid_t pid = ::fork();
      if (pid == 0) BeMember(index, pipe[1], parent, work);
      const int error_number = errno;
      ::close(pipe[1]);
      if (pid < 0) {
        ::close(pipe[0]);
        return FailErrno("cannot start a process", error_number);
      }
      members_.push_back({.pid = pid, .pipe = pipe[0]});
    }
    return {};
  }

  std::expected<std::vector<program::Json>, Error> Await() {
    const auto heard = Listen();
    if (options_.after) options_.after();
    if (!heard) return std::unexpected(heard.error());
    if (error_) return std::unexpected(*error_);
    std::vector<program::Json> results;
    for (const Member& member : members_) results.push_back(*ParseMessage(member.text));
    return results;
  }

 private:
  struct Member {
    pid_t pid = -1;
    int pipe = -1;  // -1: it has said all
    std::string text = {};
  };

  [[noreturn]] void BeMember(uint32_t index, int pipe, pid_t parent, const MemberWork& work) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != parent) ::_exit(1);
    const std::string message = MessageOf(work(index, shared_));
    ::_exit(program::WriteAll(pipe, message) == 0 ? 0 : 1);
  }

  // Until every member has said all.
  std::expected<void, Error> Listen() {
    while (true) {
      std::vector<pollfd> polled;
      std::vector<Member*> talking;
      for (Member& member : members_) {
        if (member.pipe < 0) continue;
        polled.push_back({member.pipe, POLLIN, 0});
        talking.push_back(&member);
      }
      if (talking.empty()) return {};
      MayStart();
      const bool started = shared_->start_ns.load(std::memory_order_relaxed) != 0;
      ::poll(polled.data(), polled.size(), started ? static_cast<int>(kLook.count()) : 1);
      for (size_t i = 0; i < polled.size(); ++i) {
        if (polled[i].revents != 0) Hear(talking[i]);
      }
      if (IsIdle()) return Fail(Code::kTimeout, "no client has done anything for a minute");
    }
  }

  void Hear(Member* member) {
    char bytes[64 << 10];
    const ssize_t count = ::read(member->pipe, bytes, sizeof(bytes));
    if (count < 0 && errno == EINTR) return;
    if (count > 0) {
      member->text.append(bytes, static_cast<size_t>(count));
      return;
    }
    ::close(std::exchange(member->pipe, -1));
    // What the others say once one has failed follows from that.
    const auto message = ParseMessage(member->text);
    if (!message && !error_) error_ = message.error();
    if (!message) shared_->stopping.store(1, std::memory_order_relaxed);
  }

  // Once, when all are ready. Pairs with AwaitStart.
  void MayStart() {
    if (shared_->start_ns.load(std::memory_order_relaxed) != 0) return;
    if (shared_->ready.load(std::memory_order_acquire) < options_.members) return;
    if (options_.before) options_.before();
    shared_->start_ns.store(NowNs() + kStartNs, std::memory_order_release);
  }

  bool IsIdle() {
    const uint64_t operations = shared_->operations(options_.members);
    if (options_.progress) options_.progress(operations, shared_->bytes(options_.members));
    if (operations != seen_operations_) seen_at_ = NowNs();
    seen_operations_ = operations;
    return NowNs() - seen_at_ > kIdleNsMax;
  }

  const PoolOptions& options_;
  Shared* shared_ = nullptr;
  std::vector<Member> members_;
  std::optional<Error> error_;
  uint64_t seen_operations_ = 0;
  int64_t seen_at_ = NowNs();
};

ProcessPool::~ProcessPool() {
  for (Member& member : members_) {
    if (member.pipe >= 0) ::close(member.pipe);
    ::kill(member.pid, SIGKILL);
    ::waitpid(member.pid, nullptr, 0);
  }
  if (shared_ != nullptr) ::munmap(shared_, sizeof(Shared));
}

}  // namespace

uint64_t Shared::operations(uint32_t count) const {
  uint64_t sum = 0;
  for (uint32_t i = 0; i < count; ++i) sum += slots[i].operations.load(std::memory_order_relaxed);
  return sum;
}

uint64_t Shared::bytes(uint32_t count) const {
  uint64_t sum = 0;
  for (uint32_t i = 0; i < count; ++i) sum += slots[i].bytes.load(std::memory_order_relaxed);
  return sum;
}

int64_t NowNs() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

int64_t AwaitStart(Shared* shared) {
  shared->ready.fetch_add(1, std::memory_order_release);
  // Pairs with MayStart. The other ones' end, or that of the parent, ends this wait.
  int64_t start = 0;
  while ((start = shared->start_ns.load(std::memory_order_acquire)) == 0 &&
         shared->stopping.load(std::memory_order_relaxed) == 0) {
    std::this_thread::sleep_for(kStartLook);
  }
  while (NowNs() < start) {
  }
  return start == 0 ? NowNs() : start;
}

std::expected<std::vector<program::Json>, Error> RunPool(const PoolOptions& options,
                                                         const MemberWork& work) {
  ProcessPool pool(options);
  if (auto started = pool.Start(work); !started) return std::unexpected(started.error());
  return pool.Await();
}

}  // namespace plov::bench
