// Elements: what vectors are made of, and the 8 bytes with which a value says that it is one. Installed as plov/elements.h.
//
//  offset size field
//       0    4 magic           "plv" and 0xfe: a value of another kind
//       4    1 element type
//       5    3 reserved, zero
//       8    . elements        little-endian, to the value's end
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace plov {

// Numbers never change: they are in what is stored.
enum class ElementType : uint8_t {
  kInt8 = 1,
  kInt16 = 2,
  kInt32 = 3,
  kInt64 = 4,
  kUint8 = 5,
  kUint16 = 6,
  kUint32 = 7,
  kUint64 = 8,
  kFloat = 9,
  kDouble = 10,
};
constexpr bool IsFloating(ElementType type) { return type >= ElementType::kFloat; }

// 0 of what is no type.
constexpr size_t ElementBytes(ElementType type) {
  constexpr std::array<uint8_t, 11> kBytes{0, 1, 2, 4, 8, 1, 2, 4, 8, 4, 8};
  const auto index = static_cast<size_t>(type);
  return index < kBytes.size() ? kBytes[index] : 0;
}

// Calls `body` with a zero of this type, which is one.
template <typename Body>
auto WithElement(ElementType type, Body&& body) {
  switch (type) {
    case ElementType::kInt8:
      return body(int8_t{});
    case ElementType::kInt16:
      return body(int16_t{});
    case ElementType::kInt32:
      return body(int32_t{});
    case ElementType::kInt64:
      return body(int64_t{});
    case ElementType::kUint8:
      return body(uint8_t{});
    case ElementType::kUint16:
      return body(uint16_t{});
    case ElementType::kUint32:
      return body(uint32_t{});
    case ElementType::kUint64:
      return body(uint64_t{});
    case ElementType::kFloat:
      return body(float{});
    case ElementType::kDouble:
      break;
  }
  return body(double{});
}

inline constexpr size_t kVectorHeadBytes = 8;
inline std::string VectorHead(ElementType type) {
  std::string head = "plv\xfe";
  head.push_back(static_cast<char>(type));
  head.resize(kVectorHeadBytes);
  return head;
}

// Of a value of so many bytes, which begins so. std::nullopt: it is no vector.
inline std::optional<ElementType> VectorTypeOf(std::string_view head, size_t value_bytes) {
  if (head.size() < kVectorHeadBytes) return std::nullopt;
  const auto type = static_cast<ElementType>(head[4]);
  const size_t element_bytes = ElementBytes(type);
  if (element_bytes == 0 || (value_bytes - kVectorHeadBytes) % element_bytes != 0) {
    return std::nullopt;
  }
  return head.starts_with(VectorHead(type)) ? std::optional(type) : std::nullopt;
}

enum class VectorFunction : uint8_t {
  kAssign = 1,  // not of a reduction
  kAdd = 2,     // of integers modulo 2 to the power of their bits, of a reduction of 64
  kMin = 3,     // NaN is not the lesser of two
  kMax = 4,     // nor the greater
  kAnd = 5,     // of integers only, as the next two
  kOr = 6,
  kXor = 7,
};

// Of floating point as IEEE 754 has it: NaN is not equal to itself.
enum class Comparison : uint8_t {
  kEqual = 1,
  kNotEqual = 2,
  kLess = 3,
  kLessOrEqual = 4,
  kGreater = 5,
  kGreaterOrEqual = 6,
};

// Elements next to each other. One that goes beyond the vector's end is kOutOfRange.
struct VectorSlice {
  static constexpr uint64_t kToEnd = UINT64_MAX;
  uint64_t first = 0;
  uint64_t count = kToEnd;

  // Its element behind the last one, of a vector of so many; std::nullopt: it goes beyond them.
  constexpr std::optional<uint64_t> EndOf(uint64_t elements) const {
    if (first > elements) return std::nullopt;
    if (count == kToEnd) return elements;
    if (count > elements - first) return std::nullopt;
    return first + count;
  }
  bool operator==(const VectorSlice&) const = default;
};

}  // namespace plov
