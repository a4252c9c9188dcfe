#include <fmt/format.h>

#include <algorithm>
#include <future>
#include <limits>
#include <memory>
#include <mutex>
#include <utility>

#include "cluster/paths.h"
#include "cluster/zk/addresses.h"
#include "cluster/zk/auth_file.h"
#include "cluster/zk/notices.h"
#include "cluster/zk/replies.h"
#include "cluster/zk/session.h"
#include "cluster/zk/zk.h"

namespace plov::cluster {

namespace {

using namespace zk;
using Promise = std::promise<Reply>;
using Clock = std::chrono::steady_clock;

const std::string kNoData;

// A revision is a node's dataVersion, of 32 bits; -1 would stand for any.
std::expected<void, Error> CheckVersion(const std::string& path, Revision revision) {
  if (revision >= 0 && revision <= std::numeric_limits<int32_t>::max()) return {};
  return Fail(Code::kInvalidArgument,
              fmt::format("{}: {} is not a revision that ZooKeeper gives", path, revision));
}

// The library takes an int, and divides it.
std::expected<void, Error> CheckTimes(const Options& options) {
  using std::chrono::milliseconds;
  constexpr milliseconds kMin{1}, kSessionMin{100}, kMax{600'000};
  const bool are_sane = options.timeout >= kMin && options.timeout <= kMax &&
                        options.session_timeout >= kSessionMin && options.session_timeout <= kMax;
  if (are_sane) return {};
  return Fail(
      Code::kInvalidArgument,
      "a call of ZooKeeper takes 1 ms to 10 minutes, a session ends after 100 ms to 10 minutes");
}

class ZkCoordinator : public Coordinator {
 public:
  ZkCoordinator(Place place, const Options& options, std::string credentials, fabric::Fd event)
      : place_(std::move(place)),
        options_(options),
        credentials_(std::move(credentials)),
        notices_(std::move(event)) {}

  // Begins the first session, and sees to the root.
  std::expected<void, Error> Start();

  std::expected<Value, Error> Get(const std::string& path) override;
  std::expected<Revision, Error> Set(const std::string& path, const std::string& data,
                                     Revision revision) override;
  std::expected<Revision, Error> Create(const std::string& path, const std::string& data,
                                        Lifetime lifetime) override;
  std::expected<void, Error> Delete(const std::string& path, Revision revision) override;
  std::expected<std::vector<std::string>, Error> List(const std::string& path) override;

  void Watch(const std::string& path) override { notices_.Watch(path); }
  int hint_fd() const override { return notices_.fd(); }
  std::vector<std::string> TakeHints() override { return notices_.TakeHints(); }
  State state() const override { return notices_.state(); }

 private:
  // A look at a node that may not be there; then its creation is watched for.
  template <typename Submit>
  std::expected<Reply, Error> Look(const std::string& path, const Submit& submit);
  // submit(handle, promise): makes an asynchronous call about `full_path`, and returns the library's code for it.
  template <typename Submit>
  std::expected<Reply, Error> Call(Kind kind, const std::string& full_path,
                                   Clock::time_point deadline, const Submit& submit);
  std::expected<void, Error> AwaitConnection(Clock::time_point deadline);
  std::expected<void, Error> BeginSession();
  bool IsOver(const State& session) const;

  struct Node {
    std::string full_path;
    const std::string& data;
    const ACL_vector& acl;
    Lifetime lifetime;
  };
  std::expected<void, Error> CreateNode(const Node& node, Clock::time_point deadline);
  std::expected<void, Error> CreateAbove(const std::string& path, Clock::time_point deadline);
  std::expected<void, Error> CheckRoot(Clock::time_point deadline);
  std::expected<void, Error> CreateRoot(Clock::time_point deadline);

  Clock::time_point Deadline() const { return Clock::now() + options_.timeout; }
  std::string FullPath(const std::string& path) const {
    return path.empty() ? place_.root : place_.root + "/" + path;
  }
  const ACL_vector& acl() const {
    return credentials_.empty() ? ZOO_OPEN_ACL_UNSAFE : ZOO_CREATOR_ALL_ACL;
  }

  const Place place_;
  const Options options_;
  const std::string credentials_;
  Notices notices_;  // outlives the session
  std::mutex calls_mutex_;
  // Under calls_mutex_, as is every call into the library.
  std::string addresses_;
  std::unique_ptr<Session> session_;
};

std::expected<void, Error> ZkCoordinator::Start() {
  {
    const std::scoped_lock lock(calls_mutex_);
    if (auto begun = BeginSession(); !begun) return begun;
  }
  const auto deadline = Deadline();  // not of the name service
  if (auto connected = AwaitConnection(deadline); !connected) return connected;
  const auto is_there = CheckRoot(deadline);
  const bool is_absent = !is_there && is_there.error().code == Code::kNotFound;
  return is_absent && options_.creates_root ? CreateRoot(deadline) : is_there;
}

std::expected<void, Error> ZkCoordinator::CheckRoot(Clock::time_point deadline) {
  const auto root = Call(Kind::kRead, place_.root, deadline, [this](auto* handle, auto* promise) {
    return zoo_aget(handle, place_.root.c_str(), 0, OnData, promise);
  });
  if (root) return {};
  if (root.error().code != Code::kNotFound) return std::unexpected(root.error());
  return Fail(Code::kNotFound, "ZooKeeper has no " + place_.root +
                                   ": create the cluster first, or correct the root in the URI");
}

// What is above the root may belong to other clusters, of other users: it is open to all.
std::expected<void, Error> ZkCoordinator::CreateRoot(Clock::time_point deadline) {
  for (size_t end = 0; end != std::string::npos;) {
    end = place_.root.find('/', end + 1);
    const bool is_root = end == std::string::npos;
    const ACL_vector& node_acl = is_root ? acl() : ZOO_OPEN_ACL_UNSAFE;
    const auto created = CreateNode(
        {place_.root.substr(0, end), kNoData, node_acl, Lifetime::kPersistent}, deadline);
    if (!created && created.error().code != Code::kExists) return created;
  }
  return {};
}

// calls_mutex_ is held.
std::expected<void, Error> ZkCoordinator::BeginSession() {
  session_.reset();
  if (const auto addresses = LookUp(place_.hosts)) {
    addresses_ = *addresses;
  } else if (addresses_.empty()) {
    return std::unexpected(addresses.error());
  }
  auto session = Session::Begin({.addresses = addresses_,
                                 .root = place_.root,
                                 .timeout = options_.session_timeout,
                                 .credentials = credentials_,
                                 .log = options_.log},
                                &notices_);
  if (!session) return std::unexpected(session.error());
  session_ = std::move(*session);
  return {};
}

// The library hears of a session's end when it connects again, which an ensemble refuses for ever whose data are older than
// what the session has seen: made anew, or restored.
bool ZkCoordinator::IsOver(const State& session) const {
  if (session.kind != State::Kind::kDisconnected) return session.kind == State::Kind::kSessionEnded;
  return Clock::now() - session.since > 2 * options_.session_timeout;
}

std::expected<void, Error> ZkCoordinator::AwaitConnection(Clock::time_point deadline) {
  std::string addresses;
  do {
    {
      const std::scoped_lock lock(calls_mutex_);
      if (session_ == nullptr || IsOver(notices_.state())) {
        if (auto begun = BeginSession(); !begun) return begun;
      }
      addresses = addresses_;
    }
    if (notices_.Await(deadline) == State::Kind::kConnected) return {};
  } while (Clock::now() < deadline);
  return Fail(Code::kUnavailable,
              fmt::format("no ZooKeeper that is part of a quorum answers at {} within {} ms",
                          addresses, options_.timeout.count()));
}

template <typename Submit>
std::expected<Reply, Error> ZkCoordinator::Call(Kind kind, const std::string& full_path,
                                                Clock::time_point deadline, const Submit& submit) {
  while (true) {
    if (auto connected = AwaitConnection(deadline); !connected) {
      return std::unexpected(connected.error());
    }
    auto promise = std::make_unique<Promise>();
    std::future<Reply> future = promise->get_future();
    const int taken = [&] {
      const std::scoped_lock lock(calls_mutex_);
      return session_ == nullptr ? ZINVALIDSTATE : submit(session_->handle(), promise.get());
    }();
    if (taken == ZINVALIDSTATE && Clock::now() < deadline) continue;
    // Nothing was sent: as certain as of a read.
    if (taken != ZOK) return std::unexpected(ErrorOf(taken, Kind::kRead, full_path));
    static_cast<void>(promise.release());  // the completion's
    if (future.wait_until(deadline) != std::future_status::ready) {
      const std::string why = full_path + ": ZooKeeper does not answer";
      if (kind == Kind::kRead) return Fail(Code::kTimeout, why);
      return Fail(Code::kUnknown, why + "; whether it was written is not known");
    }
    Reply reply = future.get();
    if (reply.rc == ZOK) return reply;
    const bool may_repeat = kind == Kind::kRead && IsLost(reply.rc) && Clock::now() < deadline;
    if (!may_repeat) return std::unexpected(ErrorOf(reply.rc, kind, full_path));
  }
}

template <typename Submit>
std::expected<Reply, Error> ZkCoordinator::Look(const std::string& path, const Submit& submit) {
  const std::string full_path = FullPath(path);
  const auto deadline = Deadline();
  while (true) {
    const bool is_watched = notices_.IsWatched(path);
    const watcher_fn watcher = is_watched ? &Session::OnWatch : nullptr;
    // Its watches end with a session.
    auto reply = Call(Kind::kRead, full_path, deadline, [&](auto* handle, auto* promise) {
      return submit(handle, full_path.c_str(), watcher, session_.get(), promise);
    });
    const bool is_absent = !reply && reply.error().code == Code::kNotFound;
    if (!is_absent || !is_watched) return reply;
    const auto exists = Call(Kind::kRead, full_path, deadline, [&](auto* handle, auto* promise) {
      return zoo_awexists(handle, full_path.c_str(), watcher, session_.get(), OnStat, promise);
    });
    if (!exists && exists.error().code == Code::kNotFound) return reply;
    if (!exists) return exists;
  }
}

std::expected<Value, Error> ZkCoordinator::Get(const std::string& path) {
  if (auto is_path = CheckPath(path); !is_path) return std::unexpected(is_path.error());
  auto reply =
      Look(path, [](auto* handle, auto* full_path, auto watcher, auto* session, auto* promise) {
        return zoo_awget(handle, full_path, watcher, session, OnData, promise);
      });
  if (!reply) return std::unexpected(reply.error());
  return Value{std::move(reply->data), reply->version};
}

std::expected<std::vector<std::string>, Error> ZkCoordinator::List(const std::string& path) {
  if (auto is_path = CheckPath(path); !path.empty() && !is_path) {
    return std::unexpected(is_path.error());
  }
  auto reply =
      Look(path, [](auto* handle, auto* full_path, auto watcher, auto* session, auto* promise) {
        return zoo_awget_children(handle, full_path, watcher, session, OnNames, promise);
      });
  if (!reply && reply.error().code == Code::kNotFound) return {};
  if (!reply) return std::unexpected(reply.error());
  // Whoever made a node of another name, it is none of ours.
  std::erase_if(reply->names, [](const std::string& name) { return !IsName(name); });
  std::ranges::sort(reply->names);
  return std::move(reply->names);
}

std::expected<Revision, Error> ZkCoordinator::Set(const std::string& path, const std::string& data,
                                                  Revision revision) {
  if (auto is_path = CheckPath(path); !is_path) return std::unexpected(is_path.error());
  if (auto is_data = CheckData(path, data); !is_data) return std::unexpected(is_data.error());
  if (auto is_version = CheckVersion(path, revision); !is_version) {
    return std::unexpected(is_version.error());
  }
  const std::string full_path = FullPath(path);
  const auto reply = Call(Kind::kWrite, full_path, Deadline(), [&](auto* handle, auto* promise) {
    return zoo_aset(handle, full_path.c_str(), data.data(), static_cast<int>(data.size()),
                    static_cast<int>(revision), OnStat, promise);
  });
  if (!reply) return std::unexpected(reply.error());
  return reply->version;
}

std::expected<void, Error> ZkCoordinator::Delete(const std::string& path, Revision revision) {
  if (auto is_path = CheckPath(path); !is_path) return is_path;
  if (auto is_version = CheckVersion(path, revision); !is_version) return is_version;
  const std::string full_path = FullPath(path);
  const auto reply = Call(Kind::kWrite, full_path, Deadline(), [&](auto* handle, auto* promise) {
    return zoo_adelete(handle, full_path.c_str(), static_cast<int>(revision), OnDone, promise);
  });
  if (!reply) return std::unexpected(reply.error());
  return {};
}

std::expected<Revision, Error> ZkCoordinator::Create(const std::string& path,
                                                     const std::string& data, Lifetime lifetime) {
  if (auto is_path = CheckPath(path); !is_path) return std::unexpected(is_path.error());
  if (auto is_data = CheckData(path, data); !is_data) return std::unexpected(is_data.error());
  const auto deadline = Deadline();
  const Node node{FullPath(path), data, acl(), lifetime};
  auto created = CreateNode(node, deadline);
  if (!created && created.error().code == Code::kNotFound) {
    if (auto above = CreateAbove(path, deadline); !above) return std::unexpected(above.error());
    created = CreateNode(node, deadline);
  }
  if (!created) return std::unexpected(created.error());
  return Revision{0};
}

// The nodes between the root and `path`. One whose creation is unknown is there, or the next one fails; `path`
// itself has not been created by then.
std::expected<void, Error> ZkCoordinator::CreateAbove(const std::string& path,
                                                      Clock::time_point deadline) {
  if (auto is_there = CheckRoot(deadline); !is_there) return is_there;
  for (size_t end = path.find('/'); end != std::string::npos; end = path.find('/', end + 1)) {
    const auto created = CreateNode(
        {FullPath(path.substr(0, end)), kNoData, acl(), Lifetime::kPersistent}, deadline);
    if (created || created.error().code == Code::kExists) continue;
    if (created.error().code != Code::kUnknown) return created;
  }
  return {};
}

std::expected<void, Error> ZkCoordinator::CreateNode(const Node& node, Clock::time_point deadline) {
  const int mode = node.lifetime == Lifetime::kEphemeral ? ZOO_EPHEMERAL : ZOO_PERSISTENT;
  const auto reply = Call(Kind::kWrite, node.full_path, deadline, [&](auto* handle, auto* promise) {
    return zoo_acreate(handle, node.full_path.c_str(), node.data.data(),
                       static_cast<int>(node.data.size()), &node.acl, mode, OnText, promise);
  });
  if (!reply) return std::unexpected(reply.error());
  return {};
}

}  // namespace

std::expected<std::unique_ptr<Coordinator>, Error> OpenZk(const std::string& place,
                                                          const Options& options) {
  if (auto are_sane = CheckTimes(options); !are_sane) return std::unexpected(are_sane.error());
  auto parsed = ParsePlace(place);
  if (!parsed) return std::unexpected(parsed.error());
  std::string credentials;
  if (!options.auth_file.empty()) {
    auto line = ReadAuthFile(options.auth_file);
    if (!line) return std::unexpected(line.error());
    credentials = std::move(*line);
  }
  auto event = fabric::CreateEventFd();
  if (!event) return std::unexpected(event.error());
  auto opened = std::make_unique<ZkCoordinator>(std::move(*parsed), options, std::move(credentials),
                                                std::move(*event));
  if (auto started = opened->Start(); !started) return std::unexpected(started.error());
  return opened;
}

}  // namespace plov::cluster
