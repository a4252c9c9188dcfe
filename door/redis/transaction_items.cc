#include "door/redis/transaction_items.h"

#include <utility>

namespace plov::door::redis {

void TransactionItems::Want(std::string_view key, Part part) {
  const auto [place, is_new] = places_.try_emplace(key, entries_.size());
  if (is_new) entries_.push_back({.key = key, .part = part, .value = {}, .item = {}});
  if (part == Part::kValue) entries_[place->second].part = part;
}

Version TransactionItems::version(std::string_view key) const {
  return entries_[places_.at(key)].version;
}

void TransactionItems::Store(Entry* entry, std::string value, const Item& like) {
  value_bytes_ -= entry->value.size();
  entry->value = std::move(value);
  value_bytes_ += entry->value.size();
  entry->item = like;
  entry->item->value = entry->value;
}

void TransactionItems::TakeRead(size_t i, const Item* item) {
  Entry& entry = entries_[i];
  is_too_large_ = false;
  entry.is_changed = false;
  entry.version = item == nullptr ? 0 : item->version;
  if (entry.part == Part::kVersionOnly) return;
  Store(&entry, item == nullptr ? std::string() : std::string(item->value),
        item == nullptr ? Item() : *item);
  if (item == nullptr) entry.item.reset();
}

const Item* TransactionItems::Find(std::string_view key) const {
  const Entry& entry = entries_[places_.at(key)];
  return entry.item ? &*entry.item : nullptr;
}

void TransactionItems::Apply(std::string_view key, Change change) {
  Entry& entry = entries_[places_.at(key)];
  Item like = entry.item.value_or(Item());
  switch (change.action) {
    case Change::Action::kNothing:
      return;
    case Change::Action::kPut:
      like.flags = change.flags;
      like.expiry = change.ttl.expiry();
      break;
    case Change::Action::kAppend:
      change.value.insert(0, entry.value);
      break;
    case Change::Action::kTouch:
      change.value = entry.value;
      like.expiry = change.ttl.expiry();
      break;
    case Change::Action::kDelete:
      break;
  }
  entry.is_changed = true;
  is_too_large_ = is_too_large_ || change.value.size() > kCommitBytesMax;
  Store(&entry, std::move(change.value), like);
  if (change.action == Change::Action::kDelete) entry.item.reset();
}

std::vector<CommitRead> TransactionItems::Reads() const {
  std::vector<CommitRead> reads;
  for (const Entry& entry : entries_) reads.push_back({entry.key, entry.version});
  return reads;
}

std::vector<CommitWrite> TransactionItems::Writes() const {
  std::vector<CommitWrite> writes;
  for (const Entry& entry : entries_) {
    if (!entry.is_changed) continue;
    if (entry.item) {
      writes.push_back({.key = entry.key,
                        .value = entry.value,
                        .flags = entry.item->flags,
                        .ttl = Lifetime::Until(entry.item->expiry)});
    } else if (entry.version != 0) {
      writes.push_back({.key = entry.key, .value = std::nullopt});
    }
  }
  return writes;
}

}  // namespace plov::door::redis
