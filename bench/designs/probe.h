// Probe: one GET of an emulated design as a state machine without I/O, the small sister of
// cuckoo::Lookup. It says what to READ next, is fed the bytes, and verifies them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "bench/designs/layout.h"

namespace plov::bench {

class Probe {
 public:
  enum class Result : uint8_t { kRead, kFound, kAbsent, kTorn };

  // Begins; `layout` and `key` stay valid to the end.
  void Start(const Layout* layout, std::string_view key);

  // What to READ.
  uint64_t offset() const { return offset_; }
  uint32_t bytes() const { return bytes_; }

  // Takes the bytes READ. kTorn: they fail their checksum.
  Result Feed(std::span<const std::byte> bytes);

  // After kFound; points into the bytes fed last.
  std::string_view value() const { return value_; }

  // The largest READ of a design.
  static uint32_t BytesMax(const Layout& layout);

 private:
  bool IsWhole(std::span<const std::byte> bytes, uint64_t offset) const;
  Result Read(uint64_t offset, uint64_t bytes);
  Result ReadWay();
  Result FeedWay(std::span<const std::byte> bytes);
  Result FeedBuckets(std::span<const std::byte> bytes);
  Result FeedObject(std::span<const std::byte> bytes, uint64_t offset);

  const Layout* layout_ = nullptr;
  std::string_view key_;
  uint64_t hash_ = 0;
  uint32_t way_ = 0;
  bool reads_object_ = false;
  uint64_t offset_ = 0;
  uint32_t bytes_ = 0;
  std::string_view value_;
};

}  // namespace plov::bench
