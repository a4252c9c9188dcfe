#include "client/vectors.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <string>
#include <utility>

#include "client/engine.h"
#include "client/gets.h"
#include "verify/record.h"
#include "verify/vector.h"

namespace plov {

namespace {

constexpr uint64_t kElementsMax = verify::kValueBytesMax;
// A server that has told less would have found room for more: who lies so would keep a call for long.
constexpr size_t kPartBytesMin = 1024;

constexpr auto kNoFunction = "this function is not one for that";
constexpr auto kNoComparison = "there is no such comparison";
constexpr auto kNotOfFloats = "and, or and xor are functions of integers";
constexpr auto kBadOperand = "an operand is one whole element of a type, or some";
constexpr auto kOneOperand = "elements are compared to one element";
constexpr auto kOtherCount = "an operand with many elements has as many as the slice";
constexpr auto kBadAnswer = "the server's answer about a vector makes no sense";

std::unexpected<Error> BadCall(const char* why) { return Fail(Code::kInvalidArgument, why); }

bool IsFunction(VectorFunction function) {
  return verify::IsVectorFunction(static_cast<uint8_t>(function));
}

// nullptr: there is none.
const char* Mistake(const VectorOperand& operand) {
  const size_t element_bytes = ElementBytes(operand.type());
  const size_t bytes = operand.bytes().size();
  const bool is_whole = element_bytes != 0 && bytes != 0 && bytes % element_bytes == 0;
  return is_whole ? nullptr : kBadOperand;
}

const char* Mistake(VectorFunction function, const VectorOperand& operand,
                    const VectorSlice& slice) {
  if (!IsFunction(function)) return kNoFunction;
  if (const char* mistake = Mistake(operand)) return mistake;
  if (!verify::Applies(function, operand.type())) return kNotOfFloats;
  const uint64_t count = operand.bytes().size() / ElementBytes(operand.type());
  const bool agrees = count == 1 || slice.count == VectorSlice::kToEnd || slice.count == count;
  return agrees ? nullptr : kOtherCount;
}

std::array<char, verify::kVectorCallBytes> Encode(const verify::VectorCall& call) {
  std::array<char, verify::kVectorCallBytes> bytes;
  verify::EncodeVectorCall(call, bytes.data());
  return bytes;
}

// Asks the key's shard. `value`: the request's, which is copied before this ends.
std::expected<Controls::Reply, Error> Ask(Engine* engine, verify::Request request,
                                          std::string_view value) {
  request.value = value;
  request.value_bytes = static_cast<uint32_t>(value.size());
  auto replies = engine->Control(request, Controls::To::kShardOfKey);
  if (!replies) return std::unexpected(std::move(replies.error()));
  return std::move(replies->front());
}

// A FILTER, from its first message to the last.
struct Filtering {
  Filtered found;
  uint64_t next = 0;
  bool is_over = false;

