// Dialers: one for each other server of a cluster that somebody here has something to send to.
//
// Threads: any.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "server/dialer.h"

namespace plov::server {

class Dialers {
 public:
  using ConnectorTo = std::function<Dialer::Connector(const std::string& server)>;

  // wake: of each dialer.
  explicit Dialers(
      std::function<void()> wake,
      ConnectorTo connector_to = [](const std::string&) { return fabric::Connection::Connect; })
      : wake_(std::move(wake)), connector_to_(std::move(connector_to)) {}

  // Where a server is, as far as is known; it may change.
  void Set(const std::string& server, std::vector<std::string> uris) {
    const std::lock_guard lock(mutex_);
    const auto dialer = dialers_.find(server);
    if (dialer != dialers_.end()) dialer->second->SetUris(uris);
    uris_.insert_or_assign(server, std::move(uris));
  }
  // Null: it is not known where the server is. Stays as long as this does.
  Dialer* Find(const std::string& server) {
    const std::lock_guard lock(mutex_);
    const auto found = dialers_.find(server);
    if (found != dialers_.end()) return found->second.get();
    const auto uris = uris_.find(server);
    if (uris == uris_.end()) return nullptr;
    auto dialer = std::make_unique<Dialer>(server, uris->second, wake_, connector_to_(server));
    return dialers_.emplace(server, std::move(dialer)).first->second.get();
  }

 private:
  std::function<void()> wake_;
  ConnectorTo connector_to_;
  std::mutex mutex_;
  std::map<std::string, std::vector<std::string>> uris_;
  std::map<std::string, std::unique_ptr<Dialer>> dialers_;
};

}  // namespace plov::server
