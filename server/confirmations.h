// Confirmations: how many clients go by each version of the superblock, and the oldest of these.
#pragma once

#include <cstdint>
#include <map>

namespace plov::server {

class Confirmations {
 public:
  void Add(uint64_t version) { ++count_of_[version]; }
  void Remove(uint64_t version) {
    const auto it = count_of_.find(version);
    if (--it->second == 0) count_of_.erase(it);
  }
  // UINT64_MAX when there is no client.
  uint64_t least() const { return count_of_.empty() ? UINT64_MAX : count_of_.begin()->first; }

 private:
  std::map<uint64_t, uint64_t> count_of_;
};

}  // namespace plov::server
