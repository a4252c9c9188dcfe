#include "door/redis/watch_request.h"

#include "door/connection.h"
#include "door/redis/reply.h"
#include "door/worker.h"

namespace plov::door::redis {

size_t WatchRequest::bytes() const {
  size_t bytes = sizeof(*this) + reply.capacity() + versions_.capacity() * sizeof(Version);
  for (const std::string& key : keys_) bytes += sizeof(key) + key.capacity();
  return bytes;
}

void WatchRequest::Start(Worker* worker) {
  worker_ = worker;
  worker_->counters().Add(Count::kOthers);
  versions_.resize(keys_.size());
  left_ = keys_.size();
  for (size_t i = 0; i < keys_.size(); ++i) {
    worker_->client().StartGet(keys_[i],
                               [this, i](const Client::GetResult& result) { TakeRead(i, result); });
  }
}

void WatchRequest::TakeRead(size_t i, const Client::GetResult& result) {
  if (!result) {
    error_ = result.error();
  } else {
    versions_[i] = *result ? (*result)->version : 0;
  }
  if (--left_ == 0) End();
}

void WatchRequest::End() {
  has_failed = true;
  if (error_) {
    worker_->counters().Add(Count::kFailures);
    AddFailure(*error_, &reply);
  } else if (!AddWatches()) {
    AddError(kTooManyWatched, &reply);
  } else {
    has_failed = false;
    reply = kOkReply;
  }
  connection()->End(this);
}

// A key that is watched already stays as it was then.
bool WatchRequest::AddWatches() {
  for (size_t i = 0; i < keys_.size(); ++i) {
    if (watches_->Has(keys_[i])) continue;
    if (watches_->all.size() == kCommitItemsMax) return false;
    watches_->all.push_back({keys_[i], versions_[i]});
  }
  return true;
}

}  // namespace plov::door::redis
