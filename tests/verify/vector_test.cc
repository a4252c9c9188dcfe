// Vectors: which values are one, and what functions and comparisons make of their elements.
#include "verify/vector.h"

#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <span>
#include <vector>

namespace plov::verify {
namespace {

using enum ElementType;

constexpr std::array kTypes = {kInt8,   kInt16,  kInt32,  kInt64, kUint8,
                               kUint16, kUint32, kUint64, kFloat, kDouble};

template <typename T>
std::string BytesOf(const std::vector<T>& elements) {
  return {reinterpret_cast<const char*>(elements.data()), elements.size() * sizeof(T)};
}

template <typename T>
std::vector<T> Updated(VectorFunction function, ElementType type, std::vector<T> elements,
                       const std::vector<T>& operand) {
  UpdateElements(function, type, reinterpret_cast<char*>(elements.data()), elements.size(),
                 BytesOf(operand));
  return elements;
}

template <typename T>
T Reduced(VectorFunction function, ElementType type, std::string_view elements) {
  Reduction reduction(function, type);
  // In two parts, as a long one is.
  const size_t middle = elements.size() / 2 / ElementBytes(type) * ElementBytes(type);
  reduction.Add(elements.substr(0, middle));
  reduction.Add(elements.substr(middle));
  return std::bit_cast<T>(reduction.bits());
}

TEST(Vector, HeadsSayOfWhatType) {
  for (const ElementType type : kTypes) {
    const std::string head = VectorHead(type);
    ASSERT_EQ(head.size(), kVectorHeadBytes);
    for (size_t bytes = 0; bytes <= 32; ++bytes) {
      const bool is_whole = bytes % ElementBytes(type) == 0;
      EXPECT_EQ(VectorTypeOf(head, kVectorHeadBytes + bytes),
                is_whole ? std::optional(type) : std::nullopt);
    }
    for (size_t bit = 0; bit < 8 * kVectorHeadBytes; ++bit) {
      std::string wrong = head;
      wrong[bit / 8] = static_cast<char>(wrong[bit / 8] ^ 1 << bit % 8);
      EXPECT_NE(VectorTypeOf(wrong, kVectorHeadBytes), type) << bit;
    }
  }
  EXPECT_EQ(VectorTypeOf("plv\xfe\4", 5), std::nullopt);
  EXPECT_EQ(VectorTypeOf("", 0), std::nullopt);
  EXPECT_EQ(VectorTypeOf(std::string(8, 'x'), 8), std::nullopt);
}

TEST(Vector, SlicesLieWithinTheVector) {
  constexpr uint64_t kToEnd = VectorSlice::kToEnd;
  EXPECT_EQ((VectorSlice{0, kToEnd}.EndOf(0)), 0u);
  EXPECT_EQ((VectorSlice{2, kToEnd}.EndOf(5)), 5u);
  EXPECT_EQ((VectorSlice{5, kToEnd}.EndOf(5)), 5u);
  EXPECT_EQ((VectorSlice{6, kToEnd}.EndOf(5)), std::nullopt);
  EXPECT_EQ((VectorSlice{2, 3}.EndOf(5)), 5u);
  EXPECT_EQ((VectorSlice{2, 4}.EndOf(5)), std::nullopt);
  EXPECT_EQ((VectorSlice{5, 0}.EndOf(5)), 5u);
  EXPECT_EQ((VectorSlice{kToEnd, 2}.EndOf(5)), std::nullopt);
  EXPECT_EQ((VectorSlice{2, kToEnd - 1}.EndOf(5)), std::nullopt);
}

TEST(Vector, CallsAndAnswersAreReadAsTheyWereWritten) {
  const VectorCall call{3, 9, {7, 11}};
  std::string bytes(kVectorCallBytes, 'x');
  EncodeVectorCall(call, bytes.data());
  EXPECT_EQ(DecodeVectorCall(bytes), call);
  EXPECT_EQ(DecodeVectorCall(bytes + "operand"), call);
  EXPECT_EQ(DecodeVectorCall(bytes.substr(1)), std::nullopt);
  bytes[5] = 1;
  EXPECT_EQ(DecodeVectorCall(bytes), std::nullopt);
  const VectorAnswer answer{4, 1'000'000};
  EXPECT_EQ(DecodeVectorAnswer(EncodeVectorAnswer(answer)), answer);
  EXPECT_EQ(DecodeVectorAnswer(EncodeVectorAnswer({0, 1})), std::nullopt);
  EXPECT_EQ(DecodeVectorAnswer(EncodeVectorAnswer(answer).substr(1)), std::nullopt);
}

TEST(Vector, IntegersAreAddedModuloTheirBits) {
  using enum VectorFunction;
  EXPECT_EQ(Updated<int8_t>(kAdd, kInt8, {127, -128, 5}, {1}),
            (std::vector<int8_t>{-128, -127, 6}));
  EXPECT_EQ(Updated<uint16_t>(kAdd, kUint16, {65535, 1}, {2, 3}), (std::vector<uint16_t>{1, 4}));
  EXPECT_EQ(Updated<int64_t>(kAdd, kInt64, {std::numeric_limits<int64_t>::max()}, {1}),
            (std::vector<int64_t>{std::numeric_limits<int64_t>::min()}));
  EXPECT_EQ(Reduced<int64_t>(kAdd, kInt8, BytesOf<int8_t>({127, 127, -1})), 253);
  EXPECT_EQ(Reduced<uint64_t>(kAdd, kUint8, BytesOf<uint8_t>({255, 255, 255})), 765u);
  EXPECT_EQ(Reduced<uint64_t>(kAdd, kUint64, BytesOf<uint64_t>({UINT64_MAX, 3})), 2u);
}

TEST(Vector, FunctionsOfEachKind) {
  using enum VectorFunction;
  const std::vector<int32_t> elements = {5, -7, 0};
  EXPECT_EQ(Updated<int32_t>(kAssign, kInt32, elements, {9}), (std::vector<int32_t>{9, 9, 9}));
  EXPECT_EQ(Updated<int32_t>(kMin, kInt32, elements, {1, -9, 0}), (std::vector<int32_t>{1, -9, 0}));
  EXPECT_EQ(Updated<int32_t>(kMax, kInt32, elements, {-1}), (std::vector<int32_t>{5, -1, 0}));
  EXPECT_EQ(Updated<int32_t>(kAnd, kInt32, elements, {4}), (std::vector<int32_t>{4, 0, 0}));
  EXPECT_EQ(Updated<int32_t>(kOr, kInt32, elements, {2}), (std::vector<int32_t>{7, -5, 2}));
  EXPECT_EQ(Updated<int32_t>(kXor, kInt32, elements, {1}), (std::vector<int32_t>{4, -8, 1}));
  const std::string bytes = BytesOf(elements);
  EXPECT_EQ(Reduced<int64_t>(kMin, kInt32, bytes), -7);
  EXPECT_EQ(Reduced<int64_t>(kMax, kInt32, bytes), 5);
  EXPECT_EQ(Reduced<int64_t>(kAnd, kInt32, bytes), 0);
  EXPECT_EQ(Reduced<int64_t>(kOr, kInt32, bytes), -3);
  EXPECT_EQ(Reduced<int64_t>(kXor, kInt32, bytes), 5 ^ -7);
}

TEST(Vector, NotANumberIsNeitherLesserNorGreater) {
  using enum VectorFunction;
  const float nan = std::nanf("");
  const auto updated = Updated<float>(kMin, kFloat, {nan, 2}, {1, nan});
  EXPECT_TRUE(std::isnan(updated[0]));
  EXPECT_EQ(updated[1], 2);
  EXPECT_EQ(Reduced<double>(kMax, kFloat, BytesOf<float>({1, nan, 3})), 3);
  EXPECT_EQ(Reduced<double>(kMin, kFloat, BytesOf<float>({nan})), HUGE_VAL);
  EXPECT_TRUE(std::isnan(Reduced<double>(kAdd, kFloat, BytesOf<float>({1, nan}))));
}

TEST(Vector, NoElementsAreReducedToWhatChangesNothing) {
  using enum VectorFunction;
  for (const ElementType type : kTypes) {
    EXPECT_EQ(Reduced<uint64_t>(kAdd, type, {}), 0u);
    if (IsFloating(type)) continue;
    EXPECT_EQ(Reduced<uint64_t>(kAnd, type, {}), UINT64_MAX);
  }
  EXPECT_EQ(Reduced<int64_t>(kMin, kInt8, {}), std::numeric_limits<int64_t>::max());
  EXPECT_EQ(Reduced<uint64_t>(kMax, kUint8, {}), 0u);
  EXPECT_EQ(Reduced<double>(kMax, kDouble, {}), -HUGE_VAL);
}

TEST(Vector, OnlyIntegersHaveBits) {
  EXPECT_FALSE(Applies(VectorFunction::kXor, kFloat));
  EXPECT_FALSE(Applies(VectorFunction::kAnd, kDouble));
  EXPECT_TRUE(Applies(VectorFunction::kMax, kDouble));
  EXPECT_TRUE(Applies(VectorFunction::kAnd, kUint8));
}

TEST(Vector, AFilterGoesOnWhereItsRoomEnded) {
  std::mt19937 random(7);
  std::vector<int16_t> elements(1000);
  for (int16_t& element : elements) element = static_cast<int16_t>(random() % 10);
  const std::string bytes = BytesOf(elements), operand = BytesOf<int16_t>({4});
  for (uint8_t comparison = 1; IsComparison(comparison); ++comparison) {
    const auto compare = [comparison](int a) {
      constexpr int b = 4;
      return std::to_array({a == b, a != b, a<b, a <= b, a> b, a >= b})[comparison - 1];
    };
    std::vector<uint32_t> expected, found;
    for (uint32_t i = 0; i < elements.size(); ++i) {
      if (compare(elements[i])) expected.push_back(i);
    }
    for (size_t at = 0; at < elements.size();) {
      std::string matches;
      const size_t looked = FilterElements(static_cast<Comparison>(comparison), kInt16, operand,
                                           std::string_view(bytes).substr(2 * at),
                                           static_cast<uint32_t>(at), 64, &matches);
      ASSERT_LE(matches.size(), 64u);
      ASSERT_GT(looked, 0u);
      for (size_t match = 0; match < matches.size(); match += 6) {
        uint32_t index;
        int16_t element;
        std::memcpy(&index, &matches[match], 4);
        std::memcpy(&element, &matches[match + 4], 2);
        EXPECT_EQ(element, elements[index]);
        found.push_back(index);
      }
      at += looked;
    }
    EXPECT_EQ(found, expected) << int{comparison};
  }
}

}  // namespace
}  // namespace plov::verify
