#include "door/redis/key_index.h"

#include <xxhash.h>

#include <algorithm>
#include <utility>

namespace plov::door::redis {

namespace {

constexpr size_t kChunkMin = size_t{4} << 10;
constexpr size_t kChunkMax = size_t{1} << 20;
// Fewer names are not worth a walk of the table.
constexpr size_t kEntriesMin = 1000;

bool IsBefore(const KeyIndex::Entry& a, const KeyIndex::Entry& b) {
  if (a.position() != b.position()) return a.position() < b.position();
  return a.name() < b.name();
}

bool IsSame(const KeyIndex::Entry& a, const KeyIndex::Entry& b) {
  return a.position() == b.position() && a.name() == b.name();
}

void SortOnce(std::vector<KeyIndex::Entry>* entries) {
  std::ranges::sort(*entries, IsBefore);
  const auto twice = std::ranges::unique(*entries, IsSame);
  entries->erase(twice.begin(), twice.end());
}

}  // namespace

uint64_t KeyIndex::PositionOf(std::string_view name) {
  return XXH3_64bits(name.data(), name.size()) >> 16;
}

// An index has a quarter of --memory at the most, and leaves a quarter to all that is no index.
bool KeyIndex::Take(size_t bytes) {
  const size_t limit = budget_->limit_bytes();
  if (charged_bytes_ + bytes > limit / 4) return false;
  if (!budget_->Has(bytes + limit / 4) || !budget_->Charge(bytes)) return false;
  charged_bytes_ += bytes;
  return true;
}

bool KeyIndex::NeedsChunk(size_t name_bytes) const {
  return chunks_.empty() || chunks_.back().bytes - chunks_.back().used_bytes < name_bytes;
}

size_t KeyIndex::NextChunkBytes() const {
  return chunks_.empty() ? kChunkMin : std::min(chunks_.back().bytes * 2, kChunkMax);
}

// Whether one more name fits; memory for it is there then.
bool KeyIndex::HasRoom(size_t name_bytes) {
  if (NeedsChunk(name_bytes)) {
    const size_t bytes = NextChunkBytes();
    if (!Take(bytes)) return false;
    chunks_.push_back({.memory = std::make_unique_for_overwrite<char[]>(bytes), .bytes = bytes});
  }
  if (entries_.size() < entries_.capacity()) return true;
  const size_t before_bytes = entries_.capacity() * sizeof(Entry);
  const size_t count = std::max<size_t>(entries_.capacity() * 2, kChunkMin / sizeof(Entry));
  if (!Take(count * sizeof(Entry))) return false;
  entries_.reserve(count);
  budget_->Release(before_bytes);
  charged_bytes_ -= before_bytes;
  return true;
}

const char* KeyIndex::Store(std::string_view name) {
  Chunk& chunk = chunks_.back();
  char* const to = chunk.memory.get() + chunk.used_bytes;
  name.copy(to, name.size());
  chunk.used_bytes += name.size();
  return to;
}

// Into memory that is within what the index had before.
void KeyIndex::Copy(std::span<const Entry> entries) {
  for (const Entry& entry : entries) {
    const std::string_view name = entry.name();
    if (NeedsChunk(name.size())) {
      const size_t bytes = NextChunkBytes();
      chunks_.push_back({.memory = std::make_unique_for_overwrite<char[]>(bytes), .bytes = bytes});
      budget_->Add(bytes);
      charged_bytes_ += bytes;
    }
    entries_.emplace_back(entry.position(), Store(name), name.size());
  }
}

// Keeps each name once, and if that are many still, the lower half of them. False: there are too few to go on.
bool KeyIndex::Shrink() {
  const size_t before_count = entries_.size();
  if (before_count < kEntriesMin) return false;
  SortOnce(&entries_);
  size_t kept = entries_.size();
  if (kept > before_count / 2) {
    kept /= 2;
    while (kept > 0 && entries_[kept - 1].position() == entries_[kept].position()) --kept;
    if (kept < kEntriesMin) return false;
    to_ = entries_[kept].position();
  }
  const std::vector<Chunk> chunks = std::exchange(chunks_, {});
  std::vector<Entry> entries = std::exchange(entries_, {});
  const size_t before_bytes = charged_bytes_;
  entries_.reserve(std::max(kept, entries.capacity() / 2));
  charged_bytes_ = entries_.capacity() * sizeof(Entry);
  budget_->Add(charged_bytes_);
  Copy(std::span(entries).first(kept));
  budget_->Release(before_bytes);
  return true;
}

bool KeyIndex::Add(std::string_view name) {
  const uint64_t position = PositionOf(name);
  while (Has(position)) {
    if (HasRoom(name.size())) {
      entries_.emplace_back(position, Store(name), name.size());
      return true;
    }
    if (!Shrink()) return false;
  }
  return true;
}

void KeyIndex::Finish() { SortOnce(&entries_); }

size_t KeyIndex::Find(uint64_t position) const {
  return static_cast<size_t>(std::ranges::lower_bound(entries_, position, {}, &Entry::position) -
                             entries_.begin());
}

}  // namespace plov::door::redis
