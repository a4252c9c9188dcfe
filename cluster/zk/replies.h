// Replies of the client library: from its callbacks to the thread that waits, and what its codes mean.
#pragma once

#include <zookeeper/zookeeper.h>

#include <future>
#include <string>
#include <vector>

#include "verify/error.h"

namespace plov::cluster::zk {

struct Reply {
  int rc = ZOK;
  std::string data{};
  int32_t version = 0;
  std::vector<std::string> names{};
};

// Completions for the asynchronous calls. `data` is a std::promise<Reply>* which they fulfil and delete; nobody may
// wait any more. Called once for each call that was taken.
void OnData(int rc, const char* value, int bytes, const Stat* stat, const void* data);
void OnStat(int rc, const Stat* stat, const void* data);
void OnNames(int rc, const String_vector* names, const void* data);
void OnText(int rc, const char* text, const void* data);
void OnDone(int rc, const void* data);

// Whether no reply has come to what may have been sent.
bool IsLost(int rc);

// Of a request about `path` that got `rc`: kUnknown for a write that may have happened.
enum class Kind : uint8_t { kRead, kWrite };
Error ErrorOf(int rc, Kind kind, const std::string& path);

}  // namespace plov::cluster::zk
