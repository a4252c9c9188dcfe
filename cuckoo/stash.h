// Stash: the items that found no bucket of theirs, in buckets that no key hashes to. Readers ask the
// server for them; who scans READs them.
//
// Thread safety: one thread, the shard's.
// Memory: a bucket of the region, and beside it HeapBytes(key) for each item; nothing while there is
// none.
//
// The keys are in the order of their bytes and not under a hash: who fills a stash at will has chosen
// keys that collide.
// Source: Kirsch, Mitzenmacher, Wieder, "More robust hashing: cuckoo hashing with a stash", 2009.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cuckoo/geometry.h"
#include "cuckoo/rewrites.h"
#include "cuckoo/table_recovery.h"

namespace plov::cuckoo {

class Stash {
 public:
  // As for a table. Its memory may have been left by a former writer: then recovery is next.
  Stash(std::byte* region, const StashGeometry& geometry, Rewrites* rewrites)
      : region_(region), geometry_(geometry), rewrites_(rewrites) {}

  Stash(const Stash&) = delete;
  Stash& operator=(const Stash&) = delete;

  struct Entry {
    uint64_t index;
    uint64_t hash;
    // Generations of tables in which the key's home says that it is stashed.
    uint64_t noted_from;
    uint64_t noted_to;

    bool IsNotedIn(uint64_t generation) const {
      return noted_from <= generation && generation <= noted_to;
    }
  };

  uint64_t size() const { return keys_.size(); }
  // What an item takes beside its bucket, at most: two nodes, places in two lists, and its key.
  static size_t HeapBytes(size_t key_bytes) { return 192 + key_bytes; }
  size_t heap_bytes() const { return heap_bytes_; }
  // Items ever added since the start.
  uint64_t added() const { return added_; }
  // Entries are below this index.
  uint64_t end() const { return by_index_.size(); }
  // Sealed buckets that no item has.
  uint64_t room() const { return free_.size() + geometry_.bucket_count() - end(); }
  bool full() const { return room() == 0; }
  const StashGeometry& geometry() const { return geometry_; }

  // Memory for it, as the caller takes it; nothing is known of it to anybody but by the superblock.
  // Needs room for one more extent: whole pages.
  bool may_add_extent() const { return extents() < verify::kStashExtentsMax; }
  void AddExtent(const verify::StashExtent& extent) {
    geometry_.memory.extents[extents()] = extent;
  }
  // The memory that Extend will seal: at most so much, of what is not sealed yet. Bytes 0: all is.
  verify::StashExtent NextPart(uint64_t bytes_max) const;
  // Seals that memory, which is committed, as empty buckets.
  void Extend(const verify::StashExtent& part);

  Entry* Find(std::string_view key);
  // The entry at an index below end(), or null.
  Entry* At(uint64_t index);
  // The private copy of a bucket; nullopt when it fails its seal.
  std::optional<verify::Bucket> Load(uint64_t index) const;

  // Adds a key that is not in it. Needs !full().
  void Add(std::string_view key, uint64_t hash, const verify::Bucket& item, uint64_t generation);
  void Replace(uint64_t index, const verify::Bucket& item);
  void Remove(uint64_t index);

  // Forgets its memory, which the caller gives back. Needs size() 0.
  void Clear();

  // Recovery. TakeOver of every bucket; of each with an item KeepAt or Drop; FinishTakeOver.
  // What fails its seal or holds nonsense is emptied.
  TableRecovery::Left TakeOver(uint64_t index, verify::Bucket* bucket);
  void KeepAt(std::string_view key, const Entry& entry);
  void Drop(uint64_t index);
  void FinishTakeOver();

 private:
  using Keys = std::map<std::string, Entry, std::less<>>;

  size_t extents() const;
  uint64_t* WordsOf(uint64_t index) const {
    return verify::WordsAt(region_, geometry_.BucketOffset(index));
  }
  void Rewrite(uint64_t index, verify::Bucket* bucket);

  std::byte* region_;
  StashGeometry geometry_;
  Rewrites* rewrites_;
  Keys keys_;
  std::vector<Keys::iterator> by_index_;  // keys_.end() where there is none
  std::vector<uint64_t> free_;            // of these
  size_t heap_bytes_ = 0;
  uint64_t added_ = 0;
};

}  // namespace plov::cuckoo
