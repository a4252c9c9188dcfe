#include "verify/cluster_map.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "verify/byte_fields.h"
#include "verify/seal.h"
#include "verify/words.h"

namespace plov::verify {

namespace {

constexpr uint64_t kClusterHeadSeed = 0x706c6f76636c7573;
constexpr uint64_t kOathSeed = 0x706c6f766f617468;

// Under a seed that says whose map it is.
uint64_t MapChecksum(std::span<const std::byte> map, uint64_t cluster_id, uint64_t life) {
  const uint64_t seed = Mix(cluster_id ^ Mix(life ^ 0x636c75737465726d));
  return Checksum(map.data() + kWordBytes, map.size() - kWordBytes, seed);
}

uint64_t ChecksumOf(const ClusterHead& head) {
  return Checksum(&head.magic, sizeof(head) - offsetof(ClusterHead, magic), kClusterHeadSeed);
}

std::optional<ClusterMap::Server> TakeServer(ByteReader* reader) {
  ClusterMap::Server server;
  const auto id_bytes = reader->Take<uint16_t>();
  const auto uris = reader->Take<uint16_t>();
  server.id = reader->TakeText(id_bytes);
  for (uint32_t i = 0; i < uris && !reader->failed(); ++i) {
    server.uris.push_back(reader->TakeText(reader->Take<uint16_t>()));
  }
  if (!reader->TakeRestOfWord() || reader->failed()) return std::nullopt;
  if (server.id.empty() || server.uris.empty()) return std::nullopt;
  return server;
}

std::optional<ClusterMap::Shard> TakeShard(ByteReader* reader, size_t servers) {
  ClusterMap::Shard shard;
  shard.epoch = reader->Take<uint64_t>();
  shard.slot_first = reader->Take<uint16_t>();
  shard.slot_last = reader->Take<uint16_t>();
  const auto members = reader->Take<uint8_t>();
  shard.primary = reader->Take<uint8_t>();
  shard.number = reader->Take<uint16_t>();
  for (uint32_t i = 0; i < members; ++i) {
    ClusterMap::Member member;
    member.incarnation = reader->Take<uint64_t>();
    member.server = reader->Take<uint16_t>();
    if (!reader->TakeZeros(6) || reader->failed()) return std::nullopt;
    if (member.incarnation == 0 || member.server >= servers) return std::nullopt;
    shard.in_sync.push_back(member);
  }
  if (reader->failed() || shard.epoch == 0 || shard.primary >= members) return std::nullopt;
  if (shard.number >= kSlots || shard.slot_last >= kSlots) return std::nullopt;
  if (shard.slot_first > shard.slot_last) return std::nullopt;
  return shard;
}

// Every slot once, in their order, and no number twice.
bool CoverAllSlots(const std::vector<ClusterMap::Shard>& shards) {
  std::vector<bool> numbers(kSlots);
  uint32_t next = 0;
  for (const ClusterMap::Shard& shard : shards) {
    if (shard.slot_first != next || numbers[shard.number]) return false;
    numbers[shard.number] = true;
    next = uint32_t{shard.slot_last} + 1;
  }
  return next == kSlots;
}

}  // namespace

ClusterHead MakeClusterHead(uint64_t cluster_id, uint64_t life) {
  ClusterHead head{.checksum = 0,
                   .magic = kClusterMagic,
                   .format = kClusterFormat,
                   .page_bytes = kPageBytes,
                   .cluster_id = cluster_id,
                   .life = life,
                   .region_bytes = kClusterRegionBytes};
  head.checksum = ChecksumOf(head);
  return head;
}

std::expected<void, Error> CheckClusterHead(const ClusterHead& copy) {
  if (copy.magic != kClusterMagic) return Fail(Code::kProtocol, "the server is not in a cluster");
  if (copy.format != kClusterFormat) {
    return Fail(Code::kProtocol, "the server's map has format version " +
                                     std::to_string(copy.format) + ", this client reads " +
                                     std::to_string(kClusterFormat) +
                                     ": use the same release of both");
  }
  const bool is_whole = copy.checksum == ChecksumOf(copy) && copy.cluster_id != 0 &&
                        copy.life != 0 && copy.page_bytes == kPageBytes &&
                        copy.region_bytes == kClusterRegionBytes;
  if (!is_whole) return Fail(Code::kProtocol, "the head of the server's map is damaged");
  return {};
}

uint64_t Oath(uint64_t cluster_id, uint32_t shard, uint64_t epoch, uint64_t incarnation) {
  const std::array<uint64_t, 4> of = {cluster_id, shard, epoch, incarnation};
  const uint64_t oath = Checksum(of.data(), sizeof(of), kOathSeed);
  return oath == 0 ? 1 : oath;
}

void SealMap(std::span<std::byte> map, uint64_t cluster_id, uint64_t life) {
  const auto bytes = static_cast<uint32_t>(map.size());
  std::memcpy(map.data() + 2 * kWordBytes, &bytes, sizeof(bytes));
  const uint64_t checksum = MapChecksum(map, cluster_id, life);
  std::memcpy(map.data(), &checksum, sizeof(checksum));
}

std::vector<std::byte> EncodeMap(const ClusterMap& map, uint64_t cluster_id, uint64_t life) {
  ByteWriter writer;
  writer.Put(uint64_t{0});
  writer.Put(map.version);
  writer.Put(uint32_t{0});
  writer.Put(static_cast<uint32_t>(map.servers.size()));
  writer.Put(static_cast<uint32_t>(map.shards.size()));
  writer.Put(map.rate_error_ppm);
  writer.Put(map.hash_seed);
  writer.Put(map.lease_us);
  writer.Put(std::array<uint64_t, 2>{});
  for (const ClusterMap::Server& server : map.servers) {
    writer.Put(static_cast<uint16_t>(server.id.size()));
    writer.Put(static_cast<uint16_t>(server.uris.size()));
    writer.PutText(server.id);
    for (const std::string& uri : server.uris) {
      writer.Put(static_cast<uint16_t>(uri.size()));
      writer.PutText(uri);
    }
    writer.PadToWord();
  }
  for (const ClusterMap::Shard& shard : map.shards) {
    writer.Put(shard.epoch);
    writer.Put(shard.slot_first);
    writer.Put(shard.slot_last);
    writer.Put(static_cast<uint8_t>(shard.in_sync.size()));
    writer.Put(shard.primary);
    writer.Put(shard.number);
    for (const ClusterMap::Member& member : shard.in_sync) {
      writer.Put(member.incarnation);
      writer.Put(member.server);
      writer.Put(std::array<uint16_t, 3>{});
    }
  }
  std::vector<std::byte> bytes = writer.Take();
  SealMap(bytes, cluster_id, life);
  return bytes;
}

uint64_t GuessMapVersion(std::span<const std::byte, kMapHeadBytes> head) {
  return NumberAt<uint64_t>(head, kWordBytes);
}

uint32_t GuessMapBytes(std::span<const std::byte, kMapHeadBytes> head) {
  const auto bytes = NumberAt<uint32_t>(head, 2 * kWordBytes);
  const bool makes_sense =
      bytes >= kMapHeadBytes && bytes <= kMapBytesMax && bytes % kWordBytes == 0;
  return makes_sense && GuessMapVersion(head) != 0 ? bytes : 0;
}

std::optional<ClusterMap> DecodeMap(std::span<const std::byte> bytes, uint64_t cluster_id,
                                    uint64_t life) {
  if (bytes.size() < kMapHeadBytes) return std::nullopt;
  if (GuessMapBytes(bytes.first<kMapHeadBytes>()) != bytes.size()) return std::nullopt;
  if (MapChecksum(bytes, cluster_id, life) != NumberAt<uint64_t>(bytes, 0)) return std::nullopt;
  ByteReader reader(bytes.subspan(kWordBytes));
  ClusterMap map;
  map.version = reader.Take<uint64_t>();
  reader.Take<uint32_t>();
  const auto servers = reader.Take<uint32_t>();
  const auto shards = reader.Take<uint32_t>();
  map.rate_error_ppm = reader.Take<uint32_t>();
  map.hash_seed = reader.Take<uint64_t>();
  map.lease_us = reader.Take<uint64_t>();
  if (!reader.TakeZeros(2 * kWordBytes)) return std::nullopt;
  for (uint32_t i = 0; i < servers; ++i) {
    auto server = TakeServer(&reader);
    if (!server) return std::nullopt;
    map.servers.push_back(std::move(*server));
  }
  for (uint32_t i = 0; i < shards; ++i) {
    auto shard = TakeShard(&reader, map.servers.size());
    if (!shard) return std::nullopt;
    map.shards.push_back(std::move(*shard));
  }
  if (!reader.at_end() || !CoverAllSlots(map.shards)) return std::nullopt;
  return map;
}

std::optional<ClusterMap> ReadMap(const ReadRegion& read, uint64_t cluster_id, uint64_t life) {
  struct Place {
    uint64_t offset;
    std::array<std::byte, kMapHeadBytes> head;
  };
  std::array<Place, 2> places = {Place{MapOffset(0), {}}, Place{MapOffset(1), {}}};
  for (Place& place : places) {
    if (!read(place.offset, place.head)) return std::nullopt;
  }
  std::ranges::sort(places, std::ranges::greater{},
                    [](const Place& place) { return GuessMapVersion(place.head); });
  for (const Place& place : places) {
    std::vector<std::byte> bytes(GuessMapBytes(place.head));
    if (bytes.empty() || !read(place.offset, bytes)) continue;
    if (auto map = DecodeMap(bytes, cluster_id, life)) return map;
  }
  return std::nullopt;
}

}  // namespace plov::verify
