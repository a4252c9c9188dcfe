#include "cluster/static_coordinator.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <filesystem>
#include <map>
#include <mutex>
#include <set>
#include <utility>

#include "cluster/fields.h"
#include "cluster/paths.h"
#include "fabric/os.h"

namespace plov::cluster {

namespace {

// More than 16,384 shards need, and deeper than any value.
constexpr size_t kFileBytesMax = size_t{64} << 20;
constexpr int kDepthMax = 16;

// Which file it is, and when it was written to last.
struct Stamp {
  uint64_t device = 0, inode = 0;
  int64_t bytes = 0, seconds = 0, nanoseconds = 0;

  bool operator==(const Stamp&) const = default;
};

Stamp StampOf(const struct stat& status) {
  return {status.st_dev, status.st_ino, status.st_size, status.st_mtim.tv_sec,
          status.st_mtim.tv_nsec};
}

std::expected<std::string, Error> ReadAll(int fd, const std::string& file) {
  std::string text;
  std::array<char, 1 << 16> part;
  while (true) {
    const ssize_t bytes = ::read(fd, part.data(), part.size());
    if (bytes < 0 && errno == EINTR) continue;
    if (bytes < 0) return FailErrno(file, errno);
    if (bytes == 0) return text;
    text.append(part.data(), static_cast<size_t>(bytes));
    if (text.size() > kFileBytesMax) return Fail(Code::kTooLarge, file + ": is larger than 64 MiB");
  }
}

std::expected<std::map<std::string, std::string>, Error> Parse(const std::string& file,
                                                               const std::string& text) {
  Json object;
  bool is_deep = false;
  try {
    object = Json::parse(text, [&is_deep](int depth, Json::parse_event_t, const Json&) {
      is_deep = is_deep || depth > kDepthMax;
      return !is_deep;
    });
  } catch (const Json::parse_error& error) {
    const auto end = text.begin() + static_cast<ptrdiff_t>(std::min(error.byte, text.size()));
    return Fail(Code::kInvalidArgument, fmt::format("{}: line {}: is no JSON", file,
                                                    1 + std::count(text.begin(), end, '\n')));
  }
  if (is_deep || !object.is_object()) {
    return Fail(Code::kInvalidArgument, file + ": is no JSON object of paths and their values");
  }
  std::map<std::string, std::string> values;
  for (const auto& [path, value] : object.items()) {
    if (auto is_path = CheckPath(path); !is_path) {
      return Fail(Code::kInvalidArgument, file + ": " + is_path.error().message);
    }
    values[path] = value.dump();
  }
  return values;
}

class StaticCoordinator : public Coordinator {
 public:
  StaticCoordinator(std::string file, fabric::Fd inotify)
      : file_(std::move(file)),
        inotify_(std::move(inotify)),
        opened_(std::chrono::steady_clock::now()) {}

  // Reads the file if it is another one than before; its values then have greater revisions.
  std::expected<void, Error> Load() {
    const fabric::Fd fd(::open(file_.c_str(), O_RDONLY | O_CLOEXEC));
    if (!fd && errno == ENOENT) return Fail(Code::kNotFound, file_ + ": there is no such file");
    struct stat status;
    if (!fd || ::fstat(fd.get(), &status) != 0) return FailErrno(file_, errno);
    if (StampOf(status) == stamp_) return {};
    const auto text = ReadAll(fd.get(), file_);
    if (!text) return std::unexpected(text.error());
    auto values = Parse(file_, *text);
    if (!values) return std::unexpected(values.error());
    if (*values != values_ || revision_ == 0) ++revision_;
    values_ = std::move(*values);
    stamp_ = StampOf(status);
    return {};
  }

  std::expected<Value, Error> Get(const std::string& path) override {
    const std::scoped_lock lock(mutex_);
    if (auto ready = Ready(path); !ready) return std::unexpected(ready.error());
    const auto found = values_.find(path);
    if (found == values_.end()) return Fail(Code::kNotFound, file_ + " has no \"" + path + "\"");
    return Value{found->second, revision_};
  }

  std::expected<Revision, Error> Set(const std::string&, const std::string&, Revision) override {
    return ReadOnly();
  }
  std::expected<Revision, Error> Create(const std::string&, const std::string&, Lifetime) override {
    return ReadOnly();
  }
  std::expected<void, Error> Delete(const std::string&, Revision) override { return ReadOnly(); }

  std::expected<std::vector<std::string>, Error> List(const std::string& path) override {
    const std::scoped_lock lock(mutex_);
    if (auto ready = path.empty() ? Load() : Ready(path); !ready) {
      return std::unexpected(ready.error());
    }
    std::set<std::string> names;
    for (const auto& [each, _] : values_) {
      if (each == path || !IsBelow(each, path)) continue;
      const std::string rest = each.substr(path.empty() ? 0 : path.size() + 1);
      names.insert(rest.substr(0, rest.find('/')));
    }
    return std::vector<std::string>(names.begin(), names.end());
  }

  void Watch(const std::string& path) override {
    const std::scoped_lock lock(mutex_);
    watched_.insert(path);
  }

  int hint_fd() const override { return inotify_.get(); }

  std::vector<std::string> TakeHints() override {
    const std::scoped_lock lock(mutex_);
    alignas(inotify_event) std::array<char, 4096> events;
    bool has_come = false;
    while (::read(inotify_.get(), events.data(), events.size()) > 0) has_come = true;
    if (!has_come) return {};
    stamp_ = {};  // a file may be written twice within a tick of its clock
    return {watched_.begin(), watched_.end()};
  }

  State state() const override { return {State::Kind::kConnected, opened_, 1}; }

 private:
  std::expected<void, Error> Ready(const std::string& path) {
    if (auto is_path = CheckPath(path); !is_path) return is_path;
    return Load();
  }

  std::unexpected<Error> ReadOnly() const {
    return Fail(Code::kPermission,
                "static:" + file_ +
                    " is changed by an editor alone: there is no fail-over and no "
                    "reconfiguration without ZooKeeper (zk:)");
  }

  const std::string file_;
  const fabric::Fd inotify_;
  const std::chrono::steady_clock::time_point opened_;
  std::mutex mutex_;
  // The rest under mutex_.
  std::map<std::string, std::string> values_;
  Stamp stamp_;
  Revision revision_ = 0;
  std::set<std::string> watched_;
};

}  // namespace

std::expected<std::unique_ptr<Coordinator>, Error> OpenStatic(const std::string& file) {
  // The folder, for an editor replaces the file; any name in it, for the file may be a link to one of them.
  const std::string parent = std::filesystem::path(file).parent_path();
  const std::string folder = parent.empty() ? "." : parent;
  fabric::Fd inotify(::inotify_init1(IN_NONBLOCK | IN_CLOEXEC));
  if (!inotify) return FailErrno("inotify_init", errno);
  constexpr uint32_t kChanges = IN_CLOSE_WRITE | IN_MOVED_TO | IN_MOVED_FROM | IN_DELETE;
  if (::inotify_add_watch(inotify.get(), folder.c_str(), kChanges) < 0) {
    if (errno == ENOENT) return Fail(Code::kNotFound, folder + ": there is no such folder");
    return FailErrno(folder, errno);
  }
  auto opened = std::make_unique<StaticCoordinator>(file, std::move(inotify));
  if (auto loaded = opened->Load(); !loaded) return std::unexpected(loaded.error());
  return opened;
}

}  // namespace plov::cluster
