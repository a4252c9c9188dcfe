#include "cluster/zk/session.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <string_view>
#include <utility>

namespace plov::cluster::zk {

namespace {

// Of the whole process, once: what the library says of no handle is dropped.
void QuietLibrary() {
  static FILE* const nowhere = [] {
    zoo_set_debug_level(ZOO_LOG_LEVEL_WARN);
    FILE* stream = std::fopen("/dev/null", "we");
    if (stream != nullptr) zoo_set_log_stream(stream);
    return stream;
  }();
  static_cast<void>(nowhere);
}

void Drop(const char*) {}

}  // namespace

std::expected<std::unique_ptr<Session>, Error> Session::Begin(const SessionOptions& options,
                                                              Notices* notices) {
  QuietLibrary();
  notices->OnBegin();
  std::unique_ptr<Session> session(new Session(options.root, notices));
  session->handle_ = zookeeper_init2(options.addresses.c_str(), &Session::OnSession,
                                     static_cast<int>(options.timeout.count()), nullptr,
                                     session.get(), 0, options.log == nullptr ? Drop : options.log);
  if (session->handle_ == nullptr) {
    return FailErrno("the ZooKeeper client cannot start (zookeeper_init)", errno);
  }
  if (!options.credentials.empty()) {  // before all requests, and again on each connection
    zoo_add_auth(session->handle_, "digest", options.credentials.data(),
                 static_cast<int>(options.credentials.size()), nullptr, nullptr);
  }
  return session;
}

Session::~Session() {
  if (handle_ != nullptr) zookeeper_close(handle_);
}

void Session::OnSession(zhandle_t*, int type, int state, const char*, void* session) {
  if (type != ZOO_SESSION_EVENT) return;
  Notices* notices = static_cast<Session*>(session)->notices_;
  if (state == ZOO_CONNECTED_STATE) return notices->OnState(State::Kind::kConnected);
  const bool has_ended = state == ZOO_EXPIRED_SESSION_STATE || state == ZOO_AUTH_FAILED_STATE;
  notices->OnState(has_ended ? State::Kind::kSessionEnded : State::Kind::kDisconnected);
}

void Session::OnWatch(zhandle_t*, int type, int, const char* path, void* session) {
  if (type == ZOO_SESSION_EVENT || path == nullptr) return;
  const auto* self = static_cast<Session*>(session);
  std::string_view below(path);
  if (!below.starts_with(self->root_)) return;
  below.remove_prefix(std::min(self->root_.size() + 1, below.size()));
  self->notices_->OnChange(below);
}

}  // namespace plov::cluster::zk
