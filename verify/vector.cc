#include "verify/vector.h"

#include <algorithm>
#include <bit>
#include <cassert>
#include <cstring>
#include <functional>
#include <limits>
#include <type_traits>

namespace plov::verify {

namespace {

struct WireCall {
  uint8_t function;
  uint8_t type;
  uint8_t reserved[6];
  uint64_t first;
  uint64_t count;
};
static_assert(sizeof(WireCall) == kVectorCallBytes);

struct WireAnswer {
  uint8_t type;
  uint8_t reserved[7];
  uint64_t count;
};
static_assert(sizeof(WireAnswer) == kVectorAnswerBytes);

template <typename T>
T LoadFrom(const char* from) {
  T value;
  std::memcpy(&value, from, sizeof(value));
  return value;
}

template <typename T>
void StoreAt(T value, char* to) {
  std::memcpy(to, &value, sizeof(value));
}

bool AllZero(const auto& bytes) {
  return std::ranges::all_of(bytes, [](uint8_t byte) { return byte == 0; });
}

template <typename T>
T Sum(T a, T b) {
  if constexpr (std::is_floating_point_v<T>) {
    return a + b;
  } else {
    return static_cast<T>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
  }
}

// Calls `body` with the function of two elements, the one that is there first. Outside of loops, so that they are fast.
template <typename T>
void WithFunction(VectorFunction function, auto&& body) {
  switch (function) {
    case VectorFunction::kAssign:
      return body([](T, T given) { return given; });
    case VectorFunction::kAdd:
      return body([](T there, T given) { return Sum(there, given); });
    case VectorFunction::kMin:
      return body([](T there, T given) { return given < there ? given : there; });
    case VectorFunction::kMax:
      return body([](T there, T given) { return given > there ? given : there; });
    default:
      break;
  }
  if constexpr (std::is_integral_v<T>) {
    switch (function) {
      case VectorFunction::kAnd:
        return body([](T there, T given) { return static_cast<T>(there & given); });
      case VectorFunction::kOr:
        return body([](T there, T given) { return static_cast<T>(there | given); });
      default:
        return body([](T there, T given) { return static_cast<T>(there ^ given); });
    }
  }
}

template <typename T>
void WithComparison(Comparison comparison, auto&& body) {
  switch (comparison) {
    case Comparison::kEqual:
      return body(std::equal_to<T>());
    case Comparison::kNotEqual:
      return body(std::not_equal_to<T>());
    case Comparison::kLess:
      return body(std::less<T>());
    case Comparison::kLessOrEqual:
      return body(std::less_equal<T>());
    case Comparison::kGreater:
      return body(std::greater<T>());
    case Comparison::kGreaterOrEqual:
      return body(std::greater_equal<T>());
  }
}

// In which elements are summed up.
template <typename T>
using Wide = std::conditional_t<std::is_floating_point_v<T>, double,
                                std::conditional_t<std::is_signed_v<T>, int64_t, uint64_t>>;

// Where a function begins: what changes nothing.
template <typename T>
T Neutral(VectorFunction function) {
  using Limits = std::numeric_limits<T>;
  switch (function) {
    case VectorFunction::kMin:
      return Limits::has_infinity ? Limits::infinity() : Limits::max();
    case VectorFunction::kMax:
      return Limits::has_infinity ? -Limits::infinity() : Limits::lowest();
    case VectorFunction::kAnd:
      return static_cast<T>(-1);
    default:
      return T{};
  }
}

}  // namespace

void EncodeVectorCall(const VectorCall& call, char* to) {
  StoreAt(WireCall{call.function, call.type, {}, call.slice.first, call.slice.count}, to);
}

std::optional<VectorCall> DecodeVectorCall(std::string_view bytes) {
  if (bytes.size() < kVectorCallBytes) return std::nullopt;
  const auto wire = LoadFrom<WireCall>(bytes.data());
  if (!AllZero(wire.reserved)) return std::nullopt;
  return VectorCall{wire.function, wire.type, {wire.first, wire.count}};
}

std::string EncodeVectorAnswer(const VectorAnswer& answer) {
  std::string bytes(kVectorAnswerBytes, '\0');
  StoreAt(WireAnswer{answer.type, {}, answer.count}, bytes.data());
  return bytes;
}

std::optional<VectorAnswer> DecodeVectorAnswer(std::string_view bytes) {
  if (bytes.size() < kVectorAnswerBytes) return std::nullopt;
  const auto wire = LoadFrom<WireAnswer>(bytes.data());
  if (!IsElementType(wire.type) || !AllZero(wire.reserved)) return std::nullopt;
  return VectorAnswer{wire.type, wire.count};
}

void UpdateElements(VectorFunction function, ElementType type, char* elements, size_t count,
                    std::string_view operand) {
  assert(Applies(function, type));
  WithElement(type, [&]<typename T>(T) {
    assert(operand.size() == sizeof(T) || operand.size() == count * sizeof(T));
    WithFunction<T>(function, [&](auto apply) {
      const char* given = operand.data();
      if (operand.size() == sizeof(T)) {
        const T scalar = LoadFrom<T>(given);
        for (size_t i = 0; i < count; ++i, elements += sizeof(T)) {
          StoreAt(apply(LoadFrom<T>(elements), scalar), elements);
        }
      } else {
        for (size_t i = 0; i < count; ++i, elements += sizeof(T), given += sizeof(T)) {
          StoreAt(apply(LoadFrom<T>(elements), LoadFrom<T>(given)), elements);
        }
      }
    });
  });
}

Reduction::Reduction(VectorFunction function, ElementType type) : function_(function), type_(type) {
  assert(Applies(function, type) && function != VectorFunction::kAssign);
  WithElement(type,
              [&]<typename T>(T) { bits_ = std::bit_cast<uint64_t>(Neutral<Wide<T>>(function)); });
}

void Reduction::Add(std::string_view elements) {
  WithElement(type_, [&]<typename T>(T) {
    using W = Wide<T>;
    assert(elements.size() % sizeof(T) == 0);
    WithFunction<W>(function_, [&](auto apply) {
      W all = std::bit_cast<W>(bits_);
      for (size_t at = 0; at < elements.size(); at += sizeof(T)) {
        all = static_cast<W>(apply(all, static_cast<W>(LoadFrom<T>(&elements[at]))));
      }
      bits_ = std::bit_cast<uint64_t>(all);
    });
  });
}

size_t FilterElements(Comparison comparison, ElementType type, std::string_view operand,
                      std::string_view elements, uint32_t index, size_t bytes_max,
                      std::string* matches) {
  size_t looked = 0;
  WithElement(type, [&]<typename T>(T) {
    assert(operand.size() == sizeof(T) && elements.size() % sizeof(T) == 0);
    constexpr size_t kMatchBytes = sizeof(index) + sizeof(T);
    WithComparison<T>(comparison, [&](auto compare) {
      const T given = LoadFrom<T>(operand.data());
      for (const size_t count = elements.size() / sizeof(T); looked < count; ++looked) {
        const char* element = &elements[looked * sizeof(T)];
        if (!compare(LoadFrom<T>(element), given)) continue;
        if (matches->size() + kMatchBytes > bytes_max) return;
        const auto at = static_cast<uint32_t>(index + looked);
        matches->append(reinterpret_cast<const char*>(&at), sizeof(at));
        matches->append(element, sizeof(T));
      }
    });
  });
  return looked;
}

}  // namespace plov::verify
