// KeyMatches: the names of an index that match a pattern, as KEYS tells them piece by piece.
//
// Threads: found by one, then used by one.
#pragma once

#include <cstddef>
#include <expected>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "door/budget.h"
#include "door/redis/key_walks.h"
#include "verify/error.h"

namespace plov::door::redis {

class KeyMatches {
 public:
  // is_wanted: asked from time to time; false ends it. Errors: kNoSpace, kUnavailable when it was ended.
  static std::expected<std::unique_ptr<KeyMatches>, Error> Find(
      const KeyWalks::Index& index, std::string_view glob, Budget* budget,
      const std::function<bool()>& is_wanted);
  KeyMatches(const KeyMatches&) = delete;
  KeyMatches& operator=(const KeyMatches&) = delete;
  ~KeyMatches();

  // Names that have not been told.
  size_t left() const { return left_; }
  // Tells the next ones, as many as make about so many bytes.
  void AddTo(std::string* reply, size_t bytes);

 private:
  KeyMatches(KeyWalks::Index index, Budget* budget)
      : index_(std::move(index)), budget_(budget), is_match_(index_->entries().size()) {}

  const KeyWalks::Index index_;
  Budget* const budget_;
  std::vector<bool> is_match_;
  size_t next_ = 0;
  size_t left_ = 0;
};

}  // namespace plov::door::redis
