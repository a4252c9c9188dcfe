// A record goes into the place of dead ones, and the server is killed at any store of that: whoever
// takes the memory over walks over the block's heads, and over nothing that a client wrote. This
// executable compiles the area once more under an observer of shared words.
#include <gtest/gtest.h>

#include <cstring>
#include <vector>

#include "tests/server/area_world.h"
#include "tests/watched/watched_words.h"

namespace plov::server {
namespace {

constexpr size_t kBudget = kMiB;
constexpr size_t kLiveBytes = 200;

// What a client may have written into a record: every word is the length of a dead record, so that
// a walk that enters it finds one hole after the other, up to the block's end.
void FillWithHeads(AreaWorld* world, uint64_t offset, size_t record_bytes) {
  const verify::RecordHeader head{.checksum = 0,
                                  .mask = 0,
                                  .version = 0,
                                  .value_bytes = 24,
                                  .key_bytes = 0,
                                  .type = 0,
                                  .flags = 0,
                                  .expiry = 0};
  uint64_t lengths;
  std::memcpy(&lengths, reinterpret_cast<const std::byte*>(&head) + 24, sizeof(lengths));
  uint64_t* words = verify::WordsAt(world->region().data(), offset);
  for (size_t at = verify::kRecordHeaderBytes; at + 8 <= record_bytes; at += 8) {
    words[at / 8] = at % 64 == 24 ? lengths : 0;
  }
}

// Three records, of which two die, and then what is to go into their place.
struct Hole {
  explicit Hole(size_t first_bytes, size_t second_bytes) {
    const uint64_t first = *world.Put(first_bytes);
    const uint64_t second = *world.Put(second_bytes);
    live = world.owned().at(*world.Put(kLiveBytes)).offset;
    for (const uint64_t version : {first, second}) {
      const AreaWorld::Owned dead = world.owned().at(version);
      world.Remove(version);
      FillWithHeads(&world, dead.offset, dead.bytes);
    }
    // Nothing is allocated at the end of a block that is closed.
    world.Fill(RecordArea::BlockBytesFor(kBudget) / 16 - 64);
  }

  AreaWorld world{kBudget};
  uint64_t live = 0;
};

// Takes the memory over with what is still alive in it, and allocates in its holes.
void CheckNextLife(const std::vector<std::byte>& memory, uint64_t live, size_t store) {
  AreaWorld next(kBudget);
  ASSERT_TRUE(next.region().Commit(0, next.region().budget_bytes()));
  ASSERT_TRUE(next.area().Adopt(live, kLiveBytes));
  std::memcpy(next.region().data(), memory.data(), memory.size());
  for (size_t bytes = verify::kRecordHeaderBytes; bytes < 900; bytes += 8) {
    const auto offset = next.area().AllocateInHole(bytes);
    if (!offset) continue;
    EXPECT_TRUE(*offset + RecordArea::PlacedBytes(bytes) <= live ||
                *offset >= live + RecordArea::PlacedBytes(kLiveBytes))
        << "a record of " << bytes << " bytes goes over a live one, after a kill at store "
        << store;
  }
}

TEST(RecordHole, CanBeWalkedWhereverAKillStrikes) {
  size_t kills = 0;
  for (const size_t first_bytes : {64u, 128u, 256u, 320u}) {
    for (const size_t second_bytes : {64u, 192u, 448u}) {
      for (size_t bytes = 48; bytes <= first_bytes + second_bytes; bytes += 8) {
        Hole hole(first_bytes, second_bytes);
        std::vector<std::vector<std::byte>> memories;
        const std::byte* data = hole.world.region().data();
        const size_t block_bytes = hole.world.area().block_bytes();
        const size_t end = (hole.live / block_bytes + 1) * block_bytes;
        verify::store_observer = [&](verify::Store, const uint64_t*) {
          memories.emplace_back(data, data + end);
        };
        const auto placed = hole.world.area().AllocateInHole(bytes);
        verify::store_observer = nullptr;
        if (!placed) continue;
        kills += memories.size();
        for (size_t i = 0; i < memories.size(); ++i) CheckNextLife(memories[i], hole.live, i);
      }
    }
  }
  EXPECT_GT(kills, 100);
}

}  // namespace
}  // namespace plov::server
