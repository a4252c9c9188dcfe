// Server tally: what the servers of a run say of themselves, summed over their lives.
#pragma once

#include <cstdint>
#include <span>
#include <string>

namespace plov::torture {

struct ServerCounts {
  uint64_t displacements = 0;
  uint64_t growths = 0;
  uint64_t no_space = 0;          // PUTs refused
  uint64_t retries_answered = 0;  // writes that were sent again and had been applied
  uint64_t gets_by_message = 0;
  uint64_t corrupt = 0;
  uint64_t record_memory_bytes = 0;  // that records have taken, at most; not a count of events

  ServerCounts& operator+=(const ServerCounts& other);
  ServerCounts& operator-=(const ServerCounts& other);
};

// Out of Client::ServerStats, all shards together.
ServerCounts ReadServerCounts(std::span<const std::string> texts);

class ServerTally {
 public:
  // Of a server that ran before: what it did until now is not ours.
  void BeginAt(const ServerCounts& counts);
  void Observe(const ServerCounts& counts);
  void EndLife();
  ServerCounts sum() const;

 private:
  ServerCounts former_;  // of lives that have ended
  ServerCounts before_;
  ServerCounts now_;
};

}  // namespace plov::torture
