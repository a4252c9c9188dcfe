// What an UPDATE, a REDUCE or a FILTER carries, and any value that it is sent for.
//
// Property: an UPDATE changes no byte outside its slice; a REDUCE is of all of it; a FILTER finds elements of its slice, in their order; what is no vector is refused.
#include "verify/vector.h"

#include <cstring>
#include <memory>
#include <optional>
#include <string>

#include "server/modification.h"
#include "server/store.h"
#include "server/vector_scan.h"
#include "tests/fuzz/input.h"

namespace plov::fuzz {
namespace {

using verify::Operation;
using verify::Request;

constexpr std::string_view kKey = "key";
constexpr size_t kRoom = 128;

// What was there and what is called, with the bytes from and up to which that may look.
struct Case {
  std::string value;
  std::string_view call;
  bool is_within = false;
  size_t from = 0;
  size_t end = 0;

  Case(std::string_view given, std::string_view bytes) : value(given), call(bytes) {
    const auto read = verify::DecodeVectorCall(call);
    const auto type = verify::VectorTypeOf(value, value.size());
    if (!read || !type) return;
    const size_t element_bytes = verify::ElementBytes(*type);
    const auto last = read->slice.EndOf((value.size() - verify::kVectorHeadBytes) / element_bytes);
    if (!last) return;
    is_within = true;
    from = verify::kVectorHeadBytes + read->slice.first * element_bytes;
    end = verify::kVectorHeadBytes + *last * element_bytes;
  }
  Request Of(Operation operation) const {
    return {.operation = operation,
            .value_bytes = static_cast<uint32_t>(call.size()),
            .sequence = 1,
            .key = kKey,
            .value = call};
  }
};

std::string Stored(server::Store* store) {
  const auto hit = store->Get(kKey, 1);
  Check(hit.has_value(), "what was stored is there");
  return hit->item.value();
}

void TestUpdate(const Case& one, server::Store* store) {
  const Request request = one.Of(Operation::kUpdate);
  server::Modification modification;
  const auto refusal = modification.Make(request, store, 1);
  if (refusal) {
    Check(refusal->status != Code::kOk, "a refusal says why");
    return;
  }
  Check(one.is_within, "only a slice of a vector is changed");
  server::Store::Writing writing;
  std::optional<server::WriteReply> reply;
  while (!reply) reply = store->Write(modification.put(), 1, &writing);
  Check(reply->status == Code::kOk, "it is stored");
  const std::string after = Stored(store);
  Check(after.size() == one.value.size(), "a vector stays as long");
  Check(after.starts_with(one.value.substr(0, one.from)), "what is before the slice stays");
  Check(after.ends_with(one.value.substr(one.end)), "what is behind it stays");
}

void TestScan(const Case& one, Operation operation, server::Store* store) {
  const Request request = one.Of(operation);
  server::VectorScan scan;
  if (scan.Open(request, kRoom, store, 1)) return;
  Check(one.is_within, "only a slice of a vector is looked at");
  std::optional<Code> status;
  while (!status) status = scan.Go(1);
  Check(*status == Code::kOk, "a vector that is whole is looked at");
  const auto answer = verify::DecodeVectorAnswer(scan.value());
  Check(answer.has_value(), "there is an answer");
  const size_t element_bytes = verify::ElementBytes(static_cast<verify::ElementType>(answer->type));
  const std::string_view rest = scan.value().substr(verify::kVectorAnswerBytes);
  if (operation == Operation::kReduce) {
    Check(answer->count == (one.end - one.from) / element_bytes && rest.size() == sizeof(uint64_t),
          "a reduction is of all of the slice");
    return;
  }
  const size_t match_bytes = sizeof(uint32_t) + element_bytes;
  Check(rest.size() % match_bytes == 0, "matches are whole");
  size_t least = one.from;
  for (size_t at = 0; at < rest.size(); at += match_bytes) {
    uint32_t index = 0;
    std::memcpy(&index, &rest[at], sizeof(index));
    const size_t from = verify::kVectorHeadBytes + index * element_bytes;
    Check(from >= least && from < one.end, "matches are of the slice, in their order");
    Check(rest.substr(at + sizeof(index), element_bytes) == one.value.substr(from, element_bytes),
          "a match is the element");
    least = from + element_bytes;
  }
}

}  // namespace
}  // namespace plov::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace plov;
  static const auto store =
      std::move(*server::Store::Create({.memory_bytes = size_t{8} << 20, .bucket_count = 64}));
  fuzz::Input input(data, size);
  const auto kind = input.Take<uint8_t>();
  const auto bytes = input.TakeBytes(input.Take<uint8_t>());
  const auto text = [](std::span<const uint8_t> span) {
    return std::string_view(reinterpret_cast<const char*>(span.data()), span.size());
  };
  const fuzz::Case one(text(bytes), text(input.TakeRest()));
  server::Store::Writing writing;
  const verify::Request put{.operation = verify::Operation::kPut,
                            .value_bytes = static_cast<uint32_t>(one.value.size()),
                            .sequence = 1,
                            .key = fuzz::kKey,
                            .value = one.value};
  while (!store->Write(put, 1, &writing)) continue;
  if (kind % 3 == 0) {
    fuzz::TestUpdate(one, store.get());
  } else {
    fuzz::TestScan(one, kind % 3 == 1 ? verify::Operation::kReduce : verify::Operation::kFilter,
                   store.get());
  }
  return 0;
}
