// Requests: what is asked of a cache, one after the other, the same ones each time.
//
// Threads: one each.
#pragma once

#include <cstdint>
#include <expected>
#include <string>

#include "bench/load/source.h"
#include "bench/load/workload.h"
#include "verify/error.h"

namespace plov::bench {

// GETs are those of a look-aside cache: who misses stores the item. All other operations store it, too.
struct EvictWorkload {
  std::string name;
  Workload load;
  uint64_t fitting = 0;  // of its items, so many are about as large as the memory
  // Every so often so many new keys are read, once each, twice as many requests after the last ones; 0: never.
  uint64_t scanned = 0;
};

// As --help shows them, beside those of presets.h.
inline constexpr auto kEvictNames =
    "zipfian-0.8, zipfian-0.99, zipfian-1.2, zipfian-roomy, scan, shift";

// Its items are ten times what fits into the memory, those of zipfian-roomy 3.3 times, whatever a preset says; popular
// items of shift are the newest ones. kInvalidArgument: there is none of this name.
std::expected<EvictWorkload, Error> FindEvictWorkload(const std::string& name,
                                                      uint64_t memory_bytes);

class Requests {
 public:
  // The workload outlives it.
  Requests(const EvictWorkload& workload, uint64_t seed)
      : workload_(workload),
        items_(workload.load.shape),
        next_scanned_(workload.load.items),
        source_(workload.load, 0, 1, seed) {}

  // Stays until the next one.
  const Operation& Next();

  // Of the operation that was the last.
  const std::string& Value();
  bool IsRight(std::string_view value) const { return source_.IsRight(operation_, value); }

 private:
  const EvictWorkload& workload_;
  Items items_;
  uint64_t next_scanned_;
  uint64_t count_ = 0;
  Source source_;
  Operation operation_;
};

}  // namespace plov::bench
