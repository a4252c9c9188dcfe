// What writers did and what they were told, on a block device: the end of the disk that the log's
// file system lies on, so that every copy of the disk as it was at some moment tells what had been
// promised at that moment. Each writer has a part of its own, and each of its operations a record:
//
//   part   kRecordsPerPart records; the first `number` that is not its place + 1 ends it
//   record  0  8  number       1, 2 and so on
//           8  8  version      as the server told it; 0 of a delete, and where nothing was told
//          16  4  key          the writer's own, 0 .. kKeys - 1; of a read any, + writer * kKeys
//          20  4  value bytes  of a put
//          24  2  kind         Kind
//          26  2  told         Told
//          28  4  zero
//
// A record is on the disk as issued before its operation is sent, and as told before the next one
// is. Keys belong to one writer, and all of a writer's keys to one shard, that of number
// writer % shards. The value of a put follows from its writer and its number.
#pragma once

#include <plov/error.h>

#include <cstdint>
#include <expected>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace plov::power {

constexpr uint32_t kWriters = 4;
constexpr uint32_t kKeys = 10;          // of each writer
constexpr uint32_t kReader = kWriters;  // the part of who reads
constexpr uint32_t kParts = kWriters + 1;
constexpr uint32_t kRecordsPerPart = 8192;
constexpr uint32_t kSectorBytes = 512;  // what a disk writes whole

enum class Kind : uint16_t { kPut = 1, kDelete = 2, kSync = 3, kRead = 4 };
// kAgain: after an attempt whose outcome nobody knows, so the version is only an upper bound.
enum class Told : uint16_t { kNothing = 0, kYes = 1, kAgain = 2 };

struct Record {
  uint64_t number = 0;
  uint64_t version = 0;
  uint32_t key = 0;
  uint32_t value_bytes = 0;
  Kind kind = Kind::kPut;
  Told told = Told::kNothing;
  uint32_t zero = 0;
};
static_assert(sizeof(Record) == 32 && kSectorBytes % sizeof(Record) == 0);

constexpr uint64_t kPartBytes = uint64_t{kRecordsPerPart} * sizeof(Record);

std::string ValueOf(uint32_t writer, const Record& put);

// "WRITER.KEY.", what the name of a key begins with.
std::string KeyPrefix(uint32_t writer, uint32_t key);

// All records of each part.
using Ledger = std::vector<std::vector<Record>>;
std::expected<Ledger, Error> ReadLedger(const std::string& device, uint64_t offset);

// A part that is written.
class Part {
 public:
  // Empties it on the device.
  static std::expected<Part, Error> Open(const std::string& device, uint64_t offset, uint32_t part);

  bool full() const { return count_ == kRecordsPerPart; }
  Record& last() { return records_[count_ - 1]; }
  Record& Add(Record record);
  // Writes the last `count` records.
  std::expected<void, Error> Write(uint32_t count);

 private:
  struct Free {
    void operator()(Record* records) const;
  };
  std::unique_ptr<Record[], Free> records_;
  uint32_t count_ = 0;
  int fd_ = -1;  // open until the process ends
  uint64_t offset_ = 0;
};

struct Run {
  std::string uri;
  std::string device;
  uint64_t offset = 0;
};

// Writes and reads until each writer has made `writes` operations; says "half" on standard output
// when the first writer is half through. With `syncs`, each twentieth operation is a Sync.
int Write(const Run& run, uint32_t writes, bool syncs);

enum class Promise : uint8_t { kRead, kTold, kSynced };

// Checks what the server has by `all`, the whole ledger; `run` has the ledger as it was when the
// power went.
int Check(const Run& run, const std::string& all, Promise promise);

}  // namespace plov::power
