// C API: writes that make their value of the one that is there, and their options.

#include <utility>

#include "client/capi.h"

using namespace plov::capi;

namespace {

static_assert(static_cast<int>(plov::NumberMode::kSigned) == PLOV_SIGNED);
static_assert(static_cast<int>(plov::NumberMode::kUnsignedAdd) == PLOV_UNSIGNED_ADD);
static_assert(static_cast<int>(plov::NumberMode::kUnsignedSubtract) == PLOV_UNSIGNED_SUBTRACT);

const char* Mistake(const plov_increment_options& options) {
  if (options.struct_bytes == 0) {
    return "plov_increment_options are to be made by plov_default_increment_options()";
  }
  if (options.mode > PLOV_UNSIGNED_SUBTRACT) return "no such plov_number_mode";
  return nullptr;
}

}  // namespace

namespace plov::capi {

std::expected<IncrementOptions, const char*> OptionsOf(const plov_increment_options* options) {
  const plov_increment_options given = Given(options, plov_default_increment_options());
  if (const char* mistake = Mistake(given)) return std::unexpected(mistake);
  IncrementOptions result{.mode = static_cast<NumberMode>(given.mode),
                          .min = given.min,
                          .max = given.max,
                          .expected_version = given.expected_version,
                          .flags = given.flags,
                          .ttl = TtlOf(given.ttl_seconds)};
  if (given.has_initial != 0) result.initial = given.initial;
  return result;
}

std::expected<PutOptions, const char*> OptionsOf(const plov_put_options* options,
                                                 plov_view expected) {
  if (!IsGood(options)) return std::unexpected(kNoPutMode);
  PutOptions result = OptionsOf(options);
  if (result.mode != PutMode::kSet) {
    return std::unexpected("what compares is stored by PLOV_SET, and by no other plov_put_mode");
  }
  result.expected_value = Text(expected);
  return result;
}

}  // namespace plov::capi

plov_code plov_compare_and_put(plov_client* client, plov_view key, plov_view expected,
                               plov_view value, const plov_put_options* options,
                               uint64_t* version) {
  if (client == nullptr || !IsGood(key) || !IsGood(expected) || !IsGood(value)) {
    return RefuseNull(client);
  }
  const auto given = OptionsOf(options, expected);
  if (!given) return Refuse(client, given.error());
  return Run(client, [&] {
    return Answer(client, client->client.Put(Text(key), Text(value), *given), version);
  });
}

void plov_fill_increment_options(plov_increment_options* options, size_t struct_bytes) {
  const plov::IncrementOptions defaults;
  const plov_increment_options all = {
      .struct_bytes = struct_bytes,
      .mode = static_cast<uint32_t>(defaults.mode),
      .has_initial = 0,
      .initial = 0,
      .min = defaults.min,
      .max = defaults.max,
      .expected_version = defaults.expected_version,
      .ttl_seconds = static_cast<uint64_t>(defaults.ttl.duration().count()),
      .flags = defaults.flags,
      .reserved = 0};
  CopyStruct(options, struct_bytes, all);
}

plov_code plov_increment(plov_client* client, plov_view key, int64_t delta,
                         const plov_increment_options* options, int64_t* number,
                         uint64_t* version) {
  if (client == nullptr || !IsGood(key)) return RefuseNull(client);
  const auto given = OptionsOf(options);
  if (!given) return Refuse(client, given.error());
  return Run(client, [&] {
    const auto incremented = client->client.Increment(Text(key), delta, *given);
    if (!incremented) return Note(&client->last, incremented.error());
    if (number != nullptr) *number = incremented->value;
    if (version != nullptr) *version = incremented->version;
    return PLOV_OK;
  });
}

plov_code plov_touch(plov_client* client, plov_view key, uint64_t ttl_seconds,
                     uint64_t expected_version, uint64_t* version) {
  if (client == nullptr || !IsGood(key)) return RefuseNull(client);
  return Run(client, [&] {
    return Answer(client, client->client.Touch(Text(key), TtlOf(ttl_seconds), expected_version),
                  version);
  });
}

plov_code plov_get_and_touch(plov_client* client, plov_view key, uint64_t ttl_seconds,
                             plov_item* item) {
  if (client == nullptr || item == nullptr || !IsGood(key)) return RefuseNull(client);
  return Run(client, [&] {
    return Answer(client, client->client.GetAndTouch(Text(key), TtlOf(ttl_seconds)), item);
  });
}
