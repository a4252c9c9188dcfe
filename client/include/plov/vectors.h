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

#include <plov/elements.h>

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

// What is stored: the value of a vector of these elements.
inline std::string VectorValue(ElementType type, std::string_view elements) {
  return VectorHead(type).append(elements);
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
    const auto type = VectorTypeOf(value, value.size());
    if (!type) return std::nullopt;
    return VectorView(*type, value.substr(kVectorHeadBytes));
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
