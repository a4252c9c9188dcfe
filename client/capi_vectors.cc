// C API: vectors.

#include <cstring>
#include <expected>
#include <utility>
#include <variant>

#include "client/capi.h"

using namespace plov::capi;
using plov::Comparison;
using plov::ElementType;
using plov::VectorFunction;

namespace {

constexpr bool Agree(auto ours, auto theirs) {
  return static_cast<unsigned>(ours) == static_cast<unsigned>(theirs);
}
static_assert(Agree(PLOV_INT8, ElementType::kInt8));
static_assert(Agree(PLOV_INT16, ElementType::kInt16));
static_assert(Agree(PLOV_INT32, ElementType::kInt32));
static_assert(Agree(PLOV_INT64, ElementType::kInt64));
static_assert(Agree(PLOV_UINT8, ElementType::kUint8));
static_assert(Agree(PLOV_UINT16, ElementType::kUint16));
static_assert(Agree(PLOV_UINT32, ElementType::kUint32));
static_assert(Agree(PLOV_UINT64, ElementType::kUint64));
static_assert(Agree(PLOV_FLOAT, ElementType::kFloat));
static_assert(Agree(PLOV_DOUBLE, ElementType::kDouble));
static_assert(Agree(PLOV_VECTOR_ASSIGN, VectorFunction::kAssign));
static_assert(Agree(PLOV_VECTOR_ADD, VectorFunction::kAdd));
static_assert(Agree(PLOV_VECTOR_MIN, VectorFunction::kMin));
static_assert(Agree(PLOV_VECTOR_MAX, VectorFunction::kMax));
static_assert(Agree(PLOV_VECTOR_AND, VectorFunction::kAnd));
static_assert(Agree(PLOV_VECTOR_OR, VectorFunction::kOr));
static_assert(Agree(PLOV_VECTOR_XOR, VectorFunction::kXor));
static_assert(Agree(PLOV_EQUAL, Comparison::kEqual));
static_assert(Agree(PLOV_NOT_EQUAL, Comparison::kNotEqual));
static_assert(Agree(PLOV_LESS, Comparison::kLess));
static_assert(Agree(PLOV_LESS_OR_EQUAL, Comparison::kLessOrEqual));
static_assert(Agree(PLOV_GREATER, Comparison::kGreater));
static_assert(Agree(PLOV_GREATER_OR_EQUAL, Comparison::kGreaterOrEqual));
static_assert(PLOV_VECTOR_HEAD_BYTES == plov::kVectorHeadBytes);
static_assert(PLOV_TO_END == plov::VectorSlice::kToEnd);

constexpr bool IsNumber(uint32_t number, uint32_t last) { return number >= 1 && number <= last; }

// nullptr: it is a plov_vector_function and an operand, as far as can be told here.
const char* Mistake(uint32_t function, const plov_vector& operand) {
  if (!IsNumber(function, PLOV_VECTOR_XOR)) return "no such plov_vector_function";
  if (!IsNumber(operand.type, PLOV_DOUBLE)) return "no such plov_element_type";
  return nullptr;
}

plov::VectorOperand OperandOf(const plov_vector& operand) {
  return {static_cast<ElementType>(operand.type), Text(operand.elements)};
}

plov::VectorSlice SliceOf(const plov_vector_slice* slice) {
  if (slice == nullptr) return {};
  return {.first = slice->first, .count = slice->count};
}

plov_vector VectorOf(ElementType type, std::string_view elements) {
  return {static_cast<uint32_t>(type), 0, View(elements)};
}

plov_reduced ReducedOf(const plov::Reduced& reduced) {
  plov_reduced result = {
      static_cast<uint32_t>(reduced.type), 0, reduced.count, reduced.version, {}};
  std::visit([&](auto value) { std::memcpy(&result.value, &value, sizeof(value)); }, reduced.value);
  return result;
}

}  // namespace

