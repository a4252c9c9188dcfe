// C API: every function checks its pointers, calls Client, and turns what comes back into codes and
// views. Nothing throws through it.

#include "client/capi.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <span>

using namespace plov::capi;
using plov::Client;
using plov::Code;

namespace {

constexpr bool Agree(plov_code ours, Code theirs) {
  return static_cast<unsigned>(ours) == static_cast<unsigned>(theirs);
}
static_assert(Agree(PLOV_OK, Code::kOk));
static_assert(Agree(PLOV_NOT_FOUND, Code::kNotFound));
static_assert(Agree(PLOV_EXISTS, Code::kExists));
static_assert(Agree(PLOV_VERSION_MISMATCH, Code::kVersionMismatch));
static_assert(Agree(PLOV_NO_SPACE, Code::kNoSpace));
static_assert(Agree(PLOV_INVALID_ARGUMENT, Code::kInvalidArgument));
static_assert(Agree(PLOV_TOO_LARGE, Code::kTooLarge));
static_assert(Agree(PLOV_UNAVAILABLE, Code::kUnavailable));
static_assert(Agree(PLOV_TIMEOUT, Code::kTimeout));
static_assert(Agree(PLOV_UNKNOWN, Code::kUnknown));
static_assert(Agree(PLOV_CORRUPT, Code::kCorrupt));
static_assert(Agree(PLOV_PERMISSION, Code::kPermission));
static_assert(Agree(PLOV_PROTOCOL, Code::kProtocol));
static_assert(Agree(PLOV_IN_USE, Code::kInUse));
static_assert(Agree(PLOV_BUFFER_TOO_SMALL, Code::kBufferTooSmall));
static_assert(Agree(PLOV_SYSTEM, Code::kSystem));
static_assert(Agree(PLOV_NOT_A_NUMBER, Code::kNotANumber));
static_assert(Agree(PLOV_OUT_OF_RANGE, Code::kOutOfRange));
static_assert(Agree(PLOV_WRONG_TYPE, Code::kWrongType));
static_assert(static_cast<int>(plov::PutMode::kSet) == PLOV_SET);
static_assert(static_cast<int>(plov::PutMode::kAdd) == PLOV_ADD);
static_assert(static_cast<int>(plov::PutMode::kReplace) == PLOV_REPLACE);
static_assert(static_cast<int>(plov::PutMode::kAppend) == PLOV_APPEND);
static_assert(static_cast<int>(plov::PutMode::kPrepend) == PLOV_PREPEND);
static_assert(static_cast<int>(plov::PutMode::kAppendOrAdd) == PLOV_APPEND_OR_ADD);
static_assert(static_cast<int>(plov::PutMode::kPrependOrAdd) == PLOV_PREPEND_OR_ADD);
static_assert(static_cast<int>(plov::ReadFrom::kPrimary) == PLOV_READ_PRIMARY);
static_assert(static_cast<int>(plov::ReadFrom::kAnyReplica) == PLOV_READ_ANY_REPLICA);

constexpr plov_error kNoClient = {PLOV_INVALID_ARGUMENT, "the plov_client is NULL"};
// Past any expiry that 32 bits can hold, and no sum with it overflows.
constexpr uint64_t kSecondsMax = uint64_t{1} << 33;

const char* Mistake(const plov_options& options) {
  if (options.struct_bytes == 0) return "plov_options are to be made by plov_default_options()";
  if (options.timeout_us < 1 || options.timeout_us > PLOV_TIMEOUT_US_MAX) {
    return "timeout_us is 1 to PLOV_TIMEOUT_US_MAX: begin with plov_default_options()";
  }
  if (options.spin_us > PLOV_TIMEOUT_US_MAX) return "spin_us is 0 to PLOV_TIMEOUT_US_MAX";
  if (options.report_period_us > PLOV_TIMEOUT_US_MAX) {
    return "report_period_us is 0 to PLOV_TIMEOUT_US_MAX";
  }
  if (options.window < 1 || options.window > 64) return "window must be 1 to 64";
  if (options.read_from > PLOV_READ_ANY_REPLICA) return "no such plov_read_from";
  if (options.max_age_us < 1 || options.max_age_us > PLOV_TIMEOUT_US_MAX) {
    return "max_age_us is 1 to PLOV_TIMEOUT_US_MAX";
  }
  return nullptr;
}

}  // namespace

