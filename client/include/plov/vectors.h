// Vectors: values that are elements of one type, which the server changes, sums up and looks through where they are.
//
//   client->Put("v", plov::VectorValue<float>({1, 2, 3}));
//   client->UpdateVector("v", plov::VectorFunction::kAdd, 0.5f);
//   auto sum = client->ReduceVector("v", plov::VectorFunction::kAdd);           // 7.5
//   auto few = client->FilterVector("v", plov::Comparison::kLess, 3.0f);        // 1.5 at 0, 2.5 at 1
//   auto got = client->Get("v");                                                // by a READ, as every item
//   auto all = plov::VectorView::Of((*got)->value)->elements<float>();
//
// The value begins with 8 bytes that say of what type it is; the elements follow, little-endian. So any write stores one, and
// dumps, logs and replicas have its type. An append adds elements.
#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

namespace plov {

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

template <typename T>
concept Element = std::same_as<T, float> || std::same_as<T, double> ||
    (std::integral<T> && !std::same_as<T, bool> && sizeof(T) <= 8);

template <Element T>
constexpr ElementType ElementTypeOf() {
  if (std::same_as<T, float>) return ElementType::kFloat;
  if (std::same_as<T, double>) return ElementType::kDouble;
  const int first = std::is_signed_v<T> ? 1 : 5;
  return static_cast<ElementType>(first + (sizeof(T) > 1) + (sizeof(T) > 2) + (sizeof(T) > 4));
}

// 0 of what is no type.
constexpr size_t ElementBytes(ElementType type) {
  constexpr std::array<uint8_t, 11> kBytes{0, 1, 2, 4, 8, 1, 2, 4, 8, 4, 8};
  const auto index = static_cast<size_t>(type);
  return index < kBytes.size() ? kBytes[index] : 0;
}

inline constexpr size_t kVectorHeadBytes = 8;

// What is stored: the value of a vector of these elements.
inline std::string VectorValue(ElementType type, std::string_view elements) {
  std::string value = "plv\xfe";
  value.push_back(static_cast<char>(type));
  value.resize(kVectorHeadBytes);
  return value.append(elements);
}
template <Element T>
std::string VectorValue(std::span<const T> elements) {
  const void* bytes = elements.data();
  return VectorValue(ElementTypeOf<T>(), {static_cast<const char*>(bytes), elements.size_bytes()});
}
template <Element T>
std::string VectorValue(const std::vector<T>& elements) {
  return VectorValue<T>(std::span<const T>(elements));
}
template <Element T>
std::string VectorValue(std::initializer_list<T> elements) {
  return VectorValue<T>(std::span<const T>(elements.begin(), elements.size()));
}

// A value that is a vector. Its bytes stay whose they are.
class VectorView {
 public:
  // std::nullopt: it is none.
  static std::optional<VectorView> Of(std::string_view value) {
    if (value.size() < kVectorHeadBytes) return std::nullopt;
    const VectorView view(static_cast<ElementType>(value[4]), value.substr(kVectorHeadBytes));
    const size_t element_bytes = ElementBytes(view.type());
    if (element_bytes == 0 || view.bytes().size() % element_bytes != 0) return std::nullopt;
    const std::string head = VectorValue(view.type(), {});
    return value.starts_with(head) ? std::optional(view) : std::nullopt;
  }

  ElementType type() const { return type_; }
  size_t size() const { return bytes_.size() / ElementBytes(type_); }
  // The elements, little-endian, at any address.
  std::string_view bytes() const { return bytes_; }
  // None when they are of another type.
  template <Element T>
  std::vector<T> elements() const {
    if (type_ != ElementTypeOf<T>()) return {};
    std::vector<T> all(size());
    if (!all.empty()) std::memcpy(all.data(), bytes_.data(), bytes_.size());
    return all;
  }

 private:
  VectorView(ElementType type, std::string_view bytes) : type_(type), bytes_(bytes) {}

  ElementType type_;
  std::string_view bytes_;
};

enum class VectorFunction : uint8_t {
  kAssign = 1,  // not of ReduceVector
  kAdd = 2,     // of integers modulo 2 to the power of their bits, of ReduceVector of 64
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
};

// What elements are changed with, or compared to: one for all of them, or one for each. They are of the vector's type, else
// the call ends with kWrongType.
class VectorOperand {
 public:
  template <Element T>
  VectorOperand(T scalar) : type_(ElementTypeOf<T>()), scalar_bytes_(sizeof(T)) {
    std::memcpy(scalar_.data(), &scalar, sizeof(T));
  }
  // Must stay as long as the operand.
  template <Element T>
  VectorOperand(std::span<const T> each) : type_(ElementTypeOf<T>()) {
    const void* bytes = each.data();
    elements_ = {static_cast<const char*>(bytes), each.size_bytes()};
  }
  template <Element T>
  VectorOperand(const std::vector<T>& each) : VectorOperand(std::span<const T>(each)) {}
  // The bytes of one or more, little-endian.
  VectorOperand(ElementType type, std::string_view elements) : type_(type), elements_(elements) {}

  ElementType type() const { return type_; }
  std::string_view bytes() const {
    return scalar_bytes_ > 0 ? std::string_view(scalar_.data(), scalar_bytes_) : elements_;
  }

 private:
  ElementType type_;
  size_t scalar_bytes_ = 0;
  std::array<char, 8> scalar_{};
  std::string_view elements_;
};

struct VectorOptions {
  // Of an operand with one element for each: its elements are those of the slice, whose count may be kToEnd.
  VectorSlice slice = {};
  uint64_t expected_version = 0;  // as PutOptions'
};

// What ReduceVector made of a slice.
struct Reduced {
  // Of signed integers, of unsigned ones, of floating point.
  std::variant<int64_t, uint64_t, double> value;
  ElementType type;    // the vector's
  uint64_t count = 0;  // of the slice's elements; of none, value is what changes nothing
  uint64_t version = 0;
};

// What FilterVector found, in order.
struct Filtered {
  ElementType type;
  std::vector<uint32_t> indexes;
  std::string bytes;  // of the elements, little-endian
  uint64_t version = 0;

  // None when they are of another type.
  template <Element T>
  std::vector<T> elements() const {
    std::vector<T> all(type == ElementTypeOf<T>() ? indexes.size() : 0);
    if (!all.empty()) std::memcpy(all.data(), bytes.data(), bytes.size());
    return all;
  }
};

}  // namespace plov
