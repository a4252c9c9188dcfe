#include "server/log_writer.h"

#include <pthread.h>
#include <spdlog/spdlog.h>

#include <utility>

namespace plov::server {

LogWriter::LogWriter(log::SegmentWriter writer, const Options& options)
    : snapshots_(options.snapshots),
      shard_(options.head.shard),
      feed_(options.wake, [snapshots = options.snapshots] { snapshots->Look(); }),
      commit_(std::move(writer), options.commit, options.wake) {
  snapshots_->Add({.commit = &commit_,
                   .feed = &feed_,
                   .head = options.head,
                   .log_bytes = options.log_bytes,
                   .snapshot_bytes = options.snapshot_bytes});
}

void LogWriter::Start() {
  thread_ = std::jthread([this] { commit_.Run(); });
  pthread_setname_np(thread_.native_handle(), "plovd-log");
}

LogWriter::~LogWriter() {
  snapshots_->Remove(shard_);
  commit_.Stop();
  if (thread_.joinable()) thread_.join();
  if (auto finished = commit_.Finish(); !finished) {
    spdlog::error("shard {}: the log was not written to its end: {}", shard_,
                  finished.error().message);
  }
}

}  // namespace plov::server
