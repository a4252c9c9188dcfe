#include "torture/choices.h"

#include <algorithm>
#include <bit>

#include "torture/value.h"

namespace plov::torture {

namespace {

// In percent, of batches. GETs many at a time are most of what a store does and what costs least.
constexpr uint64_t kGetManyPercent = 76;
constexpr uint64_t kPutManyPercent = 9;
constexpr uint64_t kAsyncPercent = 9;

// In percent, of operations.
constexpr uint64_t kHotPercent = 70;

struct Share {
  Kind kind;
  uint64_t percent;
};
constexpr Share kStores[] = {
    {Kind::kPut, 68}, {Kind::kAdd, 8}, {Kind::kReplace, 10}, {Kind::kPutIf, 14}};
constexpr Share kAll[] = {{Kind::kGet, 40},    {Kind::kPut, 20},  {Kind::kAdd, 10},
                          {Kind::kReplace, 5}, {Kind::kPutIf, 7}, {Kind::kDelete, 11},
                          {Kind::kDeleteIf, 7}};

template <size_t kCount>
Kind DrawKind(const Share (&shares)[kCount], Random* random) {
  uint64_t left = random->Below(100);
  for (const Share& share : shares) {
    if (left < share.percent) return share.kind;
    left -= share.percent;
  }
  return shares[0].kind;
}

}  // namespace

Choices::Choices(const Plan& plan, uint32_t process)
    : plan_(plan),
      random_(plan.seed + process * uint64_t{0x632be59bd9b4e019}),
      process_(process),
      size_bits_(static_cast<uint32_t>(
          std::bit_width(plan.value_bytes_max / std::max<uint64_t>(plan.value_bytes_min, 1)))) {}

Form Choices::DrawForm() {
  const uint64_t percent = random_.Below(100);
  if (percent < kGetManyPercent) return Form::kGetMany;
  if (percent < kGetManyPercent + kPutManyPercent) return Form::kPutMany;
  if (percent < kGetManyPercent + kPutManyPercent + kAsyncPercent) return Form::kAsync;
  return Form::kSingle;
}

// Hot keys have the numbers from 0 on.
uint64_t Choices::DrawKey(uint64_t keys_open) {
  const bool hot = random_.Below(100) < kHotPercent;
  return random_.Below(hot ? plan_.hot_keys : std::max<uint64_t>(keys_open, plan_.hot_keys));
}

void Choices::Begin(Kind kind, uint64_t key, Operation* operation) {
  *operation = {.key = key, .process = process_, .kind = kind, .outcome = Outcome::kUnknown};
  if (IsConditional(kind)) {
    const Told& told = ToldOf(key);
    if (told.version != 0 && told.key == key) {
      operation->expected = told.version;
    } else {
      operation->kind = kind == Kind::kPutIf ? Kind::kPut : Kind::kDelete;
    }
  }
  if (IsStore(kind)) operation->value = MakeValueId(process_, ++sequence_);
}

void Choices::DrawGet(uint64_t keys_open, Operation* operation) {
  Begin(Kind::kGet, DrawKey(keys_open), operation);
}

void Choices::DrawHotGet(Operation* operation) {
  Begin(Kind::kGet, random_.Below(plan_.hot_keys), operation);
}

void Choices::DrawStore(uint64_t keys_open, Operation* operation) {
  const Kind kind = DrawKind(kStores, &random_);
  Begin(kind, DrawKey(keys_open), operation);
}

void Choices::DrawAny(uint64_t keys_open, Operation* operation) {
  const Kind kind = DrawKind(kAll, &random_);
  Begin(kind, DrawKey(keys_open), operation);
}

// As many between 16 and 32 bytes as between 16 and 32 thousand.
size_t Choices::DrawValueBytes() {
  const uint64_t least = plan_.value_bytes_min;
  const uint64_t range = least << random_.Below(size_bits_ + 1);
  const uint64_t most = std::min(range * 2, plan_.value_bytes_max);
  const uint64_t from = std::min(range, plan_.value_bytes_max);
  return from + random_.Below(most - from + 1);
}

void Choices::Learn(const Operation& operation) {
  if (operation.outcome != Outcome::kOk || operation.version == 0) return;
  ToldOf(operation.key) = {operation.key, operation.version};
}

}  // namespace plov::torture
