// What a server of a cluster shows its readers beside its shards, in a region of its own that they READ:
// which configurations it holds (oaths), and where all shards are (the map).
//
//   offset      bytes
//        0       4096  head: see ClusterHead
//     4096     131072  oaths: a word for each shard number. What Oath() gives, while the server holds that
//                      configuration of the shard; else 0
//   135168  2 * 8 MiB  two places for the map; version N is in place N % 2, so that one of them is whole
//                      while the other is written. The newer one that is whole counts
//
// The map, a head of 64 bytes, then its servers, then its shards:
//  offset size field            guards against
//       0    8 checksum         XXH3 of bytes 8..bytes under a seed of cluster id and life: a map that was
//                               READ while it was written, or that belongs elsewhere
//       8    8 version          of this server's life, from 1 on, one more for every change
//      16    4 bytes            of all
//      20    4 servers
//      24    4 shards
//      28    4 rate error       by which two hosts' clocks may differ, in millionths
//      32    8 hash seed        the same on all servers
//      40    8 lease            microseconds; 0: a reader looks in every GET
//      48   16 zero
// A server:
//       0    2 ID bytes
//       2    2 URIs
//       4      ID; then of each URI 2 bytes of its length, and it; zeros to the next word
// A shard, all slots of all shards being 0..16383, each once, in their order:
//       0    8 epoch
//       8    2 first slot
//      10    2 last slot        it is the shard's, too
//      12    1 members
//      13    1 primary          which of them
//      14    2 shard number     no other has it
// and a member of its configuration, which is in sync:
//       0    8 incarnation      of the region that it holds
//       8    2 server           which of the map's
//      10    6 zero
//
// A map may be old; what it says is true of the epoch that it names, and whether that is over a reader sees by the
// oaths. Of two maps the shard with the greater epoch counts.
#pragma once

#include <cstddef>
#include <cstdint>
#include <expected>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "verify/error.h"
#include "verify/superblock.h"

namespace plov::verify {

// Keys belong to slots, slots to shards, which are ranges of them.
inline constexpr uint32_t kSlots = kShardsMax;
inline constexpr size_t kOathsOffset = kPageBytes;
inline constexpr size_t kMapsOffset = kOathsOffset + kSlots * sizeof(uint64_t);
inline constexpr size_t kMapBytesMax = size_t{8} << 20;
inline constexpr size_t kMapHeadBytes = 64;
inline constexpr size_t kClusterRegionBytes = kMapsOffset + 2 * kMapBytesMax;
static_assert(kMapsOffset == 135168);

inline constexpr uint64_t kClusterMagic = 0x0100'6c63'766f'6c70;  // "plovcl\0\1"
inline constexpr uint32_t kClusterFormat = 1;

struct ClusterHead {
  uint64_t checksum;  // XXH3 of the rest under a seed of the format
  uint64_t magic;
  uint32_t format;
  uint32_t page_bytes;
  uint64_t cluster_id;  // random, not 0
  uint64_t life;        // of the server's process; random, not 0
  uint64_t region_bytes;
};
static_assert(sizeof(ClusterHead) == 48);

ClusterHead MakeClusterHead(uint64_t cluster_id, uint64_t life);
// kProtocol with what is wrong in words: another format, no such region, damaged.
std::expected<void, Error> CheckClusterHead(const ClusterHead& copy);

// Never 0. No two configurations, shards, lives of a region or clusters have the same.
uint64_t Oath(uint64_t cluster_id, uint32_t shard, uint64_t epoch, uint64_t incarnation);
constexpr size_t OathOffset(uint32_t shard) { return kOathsOffset + shard * sizeof(uint64_t); }

struct ClusterMap {
  struct Server {
    std::string id = {};
    std::vector<std::string> uris = {};
    bool operator==(const Server&) const = default;
  };
  struct Member {
    uint64_t incarnation = 0;  // not 0
    uint16_t server = 0;       // of `servers`
    bool operator==(const Member&) const = default;
  };
  struct Shard {
    uint64_t epoch = 0;  // from 1 on
    uint16_t slot_first = 0;
    uint16_t slot_last = 0;
    uint16_t number = 0;
    uint8_t primary = 0;  // of `in_sync`
    std::vector<Member> in_sync = {};
    bool operator==(const Shard&) const = default;
  };

  uint64_t version = 0;
  uint64_t hash_seed = 0;
  uint64_t lease_us = 0;
  uint32_t rate_error_ppm = 0;
  std::vector<Server> servers = {};
  std::vector<Shard> shards = {};  // by their slots

  bool operator==(const ClusterMap&) const = default;
};

// Of its place in the region.
constexpr size_t MapOffset(uint64_t version) { return kMapsOffset + version % 2 * kMapBytesMax; }

// Its length and its checksum, of whole words that hold the rest of a map.
void SealMap(std::span<std::byte> map, uint64_t cluster_id, uint64_t life);
// Sealed; whole words. Needs a map that DecodeMap accepts, of at most kMapBytesMax.
std::vector<std::byte> EncodeMap(const ClusterMap& map, uint64_t cluster_id, uint64_t life);

// The bytes that a map has by its head, which nothing vouches for: at least a head's, at most kMapBytesMax, whole words;
// 0: there is none.
uint32_t GuessMapBytes(std::span<const std::byte, kMapHeadBytes> head);
uint64_t GuessMapVersion(std::span<const std::byte, kMapHeadBytes> head);
// nullopt: torn, foreign, or it makes no sense.
std::optional<ClusterMap> DecodeMap(std::span<const std::byte> bytes, uint64_t cluster_id,
                                    uint64_t life);

// READs `to.size()` bytes of the region from an offset; false: they could not be READ.
using ReadRegion = std::function<bool(uint64_t offset, std::span<std::byte> to)>;
// The newest map that is whole. nullopt: there is none yet, READs fail, or the server has published twice
// meanwhile: try again. Cost: 3 READs, or 4.
std::optional<ClusterMap> ReadMap(const ReadRegion& read, uint64_t cluster_id, uint64_t life);

}  // namespace plov::verify
