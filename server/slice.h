// Slice: what a shard does of one message before others have their turn: so many requests, or so
// many bytes copied, sealed or looked at.
//
// Each turn costs something besides what it does, so slices are long, some ten microseconds, until
// more than one client sends: then they are short, for each of them waits for one of another's.
#pragma once

#include <cstdint>

namespace plov::server {

struct Slice {
  uint32_t requests;
  uint64_t work_bytes;
};

class Slices {
 public:
  Slices() = default;
  // Always these.
  explicit Slices(const Slice& slice) : long_(slice), short_(slice), now_(slice) {}

  // A message has come. sender: anything that tells one peer from another.
  void OnMessage(const void* sender, uint64_t now_us) {
    if (sender != sender_) {
      sender_ = sender;
      changed_at_us_ = now_us;
    }
    now_ = now_us - changed_at_us_ < kAloneAfterUs ? short_ : long_;
  }

  const Slice& now() const { return now_; }

 private:
  // Since somebody else sent last.
  static constexpr uint64_t kAloneAfterUs = 100'000;

  Slice long_{16, uint64_t{64} << 10};
  Slice short_{4, uint64_t{16} << 10};
  Slice now_ = short_;
  const void* sender_ = nullptr;
  uint64_t changed_at_us_ = 0;
};

}  // namespace plov::server