namespace plov::capi {

plov_code Note(plov_error* error, plov_code code, std::string_view message) {
  if (error == nullptr) return code;
  const size_t bytes = std::min(message.size(), sizeof(error->message) - 1);
  error->code = code;
  std::memcpy(error->message, message.data(), bytes);
  error->message[bytes] = '\0';
  return code;
}

plov_code Note(plov_error* error, const Error& cause) {
  return Note(error, static_cast<plov_code>(cause.code), cause.message);
}

plov_code Refuse(plov_client* client, std::string_view message) {
  return Note(&client->last, PLOV_INVALID_ARGUMENT, message);
}

plov_code RefuseNull(plov_client* client) {
  if (client == nullptr) return PLOV_INVALID_ARGUMENT;
  return Refuse(client, "an argument that must not be NULL is NULL");
}

plov_item ItemOf(const Item& item) {
  return {View(item.value), item.version, item.flags, item.expiry};
}

std::chrono::seconds SecondsOf(uint64_t seconds) {
  return std::chrono::seconds(static_cast<int64_t>(std::min(seconds, kSecondsMax)));
}

Lifetime TtlOf(uint64_t ttl_seconds) {
  const uint64_t moment = ttl_seconds - PLOV_UNTIL(0);
  if (moment <= UINT32_MAX) return Lifetime::Until(static_cast<uint32_t>(moment));
  return SecondsOf(ttl_seconds);
}

PutOptions OptionsOf(const plov_put_options* options) {
  if (options == nullptr) return {};
  return {.mode = static_cast<PutMode>(options->mode),
          .expected_version = options->expected_version,
          .flags = options->flags,
          .ttl = TtlOf(options->ttl_seconds)};
}

plov_code Answer(plov_client* client, const Client::GetResult& got, plov_item* item) {
  if (got && *got) {
    *item = ItemOf(**got);
    return PLOV_OK;
  }
  *item = {};
  if (got) return Note(&client->last, PLOV_NOT_FOUND, kAbsent);
  return Note(&client->last, got.error());
}

plov_code Answer(plov_client* client, const Client::PutResult& put, uint64_t* version) {
  if (!put) return Note(&client->last, put.error());
  if (version != nullptr) *version = *put;
  return PLOV_OK;
}

}  // namespace plov::capi

void plov_fill_options(plov_options* options, size_t struct_bytes) {
  const plov::ClientOptions defaults;
  const plov_options all = {
      .struct_bytes = struct_bytes,
      .timeout_us = static_cast<uint64_t>(defaults.timeout.count()),
      .location_cache_bytes = defaults.location_cache_bytes,
      .spin_us = static_cast<uint64_t>(defaults.spin.count()),
      .window = defaults.window,
      .reserved = 0,
      .report_period_us = static_cast<uint64_t>(defaults.report_period.count()),
      .read_from = static_cast<uint32_t>(defaults.read_from),
      .reserved2 = 0,
      .max_age_us = static_cast<uint64_t>(defaults.max_age.count())};
  CopyStruct(options, struct_bytes, all);
}

plov_code plov_connect(const char* uri, const plov_options* options, plov_client** client,
                       plov_error* error) {
  Note(error, PLOV_OK, "");
  if (client != nullptr) *client = nullptr;
  if (uri == nullptr || client == nullptr) {
    return Note(error, PLOV_INVALID_ARGUMENT,
                "plov_connect needs a uri and a place for the client");
  }
  const plov_options given = Given(options, plov_default_options());
  if (const char* mistake = Mistake(given)) return Note(error, PLOV_INVALID_ARGUMENT, mistake);
  return Catch(error, [&] {
    auto connected = Client::Connect(
        uri,
        {.timeout = std::chrono::microseconds(static_cast<int64_t>(given.timeout_us)),
         .location_cache_bytes = given.location_cache_bytes,
         .window = given.window,
         .spin = std::chrono::microseconds(static_cast<int64_t>(given.spin_us)),
         .report_period = std::chrono::microseconds(static_cast<int64_t>(given.report_period_us)),
         .read_from = static_cast<plov::ReadFrom>(given.read_from),
         .max_age = std::chrono::microseconds(static_cast<int64_t>(given.max_age_us))});
    if (!connected) return Note(error, connected.error());
    *client = new plov_client(std::move(*connected));
    return PLOV_OK;
  });
}

