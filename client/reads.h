// Reads: the READs in flight on one connection.
//
// A READ owns its buffer and its identity until it completes: whoever asked for it may end before,
// by its deadline, and then the bytes go nowhere. Completions are matched by tag; the tags are
// those of one connection, since its Reads end with it. Rule R8 of plov(7).
//
// Threads: the client's. Allocates only for a buffer that is larger than those before.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "fabric/fabric.h"
#include "verify/words.h"

namespace plov {

// Words, so that it is aligned for everything that is READ; it only grows.
using ReadBuffer = std::vector<uint64_t>;

inline std::span<std::byte> BytesOf(ReadBuffer* buffer, size_t bytes) {
  return std::as_writable_bytes(std::span(*buffer)).first(bytes);
}

// Makes room for so many bytes; false when memory ran out. Of what it gets first it gets enough for
// most records.
bool GrowTo(ReadBuffer* buffer, size_t bytes) noexcept;
inline bool Grow(ReadBuffer* buffer, size_t bytes) noexcept {
  return buffer->size() * verify::kWordBytes >= bytes || GrowTo(buffer, bytes);
}

class Reads {
 public:
  // Names a READ in flight.
  using Id = uint64_t;

  // Who asked for a READ; the numbers are the owners' to give.
  using Owner = uint64_t;

  explicit Reads(size_t depth);

  // Adds a READ to the next batch; nullopt when as many as can be are in flight. `lent`, when there
  // is one, has room for the bytes and is exchanged for the READ's own memory until it completes;
  // else that memory grows, which may throw std::bad_alloc and then changes nothing.
  std::optional<Id> Add(uint64_t offset, uint32_t bytes, Owner owner, ReadBuffer* lent = nullptr);

  // Posts the batch with one doorbell; returns whether there was any.
  bool Post(fabric::Connection* connection);

  // Takes completions and calls on_read(owner, status, ReadBuffer*) for each that is still wanted;
  // a buffer that was lent is to be exchanged back there. Returns whether there was any.
  template <typename OnRead>
  bool Collect(fabric::Connection* connection, OnRead&& on_read) {
    std::array<fabric::Completion, 64> completions;
    const size_t count = connection->Poll(completions);
    for (const fabric::Completion& completion : std::span(completions).first(count)) {
      Flight& flight = flights_[IndexOf(completion.tag)];
      if (!flight.flies || flight.id != completion.tag) {
        ++late_;
        continue;
      }
      if (flight.wanted) {
        on_read(flight.owner, completion.status, &flight.memory);
      } else {
        ++late_;
      }
      Land(&flight);
    }
    return count > 0;
  }

  // Its owner does not want it any more.
  void Abandon(Id id);

  size_t in_flight() const { return flights_.size() - free_.size(); }
  // Completions that nobody wanted any more.
  uint64_t late() const { return late_; }

 private:
  struct Flight {
    ReadBuffer memory;
    Id id = 0;
    Owner owner = 0;
    bool flies = false;
    bool wanted = false;
  };

  // The flight's number in the low half, above it how often that was used.
  static size_t IndexOf(Id id) { return id & UINT32_MAX; }
  void Land(Flight* flight);

  std::vector<Flight> flights_;  // as many as the connection's depth
  std::vector<uint32_t> free_;
  std::vector<fabric::ReadOp> batch_;
  uint64_t late_ = 0;
};

}  // namespace plov
