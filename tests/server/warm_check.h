// What must be true of a store that took over another one's memory, judged from its bytes.
#pragma once

#include <map>
#include <set>
#include <string>
#include <utility>

#include "tests/server/store_world.h"

namespace plov::server {

// A small table that stays as it is, in a file.
inline StoreOptions WarmOptions(const std::string& path) {
  return {.memory_bytes = kMiB,
          .hash_seed = 0x5eed,
          .clock_offset_us = kClockOffsetUs,
          .bucket_count = 64,
          .grows = false,
          .stashes = false,
          .warm_path = path};
}

// Every directory entry stands for a displaced key of its own, `overflow` for more of them than
// entries, and `stashed` for those in the stash. Shares no code with the table but the hash and the
// bucket format.
inline std::string WrongDirectory(StoreWorld* world) {
  using Ways = std::multiset<std::pair<uint32_t, uint32_t>>;
  const auto& geometry = world->geometry();
  std::string wrong;
  std::map<uint64_t, Ways> displaced;
  std::set<uint64_t> stashed;  // their homes
  world->VisitBuckets([&](const std::optional<verify::Bucket>& bucket, uint64_t index) {
    const std::string where = "bucket " + std::to_string(index);
    if (!bucket || bucket->kind() == verify::BucketKind::kRetired || bucket->forward()) {
      wrong = where + (!bucket ? " is not whole" : bucket->forward() ? " forwards" : " is retired");
      return;
    }
    if (bucket->kind() == verify::BucketKind::kEmpty) return;
    const uint64_t hash = bucket->kind() == verify::BucketKind::kReference
                              ? bucket->reference().hash
                              : world->HashOf(bucket->inline_item(geometry.bucket_bytes)->key());
    const auto ways = cuckoo::WaysOf(hash, geometry.bucket_count);
    if (index >= geometry.bucket_count) {
      stashed.insert(ways[0]);
    } else if (ways[0] != index) {
      displaced[ways[0]].insert({index == ways[1] ? 1 : 2, cuckoo::FingerprintOf(hash)});
    }
  });
  for (uint64_t index = 0; wrong.empty() && index < geometry.bucket_count; ++index) {
    const auto bucket = world->BucketAt(index);
    Ways& unlisted = displaced[index];
    const std::string where = "bucket " + std::to_string(index);
    for (size_t i = 0; i < verify::kDirectoryEntries; ++i) {
      const auto [way, fingerprint] = bucket->entry(i);
      if (way == 0 && fingerprint == 0) continue;
      const auto found = unlisted.find({way, fingerprint});
      if (found == unlisted.end()) return where + " has a stale directory entry";
      unlisted.erase(found);
    }
    if (bucket->overflow() == unlisted.empty()) return where + " has a wrong overflow";
    if (bucket->stashed() != stashed.contains(index)) return where + " has a wrong `stashed`";
  }
  return wrong;
}

// The keys that lie in table and stash.
inline std::set<std::string> KeysOf(StoreWorld* world) {
  std::set<std::string> keys;
  world->VisitBuckets([&](const std::optional<verify::Bucket>& bucket, uint64_t) {
    if (!bucket || bucket->kind() == verify::BucketKind::kEmpty) return;
    keys.emplace(bucket->kind() == verify::BucketKind::kInline
                     ? bucket->inline_item(world->geometry().bucket_bytes)->key()
                     : verify::OwnRecord(world->memory(), bucket->reference().offset).key());
  });
  return keys;
}

// What records need of the memory, from the bytes.
inline size_t AllocatedBytes(StoreWorld* world) {
  const size_t block_bytes = world->store().records().block_bytes();
  size_t bytes = 0;
  world->VisitBuckets([&](const std::optional<verify::Bucket>& bucket, uint64_t) {
    if (!bucket || bucket->kind() != verify::BucketKind::kReference) return;
    const size_t rounded = RecordArea::PlacedBytes(bucket->reference().record_bytes);
    const bool run = rounded > block_bytes / 16;
    bytes += run ? (rounded + kPageBytes - 1) / kPageBytes * kPageBytes : rounded;
  });
  return bytes;
}

// Empty when the store holds the model, all of it and nothing else, and its accounts are true.
inline std::string Wrong(StoreWorld* world, const Model& model) {
  if (const auto holds = Holds(world, model); !holds) return holds.message();
  if (auto wrong = WrongDirectory(world); !wrong.empty()) return wrong;
  for (const std::string& key : KeysOf(world)) {
    if (!model.contains(key)) return key + " is back";
  }
  if (AllocatedBytes(world) != world->store().records().allocated_bytes()) {
    return "allocated_bytes " + std::to_string(world->store().records().allocated_bytes()) +
           ", there are " + std::to_string(AllocatedBytes(world));
  }
  return {};
}

// Deletes everything: nothing but the table holds memory then, and the stash what it once took.
inline std::string WrongWhenEmptied(StoreWorld* world) {
  for (const std::string& key : KeysOf(world)) world->Delete(key);
  Store& store = world->store();
  store.growth().OnConfirmed(UINT64_MAX);
  store.OnIdle();
  if (store.table().stats().items != 0) return "items are left";
  if (store.records().allocated_bytes() != 0) return "records are left";
  if (store.stats().payload_bytes != 0) return "payload is left";
  const size_t table_bytes =
      (store.growth().table_bytes() + kPageBytes - 1) / kPageBytes * kPageBytes;
  size_t stash_bytes = 0;
  for (const auto& extent : store.superblock().stash.extents) stash_bytes += extent.bytes;
  if (store.memory().used_bytes() != verify::kRegionHeadBytes + table_bytes + stash_bytes) {
    return "memory is left: " + std::to_string(store.memory().used_bytes());
  }
  return {};
}

}  // namespace plov::server
