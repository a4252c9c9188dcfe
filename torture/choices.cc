#include "torture/choices.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "torture/value.h"

namespace plov::torture {

namespace {

// In percent, of batches. GETs many at a time are most of what a store does and what costs least.
constexpr uint64_t kGetManyPercent = 66;
constexpr uint64_t kPutManyPercent = 10;
constexpr uint64_t kAsyncPercent = 10;
constexpr uint64_t kGetIntoPercent = 8;

// In percent, of operations.
constexpr uint64_t kHotPercent = 70;

// Hot keys that are not like their profile.
constexpr uint64_t kOtherSizeOneIn = 32;
// A value that is at most so much longer than the smallest, of 16 bytes, lies in a bucket of 64
// bytes under a key of 13.
constexpr uint64_t kInlineSpread = 8;
constexpr uint64_t kSmallBytesMax = 1024;

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
Kind DrawKind(const Share (&shares)[kCount], program::Random* random) {
  uint64_t left = random->Below(100);
  for (const Share& share : shares) {
    if (left < share.percent) return share.kind;
    left -= share.percent;
  }
  return shares[0].kind;
}

}  // namespace

Choices::Choices(const Plan& plan, uint32_t process)
    : plan_(plan), random_(plan.seed + process * uint64_t{0x632be59bd9b4e019}), process_(process) {}

Form Choices::DrawForm() {
  constexpr std::pair<Form, uint64_t> kForms[] = {{Form::kGetMany, kGetManyPercent},
                                                  {Form::kPutMany, kPutManyPercent},
                                                  {Form::kAsync, kAsyncPercent},
                                                  {Form::kGetInto, kGetIntoPercent}};
  uint64_t left = random_.Below(100);
  for (const auto& [form, percent] : kForms) {
    if (left < percent) return form;
    left -= percent;
  }
  return Form::kSingle;
}

// Hot keys have the numbers from 0 on, the hottest first; the last takes what is left.
uint64_t Choices::DrawHotKey() {
  const auto halvings = static_cast<uint64_t>(std::countr_zero(random_.Next()));
  return std::min<uint64_t>(halvings, plan_.hot_keys - 1);
}

uint64_t Choices::DrawKey(uint64_t keys_open) {
  if (random_.Below(100) < kHotPercent) return DrawHotKey();
  return random_.Below(std::max<uint64_t>(keys_open, plan_.hot_keys));
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

void Choices::DrawHotGet(Operation* operation) { Begin(Kind::kGet, DrawHotKey(), operation); }

void Choices::DrawStore(uint64_t keys_open, Operation* operation) {
  const Kind kind = DrawKind(kStores, &random_);
  Begin(kind, DrawKey(keys_open), operation);
}

void Choices::DrawAny(uint64_t keys_open, Operation* operation) {
  const Kind kind = DrawKind(kAll, &random_);
  Begin(kind, DrawKey(keys_open), operation);
}

// The hottest is mostly inline. Now and then a key gets what others get, so that an item goes from
// its bucket to a record and back.
Choices::Profile Choices::ProfileOf(uint64_t key) {
  if (key >= plan_.hot_keys) return Profile::kSmall;
  if (OneIn(kOtherSizeOneIn)) return Profile::kAny;
  constexpr std::array kProfiles = {Profile::kInline, Profile::kSmall, Profile::kInline,
                                    Profile::kAny};
  return kProfiles[key % kProfiles.size()];
}

// As many between 16 and 32 bytes as between 16 and 32 thousand.
size_t Choices::DrawBytesUpTo(uint64_t most) {
  const uint64_t least = plan_.value_bytes_min;
  const uint64_t range =
      least << random_.Below(static_cast<uint64_t>(std::bit_width(most / least)));
  const uint64_t from = std::min(range, most);
  return from + random_.Below(std::min(range * 2, most) - from + 1);
}

size_t Choices::DrawValueBytes(uint64_t key) {
  const uint64_t least = plan_.value_bytes_min;
  const uint64_t most = plan_.value_bytes_max;
  switch (ProfileOf(key)) {
    case Profile::kInline:
      return least + random_.Below(std::min(kInlineSpread, most - least) + 1);
    case Profile::kSmall:
      return DrawBytesUpTo(std::min(most, std::max(least, kSmallBytesMax)));
    case Profile::kAny:
      break;
  }
  return DrawBytesUpTo(most);
}

void Choices::Learn(const Operation& operation) {
  if (operation.outcome != Outcome::kOk || operation.version == 0) return;
  ToldOf(operation.key) = {operation.key, operation.version};
}

}  // namespace plov::torture
