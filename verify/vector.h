// Vectors: values that are elements of one type, and what a server does with them where they are - UPDATE, REDUCE and
// FILTER. Whoever READs such an item sees of what type it is.
//
// What an UPDATE, a REDUCE or a FILTER carries as its value:
//       0    1 function        that is applied; of a FILTER the comparison
//       1    1 element type    the operand's; 0 of a REDUCE
//       2    6 reserved, zero
//       8    8 first           the element with which the slice begins
//      16    8 count           of its elements; 2^64-1: all up to the end
//      24    . operand         of an UPDATE one element, or one for each of the slice; of a FILTER one; of a REDUCE none
//
// The value of the reply to a REDUCE, and to a FILTER:
//       0    1 element type    the vector's
//       1    7 reserved, zero
//       8    8 count           of the slice's elements; of a FILTER the element with which to go on, 2^64-1 when it is over
//      16    8 result          a signed or unsigned integer or a double, as the elements are; none of a FILTER
//      16    . matches         of a FILTER, in their order: the index of each in 4 bytes, and the element
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "verify/elements.h"

namespace plov::verify {

using plov::Comparison;
using plov::ElementBytes;
using plov::ElementType;
using plov::IsFloating;
using plov::kVectorHeadBytes;
using plov::VectorFunction;
using plov::VectorHead;
using plov::VectorSlice;
using plov::VectorTypeOf;

inline constexpr size_t kElementBytesMax = 8;
constexpr bool IsElementType(uint8_t type) {
  return ElementBytes(static_cast<ElementType>(type)) != 0;
}

constexpr bool IsVectorFunction(uint8_t function) { return function >= 1 && function <= 7; }
constexpr bool Applies(VectorFunction function, ElementType type) {
  return function < VectorFunction::kAnd || !IsFloating(type);
}

constexpr bool IsComparison(uint8_t comparison) { return comparison >= 1 && comparison <= 6; }

// The head of what a request carries.
struct VectorCall {
  uint8_t function = 0;  // a VectorFunction, or a Comparison
  uint8_t type = 0;      // an ElementType, or 0
  VectorSlice slice = {};

  bool operator==(const VectorCall&) const = default;
};
inline constexpr size_t kVectorCallBytes = 24;
// Writes kVectorCallBytes.
void EncodeVectorCall(const VectorCall& call, char* to);
// nullopt: no client of ours sends this.
std::optional<VectorCall> DecodeVectorCall(std::string_view bytes);

// The head of a reply's value.
struct VectorAnswer {
  uint8_t type = 0;
  uint64_t count = 0;

  bool operator==(const VectorAnswer&) const = default;
};
inline constexpr size_t kVectorAnswerBytes = 16;
std::string EncodeVectorAnswer(const VectorAnswer& answer);
std::optional<VectorAnswer> DecodeVectorAnswer(std::string_view bytes);

// Changes so many elements; `operand` has one, or as many. Needs Applies.
void UpdateElements(VectorFunction function, ElementType type, char* elements, size_t count,
                    std::string_view operand);

// What a function makes of many elements, in their order, a part of them at a time. Needs Applies, and no kAssign.
class Reduction {
 public:
  Reduction(VectorFunction function, ElementType type);
  // Whole elements.
  void Add(std::string_view elements);
  // Of an int64_t of signed elements, a uint64_t of unsigned ones, else of a double. kAdd of integers is modulo 2^64; of no
  // elements it is what changes nothing: of kMin the greatest one, for one.
  uint64_t bits() const { return bits_; }

 private:
  VectorFunction function_;
  ElementType type_;
  uint64_t bits_ = 0;
};

// Appends the matches among whole elements, of which the first has this index, until `matches` would be of more bytes than
// that. Returns how many elements were looked at.
size_t FilterElements(Comparison comparison, ElementType type, std::string_view operand,
                      std::string_view elements, uint32_t index, size_t bytes_max,
                      std::string* matches);

}  // namespace plov::verify
