#include "cluster/zk/replies.h"

#include <memory>
#include <span>
#include <utility>

namespace plov::cluster::zk {

namespace {

void Fulfil(const void* data, Reply reply) {
  const std::unique_ptr<std::promise<Reply>> promise(
      static_cast<std::promise<Reply>*>(const_cast<void*>(data)));
  promise->set_value(std::move(reply));
}

}  // namespace

void OnData(int rc, const char* value, int bytes, const Stat* stat, const void* data) {
  Reply reply{.rc = rc};
  if (rc == ZOK) {
    if (bytes > 0) reply.data.assign(value, static_cast<size_t>(bytes));  // -1: none
    reply.version = stat->version;
  }
  Fulfil(data, std::move(reply));
}

void OnStat(int rc, const Stat* stat, const void* data) {
  Fulfil(data, {.rc = rc, .version = rc == ZOK ? stat->version : 0});
}

void OnNames(int rc, const String_vector* names, const void* data) {
  Reply reply{.rc = rc};
  if (rc == ZOK) {
    for (const char* name : std::span(names->data, static_cast<size_t>(names->count))) {
      reply.names.emplace_back(name);
    }
  }
  Fulfil(data, std::move(reply));
}

void OnText(int rc, const char*, const void* data) { Fulfil(data, {.rc = rc}); }

void OnDone(int rc, const void* data) { Fulfil(data, {.rc = rc}); }

bool IsLost(int rc) {
  switch (rc) {
    case ZCONNECTIONLOSS:
    case ZOPERATIONTIMEOUT:
    case ZSESSIONEXPIRED:
    case ZSESSIONMOVED:
    case ZCLOSING:
      return true;
    default:
      return false;
  }
}

Error ErrorOf(int rc, Kind kind, const std::string& path) {
  const auto error = [&path](Code code, const char* why) { return Error{code, path + ": " + why}; };
  switch (rc) {
    case ZNONODE:
      return error(Code::kNotFound, "is not there");
    case ZNODEEXISTS:
      return error(Code::kExists, "is there already");
    case ZBADVERSION:
      return error(Code::kVersionMismatch, "has been changed since it was read");
    case ZNOTEMPTY:
      return error(Code::kInvalidArgument, "there is something below it");
    case ZNOCHILDRENFOREPHEMERALS:
      return error(Code::kInvalidArgument, "nothing can be below an ephemeral node");
    case ZNOAUTH:
    case ZAUTHFAILED:
      return error(Code::kPermission,
                   "ZooKeeper does not let this user do that (NoAuth): look at user and password, "
                   "and at the "
                   "node's ACL");
    case ZINVALIDSTATE:
      return error(Code::kUnavailable, "the session with ZooKeeper has ended");
    case ZTHROTTLEDOP:
      return error(Code::kUnavailable, "ZooKeeper has too much to do");
    default:
      break;
  }
  if (!IsLost(rc) && kind == Kind::kRead) {
    return {Code::kProtocol, path + ": ZooKeeper: " + zerror(rc)};
  }
  const bool has_ended = rc == ZSESSIONEXPIRED;
  const std::string why = has_ended    ? "the session with ZooKeeper has ended"
                          : IsLost(rc) ? "the connection to ZooKeeper was lost"
                                       : std::string("ZooKeeper: ") + zerror(rc);
  if (kind == Kind::kRead) return {Code::kUnavailable, path + ": " + why};
  return {Code::kUnknown, path + ": " + why + "; whether it was written is not known"};
}

}  // namespace plov::cluster::zk
