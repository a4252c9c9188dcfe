// Vectors, as programs change, sum up and look through them.
#include <gtest/gtest.h>
#include <plov/client.h>

#include <chrono>
#include <cstdint>
#include <numeric>
#include <optional>
#include <string>
#include <thread>
#include <variant>
#include <vector>

#include "tests/support/plovd.h"

namespace plov {
namespace {

using std::chrono::seconds;
using test::Plovd;

class Vectors : public ::testing::Test {
 protected:
  template <Element T>
  std::vector<T> ElementsOf(std::string_view key) {
    const auto got = client.Get(key);
    if (!got || !*got) return {};
    const auto view = VectorView::Of((*got)->value);
    return view ? view->elements<T>() : std::vector<T>();
  }

  const Plovd server{{"--memory", "128M", "--shards", "2"}};
  Client client = server.Connect({.timeout = seconds(20)});
};

template <Element T>
class VectorsOf : public Vectors {};
using Types = ::testing::Types<int8_t, int16_t, int32_t, int64_t, uint8_t, uint16_t, uint32_t,
                               uint64_t, float, double>;
TYPED_TEST_SUITE(VectorsOf, Types);

TYPED_TEST(VectorsOf, AreStoredChangedSummedUpAndLookedThrough) {
  using T = TypeParam;
  Client& vectors = this->client;
  ASSERT_TRUE(vectors.Put("v", VectorValue<T>({1, 2, 3, 4})));
  const auto updated = vectors.UpdateVector("v", VectorFunction::kAdd, T{1});
  ASSERT_TRUE(updated) << updated.error().message;
  const std::vector<T> each = {9, 1};
  ASSERT_TRUE(vectors.UpdateVector("v", VectorFunction::kMax, each, {.slice = {1}}));
  EXPECT_EQ(this->template ElementsOf<T>("v"), (std::vector<T>{2, 9, 4, 5}));
  const auto sum = vectors.ReduceVector("v", VectorFunction::kAdd, {1, 2});
  ASSERT_TRUE(sum) << sum.error().message;
  EXPECT_EQ(std::visit([](auto value) { return static_cast<double>(value); }, sum->value), 13);
  EXPECT_EQ(sum->type, ElementTypeOf<T>());
  EXPECT_EQ(sum->count, 2u);
  const auto found = vectors.FilterVector("v", Comparison::kGreaterOrEqual, T{4}, {1});
  ASSERT_TRUE(found) << found.error().message;
  EXPECT_EQ(found->indexes, (std::vector<uint32_t>{1, 2, 3}));
  EXPECT_EQ(found->template elements<T>(), (std::vector<T>{9, 4, 5}));
  EXPECT_EQ(found->version, sum->version);
  EXPECT_GT(found->version, *updated);
}

TEST_F(Vectors, CallsThatNoServerTakesAreNotSent) {
  ASSERT_TRUE(client.Put("v", VectorValue<float>({1})));
  const uint64_t puts = client.stats().puts;
  const auto code = [](const auto& result) { return result ? Code::kOk : result.error().code; };
  using enum VectorFunction;
  EXPECT_EQ(code(client.UpdateVector("v", kXor, 1.0f)), Code::kInvalidArgument);
  EXPECT_EQ(code(client.UpdateVector("v", VectorFunction{9}, 1.0f)), Code::kInvalidArgument);
  EXPECT_EQ(code(client.UpdateVector("v", kAdd, VectorOperand(ElementType::kFloat, ""))),
            Code::kInvalidArgument);
  EXPECT_EQ(code(client.UpdateVector("v", kAdd, VectorOperand(ElementType::kFloat, "12345"))),
            Code::kInvalidArgument);
  EXPECT_EQ(code(client.UpdateVector("v", kAdd, VectorOperand(ElementType{11}, "12345678"))),
            Code::kInvalidArgument);
  EXPECT_EQ(code(client.UpdateVector("v", kAdd, std::vector<float>{1, 2}, {.slice = {0, 3}})),
            Code::kInvalidArgument);
  EXPECT_EQ(code(client.UpdateVector("", kAdd, 1.0f)), Code::kInvalidArgument);
  EXPECT_EQ(code(client.ReduceVector("v", kAssign)), Code::kInvalidArgument);
  EXPECT_EQ(code(client.ReduceVector("", kAdd)), Code::kInvalidArgument);
  EXPECT_EQ(code(client.FilterVector("v", Comparison{7}, 1.0f)), Code::kInvalidArgument);
  EXPECT_EQ(code(client.FilterVector("v", Comparison::kLess, std::vector<float>{1, 2})),
            Code::kInvalidArgument);
  EXPECT_EQ(client.stats().puts, puts);
  EXPECT_EQ(code(client.UpdateVector("v", kAdd, std::vector<float>(5'000))), Code::kTooLarge);
}

TEST_F(Vectors, WhatTheServerRefusesIsSaid) {
  ASSERT_TRUE(client.Put("v", VectorValue<int32_t>({1, 2})));
  ASSERT_TRUE(client.Put("text", "text"));
  const auto error = [](const auto& result) {
    return result ? std::string("ok") : result.error().message;
  };
  using enum VectorFunction;
  EXPECT_EQ(error(client.UpdateVector("v", kAdd, 1, {.slice = {1, 2}})),
            "the slice goes beyond the vector's end");
  EXPECT_NE(error(client.UpdateVector("v", kAdd, 1.0)).find("no vector of elements of that type"),
            std::string::npos);
  EXPECT_EQ(client.UpdateVector("text", kAdd, 1).error().code, Code::kWrongType);
  EXPECT_EQ(client.UpdateVector("v", kAdd, 1, {.expected_version = 1}).error().code,
            Code::kVersionMismatch);
  EXPECT_EQ(client.ReduceVector("text", kAdd).error().code, Code::kWrongType);
  EXPECT_EQ(client.ReduceVector("absent", kAdd).error().code, Code::kNotFound);
  EXPECT_EQ(client.FilterVector("v", Comparison::kLess, 1, {3}).error().code, Code::kOutOfRange);
}

TEST_F(Vectors, AnAppendAddsElements) {
  ASSERT_TRUE(client.Put("v", VectorValue<uint16_t>({1})));
  const uint16_t two = 2;
  ASSERT_TRUE(client.Put("v", {reinterpret_cast<const char*>(&two), sizeof(two)},
                         {.mode = PutMode::kAppend}));
  EXPECT_EQ(ElementsOf<uint16_t>("v"), (std::vector<uint16_t>{1, 2}));
  ASSERT_TRUE(client.Put("v", "x", {.mode = PutMode::kAppend}));
  EXPECT_EQ(client.ReduceVector("v", VectorFunction::kAdd).error().code, Code::kWrongType);
}

// More is found than fits in one message, while another writes.
TEST_F(Vectors, AFilterIsOfOneInstantHoweverMuchItFinds) {
  constexpr size_t kCount = 50'000;
  ASSERT_TRUE(client.Put("v", VectorValue<int64_t>(std::vector<int64_t>(kCount, 0))));
  std::jthread writer([this](const std::stop_token& stop) {
    Client other = server.Connect({.timeout = seconds(20)});
    while (!stop.stop_requested()) {
      EXPECT_TRUE(other.UpdateVector("v", VectorFunction::kAdd, int64_t{1}));
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
  });
  for (int i = 0; i < 10; ++i) {
    const auto found = client.FilterVector("v", Comparison::kGreaterOrEqual, int64_t{0});
    ASSERT_TRUE(found) << found.error().message;
    ASSERT_EQ(found->indexes.size(), kCount);
    const auto elements = found->elements<int64_t>();
    EXPECT_EQ(elements, std::vector<int64_t>(kCount, elements[0]));
  }
}

TEST_F(Vectors, StartedUpdatesComeInTheirOrderAndBeforeABlockingCall) {
  ASSERT_TRUE(client.Put("v", VectorValue<int32_t>({0, 0})));
  int told = 0;
  for (int i = 0; i < 100; ++i) {
    client.StartUpdateVector("v", VectorFunction::kAssign, i, {},
                             [&told](const auto& result) { told += result.has_value(); });
  }
  const auto sum = client.ReduceVector("v", VectorFunction::kAdd);
  ASSERT_TRUE(sum) << sum.error().message;
  EXPECT_EQ(std::get<int64_t>(sum->value), 198);
  EXPECT_EQ(told, 100);
  std::optional<Code> refused;
  client.StartUpdateVector("v", VectorFunction::kXor, 1.0, {},
                           [&refused](const auto& result) { refused = result.error().code; });
  EXPECT_EQ(refused, std::nullopt) << "within the call";
  while (client.Poll() > 0) continue;
  EXPECT_EQ(refused, Code::kInvalidArgument);
}

TEST(VectorView, IsOfAVectorOnly) {
  EXPECT_TRUE(VectorView::Of(VectorValue<int32_t>({1, 2})));
  EXPECT_FALSE(VectorView::Of("plv"));
  EXPECT_FALSE(VectorView::Of(std::string("plv\xfe\x0b\0\0\0", 8)));
  EXPECT_FALSE(VectorView::Of(VectorValue(ElementType::kInt32, "12345")));
}

}  // namespace
}  // namespace plov
