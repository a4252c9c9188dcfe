// C API: the asynchronous form, and how any operation's outcome reaches its callback.

#include "client/capi.h"

using namespace plov::capi;
using plov::Client;

namespace plov::capi {

namespace {

// What `code` and `message` of a failed result are.
template <typename Result>
void FillError(Result* result, const Error& error) {
  result->code = static_cast<plov_code>(error.code);
  result->message = error.message.c_str();
}

}  // namespace

void Tell(plov_get_callback done, void* context, size_t index, const Client::GetResult& got) {
  plov_get_result result = {PLOV_OK, "", index, {}};
  if (!got) {
    FillError(&result, got.error());
  } else if (*got) {
    result.item = ItemOf(**got);
  } else {
    result.code = PLOV_NOT_FOUND;
    result.message = kAbsent;
  }
  done(context, &result);
}

void Tell(plov_write_callback done, void* context, size_t index, const Client::PutResult& put) {
  plov_write_result result = {PLOV_OK, "", index, 0};
  if (put) {
    result.version = *put;
  } else {
    FillError(&result, put.error());
  }
  done(context, &result);
}

void Tell(plov_write_callback done, void* context, const Client::DeleteResult& removed) {
  plov_write_result result = {PLOV_OK, "", 0, 0};
  if (!removed) {
    FillError(&result, removed.error());
  } else if (!*removed) {
    result.code = PLOV_NOT_FOUND;
    result.message = kAbsent;
  }
  done(context, &result);
}

void Tell(plov_increment_callback done, void* context, const Client::IncrementResult& incremented) {
  plov_increment_result result = {PLOV_OK, "", 0, 0};
  if (incremented) {
    result.number = incremented->value;
    result.version = incremented->version;
  } else {
    FillError(&result, incremented.error());
  }
  done(context, &result);
}

void Tell(plov_flush_callback done, void* context, const Client::FlushResult& flushed) {
  plov_flush_result result = {PLOV_OK, "", 0};
  if (flushed) {
    result.deleted = *flushed;
  } else {
    FillError(&result, flushed.error());
  }
  done(context, &result);
}

}  // namespace plov::capi

plov_code plov_start_get(plov_client* client, plov_view key, plov_get_callback done,
                         void* context) {
  if (client == nullptr || done == nullptr || !IsGood(key)) return RefuseNull(client);
  return Start(client, [&] {
    client->client.StartGet(Text(key), [done, context](const Client::GetResult& result) {
      Tell(done, context, 0, result);
    });
  });
}

plov_code plov_start_put(plov_client* client, plov_view key, plov_view value,
                         const plov_put_options* options, plov_write_callback done, void* context) {
  if (client == nullptr || done == nullptr || !IsGood(key) || !IsGood(value)) {
    return RefuseNull(client);
  }
  if (!IsGood(options)) return Refuse(client, kNoPutMode);
  return Start(client, [&] {
    client->client.StartPut(
        Text(key), Text(value), OptionsOf(options),
        [done, context](const Client::PutResult& result) { Tell(done, context, 0, result); });
  });
}

plov_code plov_start_compare_and_put(plov_client* client, plov_view key, plov_view expected,
                                     plov_view value, const plov_put_options* options,
                                     plov_write_callback done, void* context) {
  if (client == nullptr || done == nullptr || !IsGood(key) || !IsGood(expected) || !IsGood(value)) {
    return RefuseNull(client);
  }
  const auto given = OptionsOf(options, expected);
  if (!given) return Refuse(client, given.error());
  return Start(client, [&] {
    client->client.StartPut(
        Text(key), Text(value), *given,
        [done, context](const Client::PutResult& result) { Tell(done, context, 0, result); });
  });
}

plov_code plov_start_increment(plov_client* client, plov_view key, int64_t delta,
                               const plov_increment_options* options, plov_increment_callback done,
                               void* context) {
  if (client == nullptr || done == nullptr || !IsGood(key)) return RefuseNull(client);
  const auto given = OptionsOf(options);
  if (!given) return Refuse(client, given.error());
  return Start(client, [&] {
    client->client.StartIncrement(
        Text(key), delta, *given,
        [done, context](const Client::IncrementResult& result) { Tell(done, context, result); });
  });
}

plov_code plov_start_touch(plov_client* client, plov_view key, uint64_t ttl_seconds,
                           uint64_t expected_version, plov_write_callback done, void* context) {
  if (client == nullptr || done == nullptr || !IsGood(key)) return RefuseNull(client);
  return Start(client, [&] {
    client->client.StartTouch(
        Text(key), TtlOf(ttl_seconds), expected_version,
        [done, context](const Client::PutResult& result) { Tell(done, context, 0, result); });
  });
}

plov_code plov_start_delete(plov_client* client, plov_view key, uint64_t expected_version,
                            plov_write_callback done, void* context) {
  if (client == nullptr || done == nullptr || !IsGood(key)) return RefuseNull(client);
  return Start(client, [&] {
    client->client.StartDelete(
        Text(key), expected_version,
        [done, context](const Client::DeleteResult& result) { Tell(done, context, result); });
  });
}

plov_code plov_start_flush(plov_client* client, uint64_t delay_seconds, plov_flush_callback done,
                           void* context) {
  if (client == nullptr || done == nullptr) return RefuseNull(client);
  return Start(client, [&] {
    client->client.StartFlush(
        SecondsOf(delay_seconds),
        [done, context](const Client::FlushResult& result) { Tell(done, context, result); });
  });
}

plov_code plov_poll(plov_client* client, size_t* left) {
  if (client == nullptr) return RefuseNull(client);
  return Run(client, [&] {
    const size_t waiting = client->client.Poll();
    if (left != nullptr) *left = waiting;
    return PLOV_OK;
  });
}

int plov_fd(const plov_client* client) { return client == nullptr ? -1 : client->client.fd(); }

int64_t plov_next_poll_us(const plov_client* client) {
  return client == nullptr ? -1 : client->client.next_poll().count();
}
