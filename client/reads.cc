#include "client/reads.h"

#include <algorithm>
#include <new>

#include "verify/bucket.h"
#include "verify/words.h"

namespace plov {

namespace {

// A larger buffer is given back once nobody wants its bytes.
constexpr size_t kWordsKept = (size_t{1} << 20) / verify::kWordBytes;
constexpr size_t kWordsAtFirst = 512;
constexpr Reads::Id kNextUse = uint64_t{1} << 32;

}  // namespace

bool GrowTo(ReadBuffer* buffer, size_t bytes) noexcept {
  const size_t words = verify::RoundUpToWord(bytes) / verify::kWordBytes;
  try {
    buffer->resize(std::max(words, kWordsAtFirst));
  } catch (const std::bad_alloc&) {
    return false;
  }
  return true;
}

// A bucket always finds room.
Reads::Reads(size_t depth) : flights_(depth) {
  for (size_t i = depth; i > 0; --i) {
    flights_[i - 1].memory.resize(verify::kBucketWordsMax);
    free_.push_back(static_cast<uint32_t>(i - 1));
  }
  batch_.reserve(depth);
}

std::optional<Reads::Id> Reads::Add(uint64_t offset, uint32_t bytes, Owner owner,
                                    ReadBuffer* lent) {
  if (free_.empty()) return std::nullopt;
  const uint32_t index = free_.back();
  Flight& flight = flights_[index];
  ReadBuffer& memory = lent == nullptr ? flight.memory : *lent;
  if (!Grow(&memory, bytes)) throw std::bad_alloc();
  if (lent != nullptr) flight.memory.swap(*lent);
  free_.pop_back();
  flight.id = ((flight.id + kNextUse) & ~uint64_t{UINT32_MAX}) | index;
  flight.owner = owner;
  flight.flies = flight.wanted = true;
  batch_.push_back({.offset = offset,
                    .bytes = bytes,
                    .to = BytesOf(&flight.memory, bytes).data(),
                    .tag = flight.id});
  return flight.id;
}

bool Reads::Post(fabric::Connection* connection) {
  if (batch_.empty()) return false;
  const size_t posted = connection->Read(batch_);
  batch_.erase(batch_.begin(), batch_.begin() + static_cast<ptrdiff_t>(posted));
  return posted > 0;
}

void Reads::Abandon(Id id) {
  Flight& flight = flights_[IndexOf(id)];
  if (flight.flies && flight.id == id) flight.wanted = false;
}

void Reads::Land(Flight* flight) {
  flight->flies = false;
  if (!flight->wanted && flight->memory.size() > kWordsKept) {
    flight->memory = ReadBuffer(verify::kBucketWordsMax);
  }
  free_.push_back(static_cast<uint32_t>(flight - flights_.data()));
}

}  // namespace plov