plov_code plov_vector_head(uint32_t type, void* head) {
  if (!IsNumber(type, PLOV_DOUBLE) || head == nullptr) return PLOV_INVALID_ARGUMENT;
  const std::string bytes = plov::VectorValue(static_cast<ElementType>(type), {});
  std::memcpy(head, bytes.data(), bytes.size());
  return PLOV_OK;
}

plov_code plov_vector_of(plov_view value, plov_vector* vector) {
  if (vector == nullptr || !IsGood(value)) return PLOV_INVALID_ARGUMENT;
  *vector = {};
  const auto view = plov::VectorView::Of(Text(value));
  if (!view) return PLOV_WRONG_TYPE;
  *vector = VectorOf(view->type(), view->bytes());
  return PLOV_OK;
}

plov_code plov_update_vector(plov_client* client, plov_view key, uint32_t function,
                             plov_vector operand, const plov_vector_slice* slice,
                             uint64_t expected_version, uint64_t* version) {
  if (client == nullptr || !IsGood(key) || !IsGood(operand.elements)) return RefuseNull(client);
  if (const char* mistake = Mistake(function, operand)) return Refuse(client, mistake);
  return Run(client, [&] {
    return Answer(client,
                  client->client.UpdateVector(
                      Text(key), static_cast<VectorFunction>(function), OperandOf(operand),
                      {.slice = SliceOf(slice), .expected_version = expected_version}),
                  version);
  });
}

plov_code plov_start_update_vector(plov_client* client, plov_view key, uint32_t function,
                                   plov_vector operand, const plov_vector_slice* slice,
                                   uint64_t expected_version, plov_write_callback done,
                                   void* context) {
  if (client == nullptr || done == nullptr || !IsGood(key) || !IsGood(operand.elements)) {
    return RefuseNull(client);
  }
  if (const char* mistake = Mistake(function, operand)) return Refuse(client, mistake);
  return Start(client, [&] {
    client->client.StartUpdateVector(
        Text(key), static_cast<VectorFunction>(function), OperandOf(operand),
        {.slice = SliceOf(slice), .expected_version = expected_version},
        [done, context](const plov::Client::PutResult& result) { Tell(done, context, 0, result); });
  });
}

plov_code plov_reduce_vector(plov_client* client, plov_view key, uint32_t function,
                             const plov_vector_slice* slice, plov_reduced* reduced) {
  if (client == nullptr || reduced == nullptr || !IsGood(key)) return RefuseNull(client);
  *reduced = {};
  if (!IsNumber(function, PLOV_VECTOR_XOR)) {
    return Refuse(client, "no such plov_vector_function");
  }
  return Run(client, [&] {
    const auto result = client->client.ReduceVector(
        Text(key), static_cast<VectorFunction>(function), SliceOf(slice));
    if (!result) return Note(&client->last, result.error());
    *reduced = ReducedOf(*result);
    return PLOV_OK;
  });
}

plov_code plov_filter_vector(plov_client* client, plov_view key, uint32_t comparison,
                             plov_vector operand, const plov_vector_slice* slice,
                             plov_filtered* filtered) {
  if (client == nullptr || filtered == nullptr || !IsGood(key) || !IsGood(operand.elements)) {
    return RefuseNull(client);
  }
  *filtered = {};
  if (!IsNumber(comparison, PLOV_GREATER_OR_EQUAL))
    return Refuse(client, "no such plov_comparison");
  if (!IsNumber(operand.type, PLOV_DOUBLE)) return Refuse(client, "no such plov_element_type");
  return Run(client, [&] {
    auto result = client->client.FilterVector(Text(key), static_cast<Comparison>(comparison),
                                              OperandOf(operand), SliceOf(slice));
    if (!result) return Note(&client->last, result.error());
    const plov::Filtered& found = client->filtered = std::move(*result);
    *filtered = {VectorOf(found.type, found.bytes), found.indexes.data(), found.indexes.size(),
                 found.version};
    return PLOV_OK;
  });
}
