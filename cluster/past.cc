#include "cluster/past.h"

#include <utility>

namespace plov::cluster {

namespace {

size_t BytesOf(const Entry& entry) { return sizeof(Entry) + entry.data->size(); }

}  // namespace

void Past::Add(Entry entry) {
  bytes_ += BytesOf(entry);
  entries_.push_back(std::move(entry));
}

void Past::Trim(size_t bytes_max, int entries_max) {
  for (int i = 0; i < entries_max && bytes_ > bytes_max; ++i) {
    begin_ = entries_.front().at;
    bytes_ -= BytesOf(entries_.front());
    entries_.pop_front();
  }
}

std::optional<Position> Past::At(uint64_t number) const {
  if (number < begin_.number || number > begin_.number + entries_.size()) return std::nullopt;
  return number == begin_.number ? begin_ : entries_[number - begin_.number - 1].at;
}

std::vector<Entry> Past::After(uint64_t number, size_t bytes_max) const {
  std::vector<Entry> entries;
  size_t bytes = 0;
  for (size_t i = number - begin_.number; i < entries_.size(); ++i) {
    bytes += BytesOf(entries_[i]);
    if (!entries.empty() && bytes > bytes_max) break;
    entries.push_back(entries_[i]);
  }
  return entries;
}

}  // namespace plov::cluster
