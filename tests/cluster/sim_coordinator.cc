#include "tests/cluster/sim_coordinator.h"

#include <algorithm>
#include <utility>

#include "cluster/paths.h"

namespace plov::test {

using cluster::Revision;
using cluster::State;
using cluster::Value;

namespace {

// So far back, at most, goes an old read.
constexpr size_t kOldMax = 4;
// Of what is late, at each call.
constexpr uint32_t kLatePer1000 = 150;

}  // namespace

std::unique_ptr<cluster::Coordinator> SimEnsemble::Connect() {
  return std::make_unique<SimCoordinator>(this);
}

void SimEnsemble::Proceed() {
  for (size_t i = 0; i < late_.size();) {
    if (!Chance(kLatePer1000)) {
      ++i;
      continue;
    }
    const Write write = late_[i];
    late_.erase(late_.begin() + static_cast<ptrdiff_t>(i));
    ++(Do(write) ? late_done_ : late_refused_);
  }
}

void SimEnsemble::DoLate() {
  while (!late_.empty()) Proceed();
}

bool SimEnsemble::IsThere(const std::string& path) {
  const auto found = nodes_.find(path);
  return found != nodes_.end() && found->second.states.back().has_value();
}

std::expected<Revision, Error> SimEnsemble::Do(const Write& write) {
  States& node = nodes_[write.path];
  const Node current = node.states.back();
  if (write.kind == Write::Kind::kCreate) {
    if (current) return Fail(Code::kExists, write.path + ": is there already");
    if (write.owner != 0 && !alive_.contains(write.owner)) {
      return Fail(Code::kUnavailable, "the session has ended");
    }
    for (size_t end = write.path.find('/'); end != std::string::npos;
         end = write.path.find('/', end + 1)) {
      const std::string above = write.path.substr(0, end);
      if (!IsThere(above)) static_cast<void>(Do({.kind = Write::Kind::kCreate, .path = above}));
    }
    node.states.push_back(Value{write.data, 0});
    node.owner = write.owner;
    Tell(write.path);
    return 0;
  }
  if (!current) return Fail(Code::kNotFound, write.path + ": is not there");
  if (current->revision != write.revision) {
    return Fail(Code::kVersionMismatch, write.path + ": has been changed since it was read");
  }
  if (write.kind == Write::Kind::kDelete) {
    for (const auto& [path, states] : nodes_) {
      if (path != write.path && cluster::IsBelow(path, write.path) && states.states.back()) {
        return Fail(Code::kInvalidArgument, write.path + ": there is something below it");
      }
    }
    node.states.push_back(std::nullopt);
  } else {
    node.states.push_back(Value{write.data, current->revision + 1});
  }
  Tell(write.path);
  return current->revision + 1;
}

std::expected<Revision, Error> SimEnsemble::Send(const Write& write) {
  const auto unknown = [] { return Fail(Code::kUnknown, "the connection was lost"); };
  if (Chance(faults.lost_never)) return unknown();
  if (Chance(faults.lost_late)) {
    late_.push_back(write);
    return unknown();
  }
  const auto done = Do(write);
  if (Chance(faults.lost_done)) return unknown();
  return done;
}

SimEnsemble::Node SimEnsemble::Read(const std::string& path) {
  const auto found = nodes_.find(path);
  if (found == nodes_.end()) return std::nullopt;
  const std::vector<Node>& states = found->second.states;
  size_t back = 0;
  if (Chance(faults.old_read)) back = random_() % std::min(states.size(), kOldMax);
  if (back > 0) ++old_reads_;
  return states[states.size() - 1 - back];
}

// Of a node that has come, gone or changed: who has looked at it, and at the names it is one of.
void SimEnsemble::Tell(const std::string& path) {
  const size_t slash = path.rfind('/');
  const std::string above = slash == std::string::npos ? "" : path.substr(0, slash);
  for (Client* client : clients_) {
    for (const std::string& looked_at : {path, above}) {
      if (client->armed.erase(looked_at) == 0 || Chance(faults.lost_hint)) continue;
      auto above_it = cluster::WatchedAbove(client->watched, looked_at);
      if (!above_it.empty()) fabric::Ring(client->event_fd);
      client->hinted.merge(above_it);
    }
  }
}

uint64_t SimEnsemble::Begin() {
  alive_.insert(++sessions_);
  return sessions_;
}

void SimEnsemble::End(uint64_t session) {
  alive_.erase(session);
  for (auto& [path, node] : nodes_) {
    if (node.owner != session || !node.states.back()) continue;
    node.states.push_back(std::nullopt);
    node.owner = 0;
    Tell(path);
  }
}

SimCoordinator::SimCoordinator(SimEnsemble* ensemble)
    : ensemble_(ensemble),
      event_(std::move(*fabric::CreateEventFd())),
      client_{{}, {}, {}, event_.get(), ensemble->Begin()} {
  ensemble_->clients_.insert(&client_);
}

SimCoordinator::~SimCoordinator() {
  ensemble_->clients_.erase(&client_);
  ensemble_->End(client_.session);
}

std::expected<void, Error> SimCoordinator::Begin(const std::string& path) {
  if (auto is_path = cluster::CheckPath(path); !path.empty() && !is_path) return is_path;
  if (ensemble_->between) ensemble_->between();
  ensemble_->Proceed();
  if (is_cut_) return Fail(Code::kUnavailable, "there is no connection");
  if (ensemble_->Chance(ensemble_->faults.ended_session)) EndSession();
  if (has_ended_) {
    has_ended_ = false;
    client_.session = ensemble_->Begin();
    ++number_;
  }
  return {};
}

std::expected<Value, Error> SimCoordinator::Get(const std::string& path) {
  if (auto is_path = cluster::CheckPath(path); !is_path) return std::unexpected(is_path.error());
  if (auto begun = Begin(path); !begun) return std::unexpected(begun.error());
  client_.armed.insert(path);
  if (auto node = ensemble_->Read(path)) return *node;
  return Fail(Code::kNotFound, path + ": is not there");
}

std::expected<Revision, Error> SimCoordinator::Set(const std::string& path, const std::string& data,
                                                   Revision revision) {
  if (auto is_data = cluster::CheckData(path, data); !is_data)
    return std::unexpected(is_data.error());
  sent_.push_back(data);
  if (auto begun = Begin(path); !begun) return std::unexpected(begun.error());
  return ensemble_->Send({SimEnsemble::Write::Kind::kSet, path, data, revision, 0});
}

std::expected<Revision, Error> SimCoordinator::Create(const std::string& path,
                                                      const std::string& data,
                                                      cluster::Lifetime lifetime) {
  if (auto is_path = cluster::CheckPath(path); !is_path) return std::unexpected(is_path.error());
  if (auto is_data = cluster::CheckData(path, data); !is_data)
    return std::unexpected(is_data.error());
  if (auto begun = Begin(path); !begun) return std::unexpected(begun.error());
  const uint64_t owner = lifetime == cluster::Lifetime::kEphemeral ? client_.session : 0;
  return ensemble_->Send({SimEnsemble::Write::Kind::kCreate, path, data, 0, owner});
}

std::expected<void, Error> SimCoordinator::Delete(const std::string& path, Revision revision) {
  if (auto is_path = cluster::CheckPath(path); !is_path) return is_path;
  if (auto begun = Begin(path); !begun) return begun;
  const auto sent = ensemble_->Send({SimEnsemble::Write::Kind::kDelete, path, "", revision, 0});
  if (!sent) return std::unexpected(sent.error());
  return {};
}

std::expected<std::vector<std::string>, Error> SimCoordinator::List(const std::string& path) {
  if (auto begun = Begin(path); !begun) return std::unexpected(begun.error());
  client_.armed.insert(path);
  std::set<std::string> names;
  for (const auto& [each, _] : ensemble_->nodes_) {
    if (each == path || !cluster::IsBelow(each, path) || !ensemble_->Read(each)) continue;
    const std::string rest = each.substr(path.empty() ? 0 : path.size() + 1);
    if (rest.find('/') == std::string::npos) names.insert(rest);
  }
  return std::vector<std::string>(names.begin(), names.end());
}

std::vector<std::string> SimCoordinator::TakeHints() {
  fabric::ClearEvent(event_.get());
  const auto hinted = std::exchange(client_.hinted, {});
  return {hinted.begin(), hinted.end()};
}

State SimCoordinator::state() const {
  const State::Kind kind = has_ended_ ? State::Kind::kSessionEnded
                           : is_cut_  ? State::Kind::kDisconnected
                                      : State::Kind::kConnected;
  return {kind, since_, number_};
}

void SimCoordinator::Cut(bool is_cut) {
  is_cut_ = is_cut;
  since_ = std::chrono::steady_clock::now();
  if (!is_cut) client_.hinted = client_.watched;
  fabric::Ring(event_.get());
}

void SimCoordinator::EndSession() {
  ensemble_->End(client_.session);
  client_.armed.clear();
  client_.hinted = client_.watched;
  has_ended_ = true;
  since_ = std::chrono::steady_clock::now();
  fabric::Ring(event_.get());
}

}  // namespace plov::test
