// LateFabric: shared memory whose READs complete late and in any order, as those of a network card
// do. It takes the place of fabric/fabric.cc in a test, and looks at what the client may post when.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>

namespace plov::fabric {

// What the fabric does, and what it saw; set between calls.
struct LateFabric {
  std::atomic<bool> on = true;
  std::atomic<bool> superblocks_complete = true;  // false: their READs do not
  std::atomic<bool> reads_complete = true;        // false: those of others do not
  std::atomic<bool> oaths_complete = true;        // false: those of a cluster's oaths do not
  std::atomic<bool> oaths_see_last =
      false;  // these see what is there when they complete, others when they begin
  std::atomic<int> torn_superblocks = 0;          // READs of them still to be torn
  std::atomic<bool> endless_superblocks = false;  // each READ of one brings another version
  std::atomic<bool> endless_replies = false;      // there is always one more, for nobody
  std::string target = {};                        // where "switch:" leads to
  std::atomic<size_t> staging_bytes = SIZE_MAX;   // of a connection, at most
  std::atomic<uint64_t> cuts = 0;                 // connections older than this many are broken
  std::atomic<uint64_t> late_reads = 0;           // READs that were under way when polled
  std::atomic<uint64_t> overlaps = 0;             // superblock READs beside others
  std::atomic<uint64_t> hasty_confirms = 0;       // CONFIRMs with a READ by an older one under way
};

LateFabric& Late();

}  // namespace plov::fabric
