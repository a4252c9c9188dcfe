// Modified vectors: vectors that all client processes change together, and how what is found in them is judged.
//
// Every update adds 1 to all elements of one half of a vector, or of both. So the elements of a half are equal at every instant,
// however they are looked at: by a GET, a REDUCE or a FILTER. They are no less than the updates that were told before, and no
// more than have begun and were not refused: each is applied once or not at all.
#pragma once

#include <plov/client.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "program/random.h"
#include "torture/modified_state.h"

namespace plov::torture {

// Of one process.
class ModifiedVectors {
 public:
  using Wrong = std::optional<std::string>;

  // may_be_old: of what GETs find.
  ModifiedVectors(size_t value_bytes_max, bool may_be_old, program::Random* random,
                  std::array<ModifiedVector, ModifiedState::kVectors>* vectors)
      : value_bytes_max_(value_bytes_max),
        may_be_old_(may_be_old),
        random_(random),
        vectors_(vectors) {}

  // Each of the vector of an index, whose key this is. What was wrong, if anything.
  Wrong Update(Client* client, size_t index, std::string_view key);
  Wrong Get(Client* client, size_t index, std::string_view key);
  Wrong Reduce(Client* client, size_t index, std::string_view key);
  Wrong Filter(Client* client, size_t index, std::string_view key);
  // Operations whose outcome was judged.
  uint64_t judged() const { return judged_; }

 private:
  // How often a half may have been updated, while it is looked at.
  struct Bounds {
    uint64_t told;
    uint64_t refused;
  };

  static ElementType TypeOf(size_t index);
  size_t HalfOf(size_t index) const;  // elements
  Bounds BoundsOf(size_t index, size_t half) const;
  // What one of its elements is.
  Wrong Check(size_t index, size_t half, const Bounds& bounds, double element);
  Wrong CheckHalf(size_t index, size_t half, const Bounds& bounds, std::string_view elements);

  size_t value_bytes_max_;
  bool may_be_old_;
  program::Random* random_;
  std::array<ModifiedVector, ModifiedState::kVectors>* vectors_;
  uint64_t judged_ = 0;
};

}  // namespace plov::torture
