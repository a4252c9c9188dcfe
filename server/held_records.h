// HeldRecords: records that somebody is to READ although their items may be overwritten meanwhile.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "server/record_area.h"

namespace plov::server {

class HeldRecords {
 public:
  // records: outlives it.
  explicit HeldRecords(RecordArea* records) : records_(records) {}

  // Keeps a record where it is until as many Releases.
  void Hold(uint64_t offset, uint32_t record_bytes);
  void Release(uint64_t offset);
  // Its item is gone: its memory is free now, or with the last Release.
  void Free(uint64_t offset, size_t record_bytes);

 private:
  struct Held {
    uint64_t offset;
    uint32_t record_bytes;
    uint32_t holders;
    bool orphaned;  // to be freed by the last Release
  };

  RecordArea* records_;
  std::vector<Held> held_;
};

}  // namespace plov::server
