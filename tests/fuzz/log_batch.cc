// Batches of a log that somebody changed, under good checksums where that takes it further: what a server
// finds on disk when it starts.
//
// Properties: a batch as a server writes it is whole; a batch that is whole is made of exactly what was read,
// so written anew it has the same bytes; it is foreign at every other place; and operations that are taken
// without a checksum lie in what they were taken from.
#include <algorithm>
#include <string>
#include <vector>

#include "tests/fuzz/input.h"
#include "verify/log.h"

namespace plov::fuzz {
namespace {

using verify::BatchHead;
using verify::kBatchHeadBytes;
using verify::Logged;

using Bytes = std::span<const std::byte>;
using Image = std::vector<std::byte>;

constexpr verify::LogId kLog = {0x6c6f77, 0x68696768};
constexpr uint64_t kSegment = 3;
constexpr uint64_t kOffset = 3 * verify::kLogBlockBytes;

void Append(const Logged& operation, Image* to) {
  const size_t at = to->size();
  to->resize(at + verify::LoggedBytes(operation.key.size(), operation.value.size()));
  const size_t used = verify::EncodeLoggedHead(operation, operation.value.size(), to->data() + at);
  std::ranges::copy(std::as_bytes(std::span(operation.value)),
                    to->begin() + static_cast<ptrdiff_t>(at + used));
}

void Seal(const BatchHead& head, Image* batch) {
  verify::EncodeBatchHead(head, std::span(*batch).first<kBatchHeadBytes>());
  const std::span<std::byte> piece = *batch;
  verify::SealBatch({&piece, 1}, verify::BatchSeed(kLog, kSegment, kOffset));
}

// As a server writes it.
Image HonestBatch(Input* input) {
  BatchHead head{.number = input->Take<uint64_t>(),
                 .chain = input->Take<uint64_t>(),
                 .attest = input->Take<uint64_t>()};
  head.operations = input->Take<uint8_t>() % 4;
  if (head.operations == 0) {
    head.kind =
        input->Take<uint8_t>() % 2 == 0 ? BatchHead::Kind::kAttest : BatchHead::Kind::kClosed;
  }
  head.time_us = input->Take<uint64_t>();
  Image batch(kBatchHeadBytes);
  for (uint32_t i = 0; i < head.operations; ++i) {
    const bool is_put = input->Take<uint8_t>() % 4 != 0;
    const std::string key(1 + input->Take<uint8_t>() % 20u, 'k');
    const std::string value(is_put ? input->Take<uint8_t>() % 40u : 0, 'v');
    head.last_version += 1 + input->Take<uint8_t>();
    if (i == 0) head.first_version = head.last_version;
    Append({.kind = is_put ? Logged::Kind::kPut : Logged::Kind::kDelete,
            .version = head.last_version,
            .client_id = input->Take<uint32_t>(),
            .key = key,
            .value = value},
           &batch);
  }
  head.bytes = static_cast<uint32_t>(batch.size());
  Seal(head, &batch);
  return batch;
}

// Bytes anywhere, or the batch's length; whether there was a change.
bool Change(Input* input, Image* batch) {
  const Image before = *batch;
  while (!input->empty()) {
    const auto at = input->Take<uint16_t>() % (batch->size() + 1);
    if (at == batch->size()) {
      batch->resize(kBatchHeadBytes + input->Take<uint8_t>() * verify::kWordBytes);
    } else {
      (*batch)[at] = input->Take<std::byte>();
    }
  }
  return *batch != before;
}

// As far as its head says that it reaches.
void SealAgain(Image* batch) {
  const auto head = verify::GuessBatchHead(*batch, batch->size());
  const std::span<std::byte> piece = std::span(*batch).first(head ? head->bytes : batch->size());
  verify::SealBatch({&piece, 1}, verify::BatchSeed(kLog, kSegment, kOffset));
}

// Writes what was read anew, and says how many operations there were.
uint32_t Rewrite(Bytes operations, Image* to) {
  uint32_t count = 0;
  const Bytes whole = operations;
  while (const auto operation = verify::TakeLogged(&operations)) {
    ++count;
    const auto* begin = operation->key.data();
    const auto* end = operation->value.data() + operation->value.size();
    Check(std::as_bytes(std::span(begin, end)).data() >= whole.data() &&
              std::as_bytes(std::span(end, 0)).data() <= operations.data(),
          "an operation lies in what it was taken from");
    Check(operation->key.data() + operation->key.size() == operation->value.data(),
          "its value follows its key");
    Append(*operation, to);
  }
  return count;
}

void TestOperations(Bytes bytes) {
  Image again;
  Rewrite(bytes, &again);
  Check(again.size() <= bytes.size() && std::ranges::equal(again, bytes.first(again.size())),
        "operations that are taken and written are the same");
}

bool IsWhole(Bytes batch, uint64_t segment, uint64_t offset) {
  const auto head = verify::GuessBatchHead(batch, batch.size());
  return head && verify::CheckBatch(batch, *head, verify::BatchSeed(kLog, segment, offset));
}

void TestWhole(Bytes bytes) {
  const auto head = verify::GuessBatchHead(bytes, bytes.size());
  const Bytes batch = bytes.first(head->bytes);
  Image again(kBatchHeadBytes);
  Check(Rewrite(batch.subspan(kBatchHeadBytes), &again) == head->operations, "a head counts");
  Seal(*head, &again);
  Check(std::ranges::equal(again, batch), "a batch that is read and written is the same");
  Check(!IsWhole(bytes, kSegment, kOffset + verify::kLogBlockBytes), "elsewhere it is foreign");
  Check(!IsWhole(bytes, kSegment + 1, kOffset), "in another segment it is foreign");
}

}  // namespace
}  // namespace plov::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t bytes) {
  using namespace plov::fuzz;
  Input input(data, bytes);
  const bool seals = input.Take<uint8_t>() % 8 != 0;
  Image batch = HonestBatch(&input);
  Check(IsWhole(batch, kSegment, kOffset), "an honest batch is whole");
  const bool is_changed = Change(&input, &batch);
  if (is_changed && seals) SealAgain(&batch);
  TestOperations(Bytes(batch).subspan(kBatchHeadBytes));
  if (IsWhole(batch, kSegment, kOffset)) TestWhole(batch);
  return 0;
}
