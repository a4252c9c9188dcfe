#include "service/log_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <pthread.h>
#include <spdlog/pattern_formatter.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <system_error>
#include <utility>

#include "fabric/os.h"

namespace plov::service {

namespace {

// What may wait for the disk: thousands of lines.
constexpr size_t kWaitingBytesMax = size_t{1} << 20;
// Between two attempts to say how many lines were dropped.
constexpr std::chrono::seconds kRetryEvery{1};
// What the end of the server waits for a disk that does not answer.
constexpr std::chrono::seconds kEndingMax{2};

std::expected<fabric::Fd, Error> OpenFile(const std::string& path) {
  // A pipe would wait for a reader.
  fabric::Fd fd(::open(path.c_str(),
                       O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, 0640));
  if (!fd) return FailErrno("cannot open --log-output " + path, errno);
  struct stat status;
  if (::fstat(fd.get(), &status) != 0) return FailErrno("cannot look at " + path, errno);
  if (S_ISREG(status.st_mode)) return fd;
  return Fail(Code::kInvalidArgument,
              "--log-output " + path + " is not a regular file: name one, or stderr, or journal");
}

uint64_t LinesIn(std::string_view text) {
  return static_cast<uint64_t>(std::ranges::count(text, '\n'));
}

}  // namespace

// Shared with its thread, which may be left behind in a write that does not end.
class LogFile::Writer {
 public:
  Writer(std::string path, fabric::Fd fd) : path_(std::move(path)), fd_(std::move(fd)) {}

  // Any thread.
  void Add(std::string_view line) {
    {
      const std::lock_guard lock(mutex_);
      if (waiting_.size() + line.size() > kWaitingBytesMax) {
        ++dropped_;
        why_ = "the disk is too slow";
      } else {
        waiting_ += line;
      }
    }
    changed_.notify_one();
  }
  void Reopen() {
    {
      const std::lock_guard lock(mutex_);
      reopens_ = true;
    }
    changed_.notify_one();
  }
  // False: it did not end in time.
  bool Stop() {
    std::unique_lock lock(mutex_);
    stopped_ = true;
    changed_.notify_all();
    return changed_.wait_for(lock, kEndingMax, [this] { return ended_; });
  }

  // The thread.
  void Run() {
    std::unique_lock lock(mutex_);
    while (true) {
      const auto has_work = [this] { return stopped_ || reopens_ || !waiting_.empty(); };
      if (dropped_ > 0) {
        changed_.wait_for(lock, kRetryEvery, has_work);
      } else {
        changed_.wait(lock, has_work);
      }
      const std::string lines = std::exchange(waiting_, {});
      const bool reopens = std::exchange(reopens_, false);
      const uint64_t dropped = dropped_;
      const bool ends = stopped_;
      lock.unlock();
      if (reopens || IsRenamed()) OpenAnew();
      const uint64_t lost = WriteSome(dropped, lines);
      lock.lock();
      dropped_ += lost;  // others may have been counted meanwhile
      dropped_ -= dropped;
      if (ends) break;
    }
    ended_ = true;
    lock.unlock();
    changed_.notify_all();
  }

 private:
  // Of lines dropped before, and these; returns how many are lost.
  uint64_t WriteSome(uint64_t dropped, const std::string& lines) {
    if (dropped > 0 && !Write(CountOf(dropped)).empty()) return dropped + LinesIn(lines);
    const std::string_view rest = Write(lines);
    if (rest.empty()) failing_ = false;
    return LinesIn(rest);
  }

  std::string CountOf(uint64_t dropped) {
    const std::string text =
        fmt::format("{} {} dropped: {} could not be written: {}", dropped,
                    dropped == 1 ? "line was" : "lines were", path_, WhyDropped());
    spdlog::memory_buf_t line;
    formatter_.format({"plovd", spdlog::level::warn, text}, line);
    return fmt::to_string(line);
  }

  std::string WhyDropped() {
    const std::lock_guard lock(mutex_);
    return why_;
  }

  // What could not be written. A line that was cut short is ended before the next.
  std::string_view Write(std::string_view text) {
    static constexpr std::string_view kNewLine = "\n";
    if (text.empty()) return text;
    if (is_cut_ && ::write(fd_.get(), kNewLine.data(), 1) == 1) is_cut_ = false;
    std::string_view rest = text;
    while (!rest.empty() && !is_cut_) {
      const ssize_t written = ::write(fd_.get(), rest.data(), rest.size());
      if (written < 0 && errno == EINTR) continue;
      if (written <= 0) break;
      rest.remove_prefix(static_cast<size_t>(written));
    }
    if (rest.empty()) return rest;
    const int error = errno;
    is_cut_ = is_cut_ || (rest.size() < text.size() && rest.data()[-1] != '\n');
    Fails(std::generic_category().message(error));
    return rest;
  }

  // Said where it may be read, once.
  void Fails(const std::string& why) {
    {
      const std::lock_guard lock(mutex_);
      why_ = why;
    }
    if (!std::exchange(failing_, true)) {
      fmt::print(stderr, "plovd: cannot write --log-output {}: {}; lines are dropped and counted\n",
                 path_, why);
    }
  }

  bool IsRenamed() const {
    struct stat named;
    struct stat opened;
    if (::fstat(fd_.get(), &opened) != 0) return true;
    return ::stat(path_.c_str(), &named) != 0 || named.st_ino != opened.st_ino ||
           named.st_dev != opened.st_dev;
  }

  // Where that fails, the former one goes on.
  void OpenAnew() {
    auto fd = OpenFile(path_);
    if (fd) {
      fd_ = std::move(*fd);
      is_cut_ = false;
      keeps_former_ = false;
      return;
    }
    if (!std::exchange(keeps_former_, true)) {
      fmt::print(stderr, "plovd: {}; the former file is written\n", fd.error().message);
    }
  }

  const std::string path_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::string waiting_;  // under mutex_, as all up to the next empty line
  uint64_t dropped_ = 0;
  std::string why_;  // the last of them
  bool reopens_ = false;
  bool stopped_ = false;
  bool ended_ = false;

  fabric::Fd fd_;  // the thread's, as what follows
  spdlog::pattern_formatter formatter_;
  bool is_cut_ = false;        // the last line
  bool failing_ = false;       // and that was said
  bool keeps_former_ = false;  // likewise, where the file cannot be opened anew
};

std::expected<std::shared_ptr<LogFile>, Error> LogFile::Open(const std::string& path) {
  auto fd = OpenFile(path);
  if (!fd) return std::unexpected(fd.error());
  return std::shared_ptr<LogFile>(new LogFile(std::make_shared<Writer>(path, std::move(*fd))));
}

LogFile::LogFile(std::shared_ptr<Writer> writer)
    : writer_(std::move(writer)), thread_([writer = writer_] { writer->Run(); }) {
  pthread_setname_np(thread_.native_handle(), "plovd-messages");
}

LogFile::~LogFile() {
  if (writer_->Stop()) {
    thread_.join();
  } else {
    thread_.detach();
  }
}

void LogFile::Reopen() { writer_->Reopen(); }

void LogFile::sink_it_(const spdlog::details::log_msg& message) {
  spdlog::memory_buf_t line;
  formatter_->format(message, line);
  writer_->Add(std::string_view(line.data(), line.size()));
}

}  // namespace plov::service