  // False: no server of ours answers so.
  bool Take(const Controls::Reply& reply) {
    const auto answer = verify::DecodeVectorAnswer(reply.text);
    if (!answer || answer->type != static_cast<uint8_t>(found.type)) return false;
    const std::string_view matches =
        std::string_view(reply.text).substr(verify::kVectorAnswerBytes);
    const size_t element_bytes = ElementBytes(found.type);
    const size_t match_bytes = sizeof(uint32_t) + element_bytes;
    if (matches.size() % match_bytes != 0) return false;
    is_over = answer->count == VectorSlice::kToEnd;
    const uint64_t end = is_over ? kElementsMax : answer->count;
    if (end > kElementsMax || (!is_over && matches.size() < kPartBytesMin)) return false;
    for (size_t at = 0; at < matches.size(); at += match_bytes) {
      uint32_t index;
      std::memcpy(&index, &matches[at], sizeof(index));
      if (index < next || index >= end) return false;
      next = uint64_t{index} + 1;
      found.indexes.push_back(index);
      found.bytes.append(matches.substr(at + sizeof(index), element_bytes));
    }
    next = end;
    found.version = reply.version;
    return true;
  }
};

}  // namespace

Write MakeUpdate(std::string_view key, VectorFunction function, const VectorOperand& operand,
                 const VectorOptions& options) {
  Write write;
  write.operation = verify::Operation::kUpdate;
  write.expected_version = options.expected_version;
  write.key = key;
  write.mistake = Mistake(function, operand, options.slice);
  if (write.mistake != nullptr) return write;
  const std::string_view bytes = operand.bytes();
  const uint64_t count = bytes.size() / ElementBytes(operand.type());
  VectorSlice slice = options.slice;
  if (count > 1) slice.count = count;
  verify::EncodeVectorCall(
      {static_cast<uint8_t>(function), static_cast<uint8_t>(operand.type()), slice},
      write.change.data());
  write.change_bytes = verify::kVectorCallBytes;
  if (count > 1) {
    write.value = bytes;
  } else {
    std::ranges::copy(bytes, write.change.begin() + verify::kVectorCallBytes);
    write.change_bytes = static_cast<uint8_t>(verify::kVectorCallBytes + bytes.size());
  }
  return write;
}

std::expected<Reduced, Error> Reduce(Engine* engine, std::string_view key, VectorFunction function,
                                     const VectorSlice& slice) {
  if (!KeyIsGood(key)) return std::unexpected(BadKey());
  if (!IsFunction(function) || function == VectorFunction::kAssign) return BadCall(kNoFunction);
  engine->AwaitStarted({&key, 1});
  const auto call = Encode({static_cast<uint8_t>(function), 0, slice});
  const auto reply = Ask(engine, {.operation = verify::Operation::kReduce, .key = key},
                         {call.data(), call.size()});
  if (!reply) return std::unexpected(reply.error());
  const auto answer = verify::DecodeVectorAnswer(reply->text);
  uint64_t bits = 0;
  if (!answer || reply->text.size() != verify::kVectorAnswerBytes + sizeof(bits)) {
    return Fail(Code::kProtocol, kBadAnswer);
  }
  std::memcpy(&bits, &reply->text[verify::kVectorAnswerBytes], sizeof(bits));
  Reduced reduced{.value = bits,
                  .type = static_cast<ElementType>(answer->type),
                  .count = answer->count,
                  .version = reply->version};
  if (reduced.type <= ElementType::kInt64) {
    reduced.value = static_cast<int64_t>(bits);
  } else if (reduced.type >= ElementType::kFloat) {
    reduced.value = std::bit_cast<double>(bits);
  }
  return reduced;
}

// The messages after the first one are about the same version; a write between them makes all begin anew.
std::expected<Filtered, Error> Filter(Engine* engine, std::string_view key, Comparison comparison,
                                      const VectorOperand& operand, const VectorSlice& slice) {
  if (!KeyIsGood(key)) return std::unexpected(BadKey());
  if (!verify::IsComparison(static_cast<uint8_t>(comparison))) return BadCall(kNoComparison);
  if (const char* mistake = Mistake(operand)) return BadCall(mistake);
  if (operand.bytes().size() != ElementBytes(operand.type())) return BadCall(kOneOperand);
  engine->AwaitStarted({&key, 1});
  const Deadline deadline = engine->DeadlineFromNow();
  const auto nothing = [&] {
    return Filtering{.found = {.type = operand.type(), .indexes = {}, .bytes = {}},
                     .next = slice.first};
  };
  Filtering filtering = nothing();
  while (!filtering.is_over) {
    VectorSlice left{filtering.next, slice.count};
    if (slice.count != VectorSlice::kToEnd) left.count -= filtering.next - slice.first;
    const auto call =
        Encode({static_cast<uint8_t>(comparison), static_cast<uint8_t>(operand.type()), left});
    std::string value(call.data(), call.size());
    value += operand.bytes();
    const Version version = filtering.found.version;
    const auto reply = Ask(engine,
                           {.operation = verify::Operation::kFilter,
                            .conditional = version != 0,
                            .expected_version = version,
                            .key = key},
                           value);
    if (reply) {
      if (!filtering.Take(*reply)) return Fail(Code::kProtocol, kBadAnswer);
      continue;
    }
    const bool is_over =
        reply.error().code != Code::kVersionMismatch || fabric::Clock::now() >= deadline;
    if (is_over) return std::unexpected(reply.error());
    filtering = nothing();
  }
  return std::move(filtering.found);
}

}  // namespace plov
