#include "bench/load/process_pool.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <new>
#include <optional>
#include <string>
#include <thread>
#include <utility>

#include "fabric/os.h"
#include "program/output.h"
#include "program/process.h"

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
  ~ProcessPool() {
    members_.clear();
    if (shared_ != nullptr) ::munmap(shared_, sizeof(Shared));
  }

  std::expected<void, Error> Start(const MemberWork& work) {
    void* memory =
        ::mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) return FailErrno("cannot map memory to share", errno);
    shared_ = new (memory) Shared{};
    for (uint32_t index = 0; index < options_.clients; ++index) {
      std::array<int, 2> ends{};
      if (::pipe2(ends.data(), O_CLOEXEC) != 0) return FailErrno("cannot make a pipe", errno);
      fabric::Fd pipe(ends[0]);
      const fabric::Fd own_end(ends[1]);
      auto process = program::Process::Fork([&] {
        return program::WriteAll(own_end.get(), MessageOf(work(index, shared_))) == 0 ? 0 : 1;
      });
      if (!process) return std::unexpected(process.error());
      members_.push_back({.process = std::move(*process), .pipe = std::move(pipe)});
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
    program::Process process;
    fabric::Fd pipe;  // none: it has said all
    std::string text = {};
  };

  // Until every member has said all.
  std::expected<void, Error> Listen() {
    while (true) {
      std::vector<pollfd> polled;
      std::vector<Member*> talking;
      for (Member& member : members_) {
        if (!member.pipe) continue;
        polled.push_back({member.pipe.get(), POLLIN, 0});
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
    const ssize_t count = ::read(member->pipe.get(), bytes, sizeof(bytes));
    if (count < 0 && errno == EINTR) return;
    if (count > 0) {
      member->text.append(bytes, static_cast<size_t>(count));
      return;
    }
    member->pipe = fabric::Fd();
    // What the others say once one has failed follows from that.
    const auto message = ParseMessage(member->text);
    if (!message && !error_) error_ = message.error();
    if (!message) shared_->stopping.store(1, std::memory_order_relaxed);
  }

  // Once, when all are ready. Pairs with AwaitStart.
  void MayStart() {
    if (shared_->start_ns.load(std::memory_order_relaxed) != 0) return;
    if (shared_->ready.load(std::memory_order_acquire) < options_.clients) return;
    if (options_.before) options_.before();
    shared_->start_ns.store(NowNs() + kStartNs, std::memory_order_release);
  }

  bool IsIdle() {
    const uint64_t operations = shared_->Sum(&MemberCounts::operations, options_.clients);
    if (options_.progress) {
      options_.progress(operations, shared_->Sum(&MemberCounts::bytes, options_.clients));
    }
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

}  // namespace

uint64_t Shared::Sum(std::atomic<uint64_t> MemberCounts::*member, uint32_t count) const {
  uint64_t sum = 0;
  for (uint32_t i = 0; i < count; ++i) {
    sum += (counts[i].*member).load(std::memory_order_relaxed);
  }
  return sum;
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
