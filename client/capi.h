// C API: what its files share - the object behind a plov_client, and how calls on it are guarded.
#pragma once

#include <plov.h>
#include <plov/client.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <exception>
#include <expected>
#include <new>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

struct plov_client {
  explicit plov_client(plov::Client&& connected) : client(std::move(connected)) {}

  plov_error last = {PLOV_OK, ""};
  bool inside = false;   // a call that may run callbacks
  bool closing = false;  // the callbacks of what was left are running
  // Kept for their capacity.
  std::vector<std::string_view> keys;
  std::vector<plov::PutItem> items;
  // What the last plov_filter_vector found.
  plov::Filtered filtered = {};
  plov::Client client;  // last, so that its last callbacks find the rest alive
};

namespace plov::capi {

inline constexpr const char* kAbsent = "the key is absent";
inline constexpr const char* kNoPutMode = "no such plov_put_mode";

// Fills `error`, which may be null, and returns the code.
plov_code Note(plov_error* error, plov_code code, std::string_view message);
plov_code Note(plov_error* error, const Error& cause);

// PLOV_INVALID_ARGUMENT; `client` may be null only for RefuseNull.
plov_code Refuse(plov_client* client, std::string_view message);
plov_code RefuseNull(plov_client* client);

// Runs `body`; what it throws becomes PLOV_SYSTEM.
template <typename Body>
plov_code Catch(plov_error* error, Body&& body) noexcept {
  try {
    return body();
  } catch (const std::bad_alloc&) {
    return Note(error, PLOV_SYSTEM, "memory ran out");
  } catch (const std::exception& exception) {
    return Note(error, PLOV_SYSTEM, exception.what());
  } catch (...) {
    return Note(error, PLOV_SYSTEM, "an exception of unknown type");
  }
}

// A call that needs the server: one at a time, not from a callback.
template <typename Body>
plov_code Run(plov_client* client, Body&& body) noexcept {
  if (client->inside) {
    return Refuse(client,
                  "this plov_client is in another call: use one per thread, and in a callback only "
                  "the plov_start functions");
  }
  client->inside = true;
  const plov_code code = Catch(&client->last, body);
  client->inside = false;
  return code;
}

// A call that starts an operation, also from a callback.
template <typename Body>
plov_code Start(plov_client* client, Body&& body) noexcept {
  if (client->closing) return Note(&client->last, PLOV_UNAVAILABLE, "the client is being closed");
  return Catch(&client->last, [&] {
    body();
    return PLOV_OK;
  });
}

inline bool IsGood(plov_view view) { return view.data != nullptr || view.bytes == 0; }
inline bool IsGood(const plov_put_options* options) {
  return options == nullptr || options->mode <= PLOV_PREPEND_OR_ADD;
}

inline std::string_view Text(plov_view view) {
  return {static_cast<const char*>(view.data), view.bytes};
}
// Makes them the client's keys; false: one of them is NULL.
inline bool TakeKeys(plov_client* client, const plov_view* keys, size_t count) {
  client->keys.clear();
  for (const plov_view& key : std::span(keys, count)) {
    if (!IsGood(key)) return false;
    client->keys.push_back(Text(key));
  }
  return true;
}
inline plov_view View(std::string_view text) { return {text.data(), text.size()}; }

// What a program and a library of other releases have in common of a struct; what only the program
// knows is 0.
template <typename Struct>
void CopyStruct(void* to, size_t to_bytes, const Struct& from) {
  if (to == nullptr) return;
  std::memset(to, 0, to_bytes);
  std::memcpy(to, &from, std::min(to_bytes, sizeof(from)));
}

// The options of a program, which begin with `struct_bytes`: what it does not know is as in `defaults`.
template <typename Options>
Options Given(const Options* options, Options defaults) {
  if (options == nullptr) return defaults;
  const size_t bytes = std::min(options->struct_bytes, sizeof(defaults));
  std::memcpy(&defaults, options, std::max(bytes, sizeof(size_t)));
  return defaults;
}

plov_item ItemOf(const Item& item);
std::chrono::seconds SecondsOf(uint64_t seconds);
// Or of PLOV_UNTIL.
Lifetime TtlOf(uint64_t ttl_seconds);
PutOptions OptionsOf(const plov_put_options* options);
// What `options` say, or what is wrong with them.
std::expected<IncrementOptions, const char*> OptionsOf(const plov_increment_options* options);
// The same of a PUT that compares with `expected`, which they refer to.
std::expected<PutOptions, const char*> OptionsOf(const plov_put_options* options,
                                                 plov_view expected);

// PLOV_OK with the item, or PLOV_NOT_FOUND or an error with none.
plov_code Answer(plov_client* client, const Client::GetResult& got, plov_item* item);
// PLOV_OK with the version, unless that is null, or an error.
plov_code Answer(plov_client* client, const Client::PutResult& put, uint64_t* version);

// Call `done`.
void Tell(plov_get_callback done, void* context, size_t index, const Client::GetResult& got);
void Tell(plov_write_callback done, void* context, size_t index, const Client::PutResult& put);
void Tell(plov_write_callback done, void* context, const Client::DeleteResult& removed);
void Tell(plov_increment_callback done, void* context, const Client::IncrementResult& incremented);
void Tell(plov_flush_callback done, void* context, const Client::FlushResult& flushed);

}  // namespace plov::capi