plov_code plov_close(plov_client* client) {
  if (client == nullptr) return PLOV_OK;
  if (client->inside) return Refuse(client, "plov_close does not work in a callback");
  client->inside = client->closing = true;
  delete client;
  return PLOV_OK;
}

const plov_error* plov_last_error(const plov_client* client) {
  return client == nullptr ? &kNoClient : &client->last;
}

plov_code plov_get(plov_client* client, plov_view key, plov_item* item) {
  if (client == nullptr || item == nullptr || !IsGood(key)) return RefuseNull(client);
  return Run(client, [&] { return Answer(client, client->client.Get(Text(key)), item); });
}

plov_code plov_get_into(plov_client* client, plov_view key, void* buffer, size_t buffer_bytes,
                        plov_item* item) {
  if (client == nullptr || item == nullptr || !IsGood(key) ||
      !IsGood(plov_view{buffer, buffer_bytes})) {
    return RefuseNull(client);
  }
  const std::span<std::byte> into(static_cast<std::byte*>(buffer), buffer_bytes);
  return Run(client, [&] { return Answer(client, client->client.GetInto(Text(key), into), item); });
}

plov_code plov_time(plov_client* client, plov_view key, uint64_t* earliest_us,
                    uint64_t* latest_us) {
  if (client == nullptr || earliest_us == nullptr || latest_us == nullptr || !IsGood(key)) {
    return RefuseNull(client);
  }
  return Run(client, [&] {
    const auto time = client->client.Time(Text(key));
    if (!time) return Note(&client->last, time.error());
    *earliest_us = time->earliest_us;
    *latest_us = time->latest_us;
    return PLOV_OK;
  });
}

plov_code plov_age(plov_client* client, plov_view key, uint64_t* age_us) {
  if (client == nullptr || age_us == nullptr || !IsGood(key)) return RefuseNull(client);
  return Run(client, [&] {
    const auto age = client->client.Age(Text(key));
    if (!age) return Note(&client->last, age.error());
    *age_us = static_cast<uint64_t>(age->count());
    return PLOV_OK;
  });
}

plov_code plov_get_many(plov_client* client, const plov_view* keys, size_t count,
                        plov_get_callback done, void* context) {
  if (client == nullptr || done == nullptr || (keys == nullptr && count > 0)) {
    return RefuseNull(client);
  }
  return Run(client, [&] {
    if (!TakeKeys(client, keys, count)) return RefuseNull(client);
    client->client.GetMany(client->keys, [&](size_t index, const Client::GetResult& result) {
      Tell(done, context, index, result);
    });
    return PLOV_OK;
  });
}

plov_code plov_put(plov_client* client, plov_view key, plov_view value,
                   const plov_put_options* options, uint64_t* version) {
  if (client == nullptr || !IsGood(key) || !IsGood(value)) return RefuseNull(client);
  if (!IsGood(options)) return Refuse(client, kNoPutMode);
  return Run(client, [&] {
    return Answer(client, client->client.Put(Text(key), Text(value), OptionsOf(options)), version);
  });
}

plov_code plov_put_many(plov_client* client, const plov_put_item* items, size_t count,
                        plov_write_callback done, void* context) {
  if (client == nullptr || done == nullptr || (items == nullptr && count > 0)) {
    return RefuseNull(client);
  }
  return Run(client, [&] {
    client->items.clear();
    for (const plov_put_item& item : std::span(items, count)) {
      if (!IsGood(item.key) || !IsGood(item.value)) return RefuseNull(client);
      if (!IsGood(&item.options)) return Refuse(client, kNoPutMode);
      client->items.push_back({Text(item.key), Text(item.value), OptionsOf(&item.options)});
    }
    client->client.PutMany(client->items, [&](size_t index, const Client::PutResult& result) {
      Tell(done, context, index, result);
    });
    return PLOV_OK;
  });
}

plov_code plov_delete(plov_client* client, plov_view key, uint64_t expected_version) {
  if (client == nullptr || !IsGood(key)) return RefuseNull(client);
  return Run(client, [&] {
    const auto removed = client->client.Delete(Text(key), expected_version);
    if (!removed) return Note(&client->last, removed.error());
    return *removed ? PLOV_OK : Note(&client->last, PLOV_NOT_FOUND, kAbsent);
  });
}

