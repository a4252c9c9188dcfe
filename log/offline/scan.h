// Scans: what is whole in a file of a log, wherever it lies, though its head or what lies between is not.
//
// Threads: one. Memory: a window of the file, as large as its largest batch.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "log/disk.h"
#include "log/walk.h"
#include "verify/log.h"

namespace plov::log::offline {

// A file through a window, whose blocks that cannot be read are zeros.
class Window {
 public:
  // `file` outlives it.
  explicit Window(File* file) : file_(file) {}

  uint64_t file_bytes() const { return file_->bytes(); }
  // Of the file's next `bytes` as many as there are, valid until the next call.
  Bytes At(uint64_t offset, uint64_t bytes);
  // Of the blocks that could not be read so far.
  uint64_t unreadable_bytes() const { return unreadable_bytes_; }

 private:
  void Fill(uint64_t offset, uint64_t bytes);

  File* file_;
  std::vector<std::byte> window_;
  uint64_t window_at_ = 0;
  uint64_t unreadable_bytes_ = 0;
};

struct Segment {
  verify::LogId id;
  uint64_t number = 0;
};

// Tells of each whole batch from `from` on, a multiple of 4096; those without operations, too. False from
// `told`: go no further.
void ScanSegment(Window* window, const Segment& segment, uint64_t from,
                 const std::function<bool(const Walk::Batch&)>& told);

// Tells of each whole block of items of a snapshot: its head, where its operations begin, and they.
using ToldBlock =
    std::function<void(const verify::SnapshotBlockHead&, uint64_t offset, Bytes operations)>;
void ScanSnapshot(Window* window, const verify::LogId& id, const ToldBlock& told);

}  // namespace plov::log::offline
