// Walk: reads a shard's log from a batch on, to its end, and tells the end from damage. Rule D5 of plov(7).
//
// Where batch n is not whole: n was durable, so this is damage, if a whole batch behind it attests n or more, a
// segment's head begins after n, or a snapshot needs n or more. Else it was never promised: the log ends at
// n - 1, and what lies behind is cut. What lies at or beyond the next segment's first batch is history (D6).
//
// Threads: one. Memory: a window of the file, as large as the largest batch.
#pragma once

#include <cstddef>
#include <cstdint>
#include <expected>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "log/disk.h"
#include "log/folder.h"
#include "log/segment_writer.h"
#include "verify/log.h"

namespace plov::log {

// What is wrong with a log, for one line to its operator.
struct Damage {
  std::string file;                // its path
  uint64_t offset = 0;             // in it
  uint64_t batch = 0;              // that was durable and is not whole; 0: none in particular
  uint64_t operations_behind = 0;  // whole ones, in whole batches behind it
  std::string what;  // "batch 17 fails its checksum, and batch 18 says that it was durable"

  std::string Line() const;  // all of it, without what to do
};

// What was cut at the log's end: a batch that is not whole, and whole ones behind it. What a recycled file had
// there before is none of that.
struct Torn {
  std::string file;
  uint64_t offset = 0;
  uint64_t bytes = 0;  // to the end of the last batch there that can be made out
};

// Reads and checks a file's head. kCorrupt: it is damaged, or a file under another's name.
// kInvalidArgument: a file of another kind. kProtocol: of another format version. kSystem.
std::expected<verify::LogHead, Error> ReadHead(Disk* disk, const std::string& name,
                                               verify::LogFile kind);

// Of an error of ReadHead: the file is damaged, or is not what it should be; and as Damage.
bool IsDamage(const Error& error);
Damage DamageOfHead(const std::string& path, const Error& error);

class Walk {
 public:
  struct Start {
    uint32_t shard = 0;
    uint64_t segment = 0;  // begins with this one; 0: with the first there is
    uint64_t batch =
        0;  // the first that is told of, and must be there or come next; 0: all there are
    uint64_t needs = 0;  // a snapshot needs this batch; 0: there is none
  };

  // All heads from that segment on are read: they agree on log id, shard count and hash seed, have their
  // names' numbers, and none is missing. Older ones may be half removed. `disk` outlives it. An Error is of the system, or kProtocol for another format version.
  static std::expected<std::expected<Walk, Damage>, Error> Open(Disk* disk, const ShardFiles& files,
                                                                const Start& start);

  // A whole batch that was durable, or may have been. Its bytes are valid until the next call.
  struct Batch {
    verify::BatchHead head;
    uint64_t segment = 0;
    uint64_t offset = 0;
    Bytes operations;  // for verify::TakeLogged
  };
  // The next one with operations; nullopt at the log's end.
  std::expected<std::expected<std::optional<Batch>, Damage>, Error> Next();

  // Of all segments: heads agree.
  const verify::LogHead& head() const { return head_; }
  // Of the newest segment.
  const verify::LogHead& last_head() const { return segments_.back().head; }

  // After Next has returned nullopt: where the log goes on, and what was cut.
  const LogEnd& end() const { return end_; }
  const std::optional<Torn>& torn() const { return torn_; }
  // Bytes that were read so far, and in all.
  uint64_t bytes_read() const { return bytes_read_; }
  uint64_t bytes_total() const { return bytes_total_; }

 private:
  using Told = std::expected<std::optional<Batch>, Damage>;

  struct Segment {
    std::string name;
    verify::LogHead head;
  };

  // A segment's file, through a window of it.
  struct Reader {
    std::unique_ptr<File> file;
    verify::LogHead head;
    std::vector<std::byte> window;
    uint64_t window_at = 0;  // in the file

    // Of the file's next `bytes` as many as there are.
    std::expected<Bytes, Error> BytesAt(uint64_t offset, uint64_t bytes);
    // What may be a batch, and whether it is one of this log that was written to this place.
    std::expected<std::optional<verify::BatchHead>, Error> GuessAt(uint64_t offset);
    std::expected<std::optional<Batch>, Error> WholeAt(uint64_t offset,
                                                       const verify::BatchHead& guess);
  };

  // The whole batches behind a place in a segment.
  struct Behind {
    uint64_t operations = 0;
    uint64_t attest = 0;  // the greatest
    uint64_t attested_by = 0;
    bool is_closed = false;  // by that one
    uint64_t end = 0;        // of the last; 0: there is none
  };

  std::expected<std::optional<Damage>, Error> ReadHeads(const ShardFiles& files);
  std::optional<Damage> CheckStart() const;
  std::optional<Damage> CheckNext(const Segment& next) const;
  std::expected<Reader, Error> OpenSegment(size_t segment) const;
  std::expected<void, Error> Enter(size_t segment);
  std::expected<std::optional<Batch>, Error> TakeBatch();
  bool Follows(const verify::BatchHead& head) const;
  void Accept(const Batch& batch);
  std::expected<Damage, Error> DamageHere(std::string what);
  std::expected<Damage, Error> DamageBeforeNext(const std::string& name);
  std::expected<std::optional<Damage>, Error> EndHere();
  std::expected<void, Error> Cut(const Behind& behind);
  static std::expected<Behind, Error> Scan(Reader* reader, uint64_t from, uint64_t batch,
                                           uint64_t next_batch);
  std::expected<uint64_t, Error> CountBehind();
  const Segment* next() const;

  Disk* disk_ = nullptr;
  Start start_;
  std::vector<Segment> segments_;
  verify::LogHead head_;
  LogEnd end_;  // of what was read so far
  std::optional<Torn> torn_;
  uint64_t bytes_before_ = 0;  // in segments that were read
  uint64_t bytes_read_ = 0;
  uint64_t bytes_total_ = 0;
  size_t segment_ = 0;  // of segments_, which `reader_` reads
  Reader reader_;
  uint64_t at_ = 0;  // in it
  bool is_over_ = false;
};

}  // namespace plov::log
