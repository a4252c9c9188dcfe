// C API: vectors.

#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "tests/capi/fixture.h"

namespace plov::test {
namespace {

using CapiVectors = CapiTest;

const plov_view kKey = plov_text("v");
const plov_view kNullKey = {nullptr, 3};

template <typename T>
plov_vector Elements(uint32_t type, const std::vector<T>& elements) {
  return plov_elements(type, elements.data(), elements.size() * sizeof(T));
}

template <typename T>
std::vector<T> ElementsOf(const plov_vector& vector) {
  std::vector<T> elements(vector.elements.bytes / sizeof(T));
  if (!elements.empty()) std::memcpy(elements.data(), vector.elements.data, vector.elements.bytes);
  return elements;
}

template <typename T>
uint64_t Put(plov_client* client, uint32_t type, const std::vector<T>& elements) {
  std::string value(PLOV_VECTOR_HEAD_BYTES, '\0');
  EXPECT_EQ(plov_vector_head(type, value.data()), PLOV_OK);
  value.append(static_cast<const char*>(static_cast<const void*>(elements.data())),
               elements.size() * sizeof(T));
  uint64_t version = 0;
  EXPECT_EQ(plov_put(client, kKey, plov_bytes(value.data(), value.size()), nullptr, &version),
            PLOV_OK);
  return version;
}

template <typename T>
std::vector<T> Got(plov_client* client, uint32_t type) {
  plov_item item;
  plov_vector vector;
  EXPECT_EQ(plov_get(client, kKey, &item), PLOV_OK);
  EXPECT_EQ(plov_vector_of(item.value, &vector), PLOV_OK);
  EXPECT_EQ(vector.type, type);
  return ElementsOf<T>(vector);
}

using Floats = std::vector<float>;
using Ints = std::vector<int32_t>;

TEST(CapiVector, OfAValueIsItsElements) {
  std::string value(PLOV_VECTOR_HEAD_BYTES, '\0');
  ASSERT_EQ(plov_vector_head(PLOV_INT16, value.data()), PLOV_OK);
  EXPECT_EQ(value, std::string("plv\xfe\2\0\0\0", 8));
  plov_vector vector;
  EXPECT_EQ(plov_vector_of(plov_bytes(value.data(), value.size()), &vector), PLOV_OK);
  EXPECT_EQ(vector.elements.bytes, 0U);
  value += std::string("\1\0\xff\xff", 4);
  EXPECT_EQ(plov_vector_of(plov_bytes(value.data(), value.size()), &vector), PLOV_OK);
  EXPECT_EQ(vector.type, static_cast<uint32_t>(PLOV_INT16));
  EXPECT_EQ(ElementsOf<int16_t>(vector), (std::vector<int16_t>{1, -1}));
  EXPECT_EQ(plov_vector_of(plov_bytes(value.data(), value.size() - 1), &vector), PLOV_WRONG_TYPE);
  EXPECT_EQ(vector.type, 0U);
  EXPECT_EQ(plov_vector_of(plov_text("no vector"), &vector), PLOV_WRONG_TYPE);
  EXPECT_EQ(plov_vector_of({nullptr, 0}, &vector), PLOV_WRONG_TYPE);
  EXPECT_EQ(plov_vector_of({nullptr, 8}, &vector), PLOV_INVALID_ARGUMENT);
  EXPECT_EQ(plov_vector_of(plov_text("v"), nullptr), PLOV_INVALID_ARGUMENT);
  EXPECT_EQ(plov_vector_head(PLOV_INT16, nullptr), PLOV_INVALID_ARGUMENT);
  for (const uint32_t type : {0U, PLOV_DOUBLE + 1U, 257U}) {
    EXPECT_EQ(plov_vector_head(type, value.data()), PLOV_INVALID_ARGUMENT);
  }
}

TEST_F(CapiVectors, UpdatesChangeElementsWhereTheyAre) {
  plov_client* client = client_.get();
  const float half = 0.5F;
  const plov_vector operand = plov_elements(PLOV_FLOAT, &half, sizeof(half));
  EXPECT_EQ(plov_update_vector(client, kKey, PLOV_VECTOR_ADD, operand, nullptr, 0, nullptr),
            PLOV_NOT_FOUND);
  const uint64_t first = Put(client, PLOV_FLOAT, Floats{1, 2, 3});
  uint64_t version = 0;
  EXPECT_EQ(plov_update_vector(client, kKey, PLOV_VECTOR_ADD, operand, nullptr, 0, &version),
            PLOV_OK);
  EXPECT_GT(version, first);
  EXPECT_EQ(Got<float>(client, PLOV_FLOAT), (Floats{1.5, 2.5, 3.5}));
  const plov_vector_slice from_one = {1, PLOV_TO_END};
  const Floats two = {20, 30};
  EXPECT_EQ(plov_update_vector(client, kKey, PLOV_VECTOR_ASSIGN, Elements(PLOV_FLOAT, two),
                               &from_one, first, nullptr),
            PLOV_VERSION_MISMATCH);
  EXPECT_EQ(plov_update_vector(client, kKey, PLOV_VECTOR_ASSIGN, Elements(PLOV_FLOAT, two),
                               &from_one, version, nullptr),
            PLOV_OK);
  EXPECT_EQ(Got<float>(client, PLOV_FLOAT), (Floats{1.5, 20, 30}));
}

TEST_F(CapiVectors, ReductionsAreOfTheVectorsKind) {
  plov_client* client = client_.get();
  plov_reduced reduced;
  EXPECT_EQ(plov_reduce_vector(client, kKey, PLOV_VECTOR_ADD, nullptr, &reduced), PLOV_NOT_FOUND);
  const uint64_t version = Put(client, PLOV_INT32, Ints{-7, 1, 2});
  EXPECT_EQ(plov_reduce_vector(client, kKey, PLOV_VECTOR_ADD, nullptr, &reduced), PLOV_OK);
  EXPECT_EQ(reduced.type, static_cast<uint32_t>(PLOV_INT32));
  EXPECT_EQ(reduced.count, 3U);
  EXPECT_EQ(reduced.version, version);
  EXPECT_EQ(reduced.value.as_signed, -4);
  const plov_vector_slice none = {3, 0};
  EXPECT_EQ(plov_reduce_vector(client, kKey, PLOV_VECTOR_ADD, &none, &reduced), PLOV_OK);
  EXPECT_EQ(reduced.count, 0U);
  const plov_vector_slice beyond = {2, 2};
  EXPECT_EQ(plov_reduce_vector(client, kKey, PLOV_VECTOR_ADD, &beyond, &reduced),
            PLOV_OUT_OF_RANGE);
  EXPECT_EQ(reduced.type, 0U);
  Put(client, PLOV_UINT64, std::vector<uint64_t>{UINT64_MAX, 5});
  EXPECT_EQ(plov_reduce_vector(client, kKey, PLOV_VECTOR_MAX, nullptr, &reduced), PLOV_OK);
  EXPECT_EQ(reduced.value.as_unsigned, UINT64_MAX);
  Put(client, PLOV_FLOAT, Floats{0.5, 0.25});
  EXPECT_EQ(plov_reduce_vector(client, kKey, PLOV_VECTOR_MIN, nullptr, &reduced), PLOV_OK);
  EXPECT_EQ(reduced.value.as_double, 0.25);
}

TEST_F(CapiVectors, FiltersFindElementsAndWhereTheyAre) {
  plov_client* client = client_.get();
  const uint64_t version = Put(client, PLOV_INT32, Ints{5, -1, 7, -3});
  const int32_t zero = 0;
  const plov_vector operand = plov_elements(PLOV_INT32, &zero, sizeof(zero));
  plov_filtered filtered;
  ASSERT_EQ(plov_filter_vector(client, kKey, PLOV_LESS, operand, nullptr, &filtered), PLOV_OK);
  EXPECT_EQ(filtered.version, version);
  EXPECT_EQ(filtered.found.type, static_cast<uint32_t>(PLOV_INT32));
  ASSERT_EQ(filtered.count, 2U);
  EXPECT_EQ(filtered.indexes[0], 1U);
  EXPECT_EQ(filtered.indexes[1], 3U);
  EXPECT_EQ(ElementsOf<int32_t>(filtered.found), (Ints{-1, -3}));
  const plov_vector_slice middle = {1, 2};
  ASSERT_EQ(plov_filter_vector(client, kKey, PLOV_GREATER, operand, &middle, &filtered), PLOV_OK);
  ASSERT_EQ(filtered.count, 1U);
  EXPECT_EQ(filtered.indexes[0], 2U);
  ASSERT_EQ(plov_filter_vector(client, kKey, PLOV_EQUAL, operand, nullptr, &filtered), PLOV_OK);
  EXPECT_EQ(filtered.count, 0U);
  EXPECT_EQ(filtered.found.elements.bytes, 0U);
}

// What is found is of several messages.
TEST_F(CapiVectors, FiltersFindManyElements) {
  plov_client* client = client_.get();
  Ints all(100'000);
  for (size_t i = 0; i < all.size(); ++i) all[i] = static_cast<int32_t>(i);
  Put(client, PLOV_INT32, all);
  const int32_t zero = 0;
  plov_filtered filtered;
  ASSERT_EQ(plov_filter_vector(client, kKey, PLOV_NOT_EQUAL,
                               plov_elements(PLOV_INT32, &zero, sizeof(zero)), nullptr, &filtered),
            PLOV_OK);
  ASSERT_EQ(filtered.count, all.size() - 1);
  all.erase(all.begin());
  EXPECT_EQ(ElementsOf<int32_t>(filtered.found), all);
  for (size_t i = 0; i < all.size(); ++i) ASSERT_EQ(filtered.indexes[i], i + 1);
}

TEST_F(CapiVectors, ValuesOfOtherTypesAreRefused) {
  plov_client* client = client_.get();
  const float one = 1;
  const plov_vector operand = plov_elements(PLOV_FLOAT, &one, sizeof(one));
  plov_reduced reduced;
  plov_filtered filtered;
  const auto codes = [&] {
    return std::vector<plov_code>{
        plov_update_vector(client, kKey, PLOV_VECTOR_ADD, operand, nullptr, 0, nullptr),
        plov_filter_vector(client, kKey, PLOV_LESS, operand, nullptr, &filtered),
        plov_reduce_vector(client, kKey, PLOV_VECTOR_AND, nullptr, &reduced)};
  };
  ASSERT_EQ(plov_put(client, kKey, plov_text("text"), nullptr, nullptr), PLOV_OK);
  EXPECT_EQ(codes(), std::vector<plov_code>(3, PLOV_WRONG_TYPE));
  EXPECT_STRNE(LastMessage(client).c_str(), "");
  Put(client, PLOV_DOUBLE, std::vector<double>{1, 2});
  EXPECT_EQ(codes(), std::vector<plov_code>(3, PLOV_WRONG_TYPE));
  EXPECT_EQ(Got<double>(client, PLOV_DOUBLE), (std::vector<double>{1, 2}));
  EXPECT_STREQ(plov_code_name(PLOV_WRONG_TYPE), "PLOV_WRONG_TYPE");
}

struct Told {
  plov_code code = PLOV_SYSTEM;
  uint64_t version = 0;

  static void Take(void* context, const plov_write_result* result) {
    *static_cast<Told*>(context) = {result->code, result->version};
  }
};

TEST_F(CapiVectors, StartedUpdatesAreToldHowTheyEnded) {
  plov_client* client = client_.get();
  Put(client, PLOV_INT32, Ints{1, 2});
  const Ints each = {10, 20};
  const int32_t two = 2;
  const plov_vector_slice slice = {1, 1};
  Told told[3];
  EXPECT_EQ(plov_start_update_vector(client, kKey, PLOV_VECTOR_ADD, Elements(PLOV_INT32, each),
                                     nullptr, 0, Told::Take, &told[0]),
            PLOV_OK);
  EXPECT_EQ(plov_start_update_vector(client, kKey, PLOV_VECTOR_MIN,
                                     plov_elements(PLOV_INT32, &two, sizeof(two)), &slice, 0,
                                     Told::Take, &told[1]),
            PLOV_OK);
  EXPECT_EQ(
      plov_start_update_vector(client, kKey, PLOV_VECTOR_MIN, plov_elements(PLOV_INT8, &two, 1),
                               nullptr, 0, Told::Take, &told[2]),
      PLOV_OK);
  for (size_t left = 1; left > 0;) ASSERT_EQ(plov_poll(client, &left), PLOV_OK);
  EXPECT_EQ(told[0].code, PLOV_OK);
  EXPECT_EQ(told[1].code, PLOV_OK);
  EXPECT_GT(told[1].version, told[0].version);
  EXPECT_EQ(told[2].code, PLOV_WRONG_TYPE);
  EXPECT_EQ(Got<int32_t>(client, PLOV_INT32), (Ints{11, 2}));
}

void OnWrite(void*, const plov_write_result*) { ADD_FAILURE() << "nothing was to be done"; }

// Each call that takes them, with the function as a comparison too.
std::vector<plov_code> Codes(plov_client* client, plov_view key, uint32_t function,
                             plov_vector operand) {
  plov_filtered filtered;
  return {plov_update_vector(client, key, function, operand, nullptr, 0, nullptr),
          plov_start_update_vector(client, key, function, operand, nullptr, 0, OnWrite, nullptr),
          plov_filter_vector(client, key, function, operand, nullptr, &filtered)};
}

TEST_F(CapiVectors, NullArgumentsAreRefused) {
  plov_client* client = client_.get();
  const int8_t one = 1;
  const plov_vector operand = plov_elements(PLOV_INT8, &one, 1);
  const std::vector<plov_code> all(3, PLOV_INVALID_ARGUMENT);
  EXPECT_EQ(Codes(nullptr, kKey, PLOV_VECTOR_ADD, operand), all);
  EXPECT_EQ(Codes(client, kNullKey, PLOV_VECTOR_ADD, operand), all);
  EXPECT_EQ(Codes(client, kKey, PLOV_VECTOR_ADD, plov_elements(PLOV_INT8, nullptr, 1)), all);
  plov_reduced reduced;
  for (const plov_code code : {
           plov_reduce_vector(nullptr, kKey, PLOV_VECTOR_ADD, nullptr, &reduced),
           plov_reduce_vector(client, kNullKey, PLOV_VECTOR_ADD, nullptr, &reduced),
           plov_reduce_vector(client, kKey, PLOV_VECTOR_ADD, nullptr, nullptr),
           plov_filter_vector(client, kKey, PLOV_LESS, operand, nullptr, nullptr),
           plov_start_update_vector(client, kKey, PLOV_VECTOR_ADD, operand, nullptr, 0, nullptr,
                                    nullptr),
       }) {
    EXPECT_EQ(code, PLOV_INVALID_ARGUMENT);
    EXPECT_EQ(LastMessage(client), "an argument that must not be NULL is NULL");
  }
}

TEST_F(CapiVectors, ImpossibleArgumentsAreRefused) {
  plov_client* client = client_.get();
  const int64_t one = 1;
  const auto operand = [&](uint32_t type, size_t bytes) {
    return plov_elements(type, &one, bytes);
  };
  const std::vector<plov_code> all(3, PLOV_INVALID_ARGUMENT);
  for (const uint32_t function : {0U, 8U, 257U}) {
    EXPECT_EQ(Codes(client, kKey, function, operand(PLOV_INT8, 1)), all);
    EXPECT_EQ(LastMessage(client), "no such plov_comparison");
  }
  for (const uint32_t type : {0U, PLOV_DOUBLE + 1U, 257U}) {
    EXPECT_EQ(Codes(client, kKey, PLOV_VECTOR_ADD, operand(type, 8)), all);
    EXPECT_EQ(LastMessage(client), "no such plov_element_type");
  }
  plov_reduced reduced;
  plov_filtered filtered;
  for (const plov_code code : {
           plov_reduce_vector(client, kKey, 8, nullptr, &reduced),
           plov_reduce_vector(client, kKey, PLOV_VECTOR_ASSIGN, nullptr, &reduced),
           plov_update_vector(client, kKey, PLOV_VECTOR_ADD, operand(PLOV_INT64, 7), nullptr, 0,
                              nullptr),
           plov_update_vector(client, kKey, PLOV_VECTOR_ADD, operand(PLOV_INT64, 0), nullptr, 0,
                              nullptr),
           plov_update_vector(client, kKey, PLOV_VECTOR_XOR, operand(PLOV_DOUBLE, 8), nullptr, 0,
                              nullptr),
           plov_filter_vector(client, kKey, PLOV_LESS, operand(PLOV_INT8, 2), nullptr, &filtered),
       }) {
    EXPECT_EQ(code, PLOV_INVALID_ARGUMENT);
    EXPECT_STRNE(LastMessage(client).c_str(), "");
  }
}

}  // namespace
}  // namespace plov::test
