// Session: a handle of the client library, from its making to its end.
//
// Threads: made and destroyed by any but the library's own, which would wait for themselves.
#pragma once

#include <zookeeper/zookeeper.h>

#include <chrono>
#include <expected>
#include <memory>
#include <string>

#include "cluster/zk/notices.h"
#include "verify/error.h"

namespace plov::cluster::zk {

struct SessionOptions {
  std::string addresses;  // "127.0.0.1:2181,..."
  std::string root;
  std::chrono::milliseconds timeout{0};
  std::string credentials;  // "user:password"; nothing: none
  void (*log)(const char* line) = nullptr;
};

class Session {
 public:
  // notices: outlives this; hears OnBegin now, and all that follows. kSystem.
  static std::expected<std::unique_ptr<Session>, Error> Begin(const SessionOptions& options,
                                                              Notices* notices);
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;
  ~Session();  // ephemeral nodes go at once, if there is a connection

  zhandle_t* handle() const { return handle_; }

  // For the calls that arm a watch; its context is the session.
  static void OnWatch(zhandle_t* handle, int type, int state, const char* path, void* session);

 private:
  Session(std::string root, Notices* notices) : root_(std::move(root)), notices_(notices) {}

  static void OnSession(zhandle_t* handle, int type, int state, const char* path, void* session);

  const std::string root_;
  Notices* const notices_;
  zhandle_t* handle_ = nullptr;
};

}  // namespace plov::cluster::zk