plov_code plov_scan(plov_client* client, plov_scan_callback each, void* context,
                    plov_scan_summary* summary) {
  if (client == nullptr || each == nullptr) return RefuseNull(client);
  return Run(client, [&] {
    const auto scanned =
        client->client.Scan([each, context](std::string_view key, const plov::Item& item) {
          const plov_item seen = ItemOf(item);
          return each(context, View(key), &seen);
        });
    if (!scanned) return Note(&client->last, scanned.error());
    if (summary != nullptr) {
      *summary = {scanned->items, scanned->unreadable, scanned->passes, scanned->settled};
    }
    return PLOV_OK;
  });
}

plov_code plov_ping(plov_client* client, uint64_t* round_trip_ns) {
  if (client == nullptr) return RefuseNull(client);
  return Run(client, [&] {
    const auto took = client->client.Ping();
    if (!took) return Note(&client->last, took.error());
    if (round_trip_ns != nullptr) *round_trip_ns = static_cast<uint64_t>(took->count());
    return PLOV_OK;
  });
}

plov_code plov_server_stats(plov_client* client, plov_text_callback each, void* context) {
  if (client == nullptr || each == nullptr) return RefuseNull(client);
  return Run(client, [&] {
    const auto texts = client->client.ServerStats();
    if (!texts) return Note(&client->last, texts.error());
    uint32_t shard = 0;
    for (const std::string& text : *texts) each(context, shard++, text.c_str());
    return PLOV_OK;
  });
}

plov_code plov_sync(plov_client* client) {
  if (client == nullptr) return RefuseNull(client);
  return Run(client, [&] {
    const auto synced = client->client.Sync();
    return synced ? PLOV_OK : Note(&client->last, synced.error());
  });
}

plov_code plov_flush(plov_client* client, uint64_t delay_seconds, uint64_t* deleted) {
  if (client == nullptr) return RefuseNull(client);
  return Run(client, [&] {
    const auto flushed = client->client.Flush(SecondsOf(delay_seconds));
    if (!flushed) return Note(&client->last, flushed.error());
    if (deleted != nullptr) *deleted = *flushed;
    return PLOV_OK;
  });
}

plov_code plov_stats(const plov_client* client, plov_client_stats* stats, size_t stats_bytes) {
  if (client == nullptr || stats == nullptr) return PLOV_INVALID_ARGUMENT;
  const plov::ClientStats s = client->client.stats();
  const plov_client_stats all = {s.gets,          s.hits,         s.puts,          s.reads,
                                 s.bucket_reads,  s.record_reads, s.known_reads,   s.known_misses,
                                 s.torn_buckets,  s.torn_records, s.confirmations, s.restarts,
                                 s.fallbacks,     s.corrupt,      s.reconnects,    s.retries,
                                 s.refreshes,     s.late_reads,   s.map_fetches,   s.deposed_gets,
                                 s.deposed_stale, s.lives};
  CopyStruct(stats, stats_bytes, all);
  return PLOV_OK;
}

uint32_t plov_shard_count(const plov_client* client) {
  return client == nullptr ? 0 : client->client.shard_count();
}

const char* plov_code_name(unsigned code) {
  // 16 is not used in C.
  static constexpr auto kNames = std::to_array<const char*>(
      {"PLOV_OK",       "PLOV_NOT_FOUND",        "PLOV_EXISTS",           "PLOV_VERSION_MISMATCH",
       "PLOV_NO_SPACE", "PLOV_INVALID_ARGUMENT", "PLOV_TOO_LARGE",        "PLOV_UNAVAILABLE",
       "PLOV_TIMEOUT",  "PLOV_UNKNOWN",          "PLOV_CORRUPT",          "PLOV_PERMISSION",
       "PLOV_PROTOCOL", "PLOV_IN_USE",           "PLOV_BUFFER_TOO_SMALL", "PLOV_SYSTEM",
       "PLOV_SYSTEM",   "PLOV_NOT_A_NUMBER",     "PLOV_OUT_OF_RANGE",     "PLOV_WRONG_TYPE"});
  return code < kNames.size() ? kNames[code] : kNames[PLOV_SYSTEM];
}

const char* plov_version(void) { return PLOV_VERSION; }
