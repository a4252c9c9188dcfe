// plov's client in C: GETs served by one-sided READs of the server's memory, PUTs by message.
//
//   plov_client* client;
//   plov_error error;
//   if (plov_connect("shm:default", NULL, &client, &error) != PLOV_OK) fail(error.message);
//   plov_put(client, plov_text("user:1"), plov_text("Ada"), NULL, NULL);
//   plov_item item;
//   if (plov_get(client, plov_text("user:1"), &item) == PLOV_OK) use(item.value);
//   plov_close(client);
//
// Keys are 1..1024 bytes of anything, values 0 bytes to the server's --max-value (16 MiB unless
// lowered).
//
// Results:   every function that can fail returns a plov_code. plov_last_error has the message of
//            the last call on the client that did not return PLOV_OK.
// Arguments: a null pointer where one is needed is PLOV_INVALID_ARGUMENT; "may be NULL" is said.
// Threads:   one plov_client per thread. A client may move between threads, but calls on one
//            client must not overlap. From within a callback only the plov_start functions and
//            those that ask the client itself (plov_last_error, plov_stats, plov_shard_count) work;
//            the others fail with PLOV_INVALID_ARGUMENT.
// Callbacks: must return: no longjmp. A C++ exception is caught: the call in which the callback ran
//            ends with PLOV_SYSTEM, and the client stays usable.
// Order:     operations of one key that were started take effect in that order, also before a later
//            blocking call for that key.
// Deadline:  every call ends within plov_options.timeout_us (after the last item that ended well in
//            plov_get_many and plov_put_many), plus at most the time one connection attempt takes.
// Errors:    besides those named at each call, every call that needs the server can return
//            PLOV_INVALID_ARGUMENT  a key of 0 or more than 1024 bytes, or overlapping calls
//            PLOV_UNAVAILABLE       no server within the deadline; nothing was applied
//            PLOV_TIMEOUT           the server lives but did not answer; a write may have been
//                                   applied, or may be yet
//            PLOV_UNKNOWN           a write was sent and the server died or restarted; it may have
//                                   been applied
//            PLOV_CORRUPT           stored bytes are damaged
//            PLOV_SYSTEM            memory ran out, or a call of the operating system failed
//            PLOV_PERMISSION, PLOV_PROTOCOL as the connection met them.
//            A client reconnects by itself.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define PLOV_API __attribute__((visibility("default")))

#ifdef __cplusplus
extern "C" {
#endif

// Numbers never change.
typedef enum plov_code {
  PLOV_OK = 0,
  PLOV_NOT_FOUND = 1,          // the key is absent
  PLOV_EXISTS = 2,             // PLOV_ADD of a key that is present
  PLOV_VERSION_MISMATCH = 3,   // a conditional write of a key that has another version or value
  PLOV_NO_SPACE = 4,           // memory or table is full; everything stored stays
  PLOV_INVALID_ARGUMENT = 5,   // a key, value or option that can never be accepted, or misuse
  PLOV_TOO_LARGE = 6,          // a value over the server's --max-value
  PLOV_UNAVAILABLE = 7,        // no server there, or it is gone; nothing was applied
  PLOV_TIMEOUT = 8,            // the deadline passed; a write may have been applied or may be yet
  PLOV_UNKNOWN = 9,            // a write was sent and the server died: applied or not is unknown
  PLOV_CORRUPT = 10,           // bytes fail their seal and no writer is at work
  PLOV_PERMISSION = 11,        // the system or the server does not let this process in, or write
  PLOV_PROTOCOL = 12,          // the peer speaks another format version, or garbage
  PLOV_IN_USE = 13,            // another server serves this name
  PLOV_BUFFER_TOO_SMALL = 14,  // plov_get_into: the value does not fit in the caller's buffer
  PLOV_SYSTEM = 15,            // memory ran out, or an operating-system call failed
  PLOV_NOT_A_NUMBER = 17,      // plov_increment of a value that is not the text of such a number
  PLOV_OUT_OF_RANGE = 18,      // a number beyond its limits, a slice beyond its vector; no change
  PLOV_WRONG_TYPE = 19         // the value is no vector, or one of elements of another type
} plov_code;

enum { PLOV_MESSAGE_BYTES = 256 };

typedef struct plov_error {
  plov_code code;
  char message[PLOV_MESSAGE_BYTES];  // one line: what happened and what to do; cut when longer
} plov_error;

// A connection to every shard of one server.
typedef struct plov_client plov_client;

// Bytes that belong to someone else. `data` may be NULL when `bytes` is 0.
typedef struct plov_view {
  const void* data;
  size_t bytes;
} plov_view;

typedef struct plov_item {
  plov_view value;
  uint64_t version;  // unique in a server's life, increasing; names one value of one key
  uint32_t flags;    // as stored
  uint32_t expiry;   // Unix seconds, 0 = never
} plov_item;

typedef enum plov_read_from {
  PLOV_READ_PRIMARY = 0,     // what a GET finds is the newest
  PLOV_READ_ANY_REPLICA = 1  // what it finds was the newest, at most max_age_us before it began
} plov_read_from;

// To be filled by plov_default_options, so that a program goes on working with a library that knows
// more options.
typedef struct plov_options {
  size_t struct_bytes;            // sizeof(plov_options) of the program
  uint64_t timeout_us;            // of a call; 1 to PLOV_TIMEOUT_US_MAX
  uint64_t location_cache_bytes;  // for remembered locations, 16 bytes each; 0 remembers nothing
  uint64_t spin_us;               // how long a call polls before it sleeps; as timeout_us, or 0
  uint32_t window;                // lookups in flight in plov_get_many, 1 to 64
  uint32_t reserved;              // 0
  uint64_t report_period_us;  // how often the server is told of GETs; as timeout_us, or 0: never
  // Whose memory GETs READ, of the replicas that a shard of a cluster has: a plov_read_from. With
  // PLOV_READ_ANY_REPLICA a GET may miss this client's own writes, and find an older state than the
  // GET before it; where no replica is new enough, it ends with PLOV_UNAVAILABLE.
  uint32_t read_from;
  uint32_t reserved2;   // 0
  uint64_t max_age_us;  // of what PLOV_READ_ANY_REPLICA finds; as timeout_us
} plov_options;

// A year: longer is a mistake of units, not a deadline.
#define PLOV_TIMEOUT_US_MAX (UINT64_C(31536000) * 1000000)

typedef enum plov_put_mode {
  PLOV_SET = 0,      // store, whatever was there
  PLOV_ADD = 1,      // only if the key is absent, else PLOV_EXISTS
  PLOV_REPLACE = 2,  // only if the key is present, else PLOV_NOT_FOUND
  // Add to the end of the value that is there, or to its beginning, 16 KiB at most; flags and expiry
  // stay. An absent key is PLOV_NOT_FOUND, or is stored as by PLOV_ADD.
  PLOV_APPEND = 3,
  PLOV_PREPEND = 4,
  PLOV_APPEND_OR_ADD = 5,
  PLOV_PREPEND_OR_ADD = 6
} plov_put_mode;

// All zero is an unconditional PUT of a value that never expires.
typedef struct plov_put_options {
  uint32_t mode;  // a plov_put_mode
  uint32_t flags;
  uint64_t expected_version;  // not 0: only over this version, else PLOV_VERSION_MISMATCH or
                              // PLOV_NOT_FOUND
  uint64_t ttl_seconds;       // counted by the server from when it stores; 0 = never expires; ends
                              // in February 2106 at the latest; or PLOV_UNTIL
} plov_put_options;

// In place of a number of seconds to live: until this second of the server's clock, as plov_item's
// expiry; 0 is for ever. What has passed already stores an item that is absent. Who writes an item anew
// and lets its expiry stay says PLOV_UNTIL(item.expiry).
#define PLOV_UNTIL(unix_seconds) ((UINT64_C(1) << 62) | (uint32_t)(unix_seconds))

typedef struct plov_put_item {
  plov_view key;
  plov_view value;
  plov_put_options options;
} plov_put_item;

// What a plov_commit rests on.
typedef struct plov_commit_read {
  plov_view key;
  uint64_t version;  // that plov_get or plov_snapshot has found; 0: the key was absent
} plov_commit_read;

typedef struct plov_commit_write {
  plov_view key;
  plov_view value;
  uint64_t ttl_seconds;  // as in plov_put_options
  uint32_t flags;
  uint32_t deletes;  // not 0: the key is deleted, if it is there, and the rest does not count
} plov_commit_write;

typedef enum plov_number_mode {
  PLOV_SIGNED = 0,            // -2^63 to 2^63-1, within the options' limits, else PLOV_OUT_OF_RANGE
  PLOV_UNSIGNED_ADD = 1,      // 0 to 2^64-1, as memcached's incr: goes on from 0 after the last
  PLOV_UNSIGNED_SUBTRACT = 2  // as its decr: stops at 0
} plov_number_mode;

// To be filled by plov_default_increment_options, as plov_options is.
typedef struct plov_increment_options {
  size_t struct_bytes;   // sizeof(plov_increment_options) of the program
  uint32_t mode;         // a plov_number_mode
  uint32_t has_initial;  // not 0: an absent key counts as `initial`, else it is PLOV_NOT_FOUND
  int64_t initial;       // in unsigned modes a uint64_t's bits
  int64_t min;           // of the new number; of PLOV_SIGNED
  int64_t max;
  uint64_t expected_version;  // as in plov_put_options
  uint64_t ttl_seconds;       // as there; this and flags are for a key that was absent
  uint32_t flags;
  uint32_t reserved;  // 0
} plov_increment_options;

// How one GET ended. The bytes stay until the callback returns.
typedef struct plov_get_result {
  plov_code code;       // PLOV_OK, PLOV_NOT_FOUND or an error
  const char* message;  // of what is not PLOV_OK; else empty
  size_t index;         // of the key in plov_get_many; else 0
  plov_item item;       // all zero unless PLOV_OK
} plov_get_result;

// How one PUT, TOUCH or DELETE ended.
typedef struct plov_write_result {
  plov_code code;
  const char* message;  // as in plov_get_result
  size_t index;         // of the item in plov_put_many; else 0
  uint64_t version;     // the stored value's, 0 for a DELETE and after an error
} plov_write_result;

// How one INCREMENT ended.
typedef struct plov_increment_result {
  plov_code code;
  const char* message;  // as in plov_get_result
  int64_t number;       // the new one, in unsigned modes a uint64_t's bits; 0 after an error
  uint64_t version;     // its version; 0 after an error
} plov_increment_result;

// How one flush ended.
typedef struct plov_flush_result {
  plov_code code;
  const char* message;  // as in plov_get_result
  uint64_t deleted;     // items; 0 after an error
} plov_flush_result;

typedef void (*plov_get_callback)(void* context, const plov_get_result* result);
typedef void (*plov_write_callback)(void* context, const plov_write_result* result);
typedef void (*plov_increment_callback)(void* context, const plov_increment_result* result);
typedef void (*plov_flush_callback)(void* context, const plov_flush_result* result);
// Gets each item; returns false to stop.
typedef bool (*plov_scan_callback)(void* context, plov_view key, const plov_item* item);
// Gets what one shard says: lines of "name value", ended by a zero byte.
typedef void (*plov_text_callback)(void* context, uint32_t shard, const char* text);

// What a client's operations cost, since plov_connect. Later libraries append to it.
typedef struct plov_client_stats {
  uint64_t gets;
  uint64_t hits;
  uint64_t puts;   // writes of every kind that got an answer
  uint64_t reads;  // one-sided READs
  uint64_t bucket_reads;
  uint64_t record_reads;
  uint64_t known_reads;   // READs through a remembered location
  uint64_t known_misses;  // those of them whose location was out of date
  uint64_t torn_buckets;  // READs that did not verify and were repeated
  uint64_t torn_records;
  uint64_t confirmations;  // second READs of a home bucket, for a miss
  uint64_t restarts;       // lookups begun again
  uint64_t fallbacks;      // GETs by message
  uint64_t corrupt;        // GETs that ended with PLOV_CORRUPT
  uint64_t reconnects;
  uint64_t retries;      // writes sent again after a reconnect
  uint64_t refreshes;    // superblocks read anew, because the table had grown or for a scan
  uint64_t late_reads;   // READs that completed after the call that wanted them had ended
  uint64_t map_fetches;  // maps of a cluster that were READ: where its shards are
  uint64_t
      deposed_gets;  // GETs that READ a primary after another had taken over, and asked that one
  uint64_t deposed_stale;  // those of them whose answer was another one then
  uint64_t lives;  // of a server, after its first, that may lack what a former one acknowledged
} plov_client_stats;

// What a plov_scan saw.
typedef struct plov_scan_summary {
  uint64_t items;       // calls of the callback
  uint64_t unreadable;  // buckets or records that never verified
  uint32_t passes;
  bool settled;  // nothing was missed that was there all the time
} plov_scan_summary;

static inline plov_view plov_bytes(const void* data, size_t bytes) {
  plov_view view = {data, bytes};
  return view;
}

// The bytes of a string, without its zero byte.
static inline plov_view plov_text(const char* text) {
  return plov_bytes(text, text == NULL ? 0 : strlen(text));
}

// Fills the first `struct_bytes` of the options with the defaults: a timeout of 1 s, 16 MiB for
// locations, a window of 32, 20 us of polling, GETs from the primary.
PLOV_API void plov_fill_options(plov_options* options, size_t struct_bytes);

static inline plov_options plov_default_options(void) {
  plov_options options;
  plov_fill_options(&options, sizeof(options));
  return options;
}

// Connects to every shard of the server at `uri` ("shm:NAME", "shm:/path/to.sock",
// "rdma://HOST:PORT"), or of the cluster that has the servers of "cluster:URI[,URI...]".
//
// options: may be NULL for plov_default_options(). Fields that are not in them have their default.
// client:  receives the client, to be ended with plov_close; NULL after an error.
// error:   may be NULL; receives code and message.
// Errors:  PLOV_UNAVAILABLE, PLOV_PERMISSION, PLOV_PROTOCOL, PLOV_TIMEOUT, PLOV_INVALID_ARGUMENT.
PLOV_API plov_code plov_connect(const char* uri, const plov_options* options, plov_client** client,
                                plov_error* error);

// Ends what is still under way, calling its callbacks (which can start nothing any more), and frees
// the client: with PLOV_UNAVAILABLE what was not sent, with PLOV_UNKNOWN a write that was. `client`
// may be NULL. From within a callback it does nothing and returns PLOV_INVALID_ARGUMENT.
PLOV_API plov_code plov_close(plov_client* client);

// The last call on `client` that did not return PLOV_OK; PLOV_OK and "" when there was none. It
// stays until the next such call. For a NULL client: PLOV_INVALID_ARGUMENT.
PLOV_API const plov_error* plov_last_error(const plov_client* client);

// Reads the value of `key` without running any server code.
//
// item:    receives the value, whose bytes belong to the client and stay until its next call; all
//          zero unless PLOV_OK.
// Returns: PLOV_OK, PLOV_NOT_FOUND when the key is absent or expired, or an error.
// Cost:    1 READ when the location is known; else 1 bucket READ (2 when the key is displaced) and,
//          unless the item is inline, 1 record READ; a miss 1 READ. Nothing is allocated, no system
//          call is made.
PLOV_API plov_code plov_get(plov_client* client, plov_view key, plov_item* item);

// The same, with the value READ into `buffer` of `buffer_bytes`; item->value is the part of it that
// was filled. After an error the buffer holds anything.
//
// buffer: may be NULL when buffer_bytes is 0.
// Errors: PLOV_BUFFER_TOO_SMALL (the message says how much is needed).
PLOV_API plov_code plov_get_into(plov_client* client, plov_view key, void* buffer,
                                 size_t buffer_bytes, plov_item* item);

// How old at most is what a plov_get of this key finds that begins now: it finds all that was
// acknowledged so long ago. 0 unless plov_options.read_from is PLOV_READ_ANY_REPLICA.
//
// age_us: receives the age.
// Cost:   1 READ.
PLOV_API plov_code plov_age(plov_client* client, plov_view key, uint64_t* age_us);

// The time at the server of this key: items expire by it, and times to live are counted by it. It is
// known from messages, to 20 ms mostly; the call waits for nothing.
//
// earliest_us, latest_us: receive what its clock may show now, in Unix microseconds.
// Errors: PLOV_UNAVAILABLE (there is no connection to that server at the moment).
PLOV_API plov_code plov_time(plov_client* client, plov_view key, uint64_t* earliest_us,
                             uint64_t* latest_us);

// Gets `count` keys with a window of lookups in flight and calls `done` for each, in any order.
//
// Returns: PLOV_OK when `done` was called for every key, whatever it was told; else it was not
//          called at all.
// Cost:    as plov_get for each key, with up to plov_options.window READs under way at a time.
PLOV_API plov_code plov_get_many(plov_client* client, const plov_view* keys, size_t count,
                                 plov_get_callback done, void* context);

// Stores a value. It is applied at most once, also when the client had to reconnect.
//
// options: may be NULL for all zero.
// version: may be NULL; receives the version of the new value.
// Errors:  PLOV_NO_SPACE (memory or table full; the old value stays), PLOV_TOO_LARGE, PLOV_EXISTS,
//          PLOV_NOT_FOUND, PLOV_VERSION_MISMATCH, PLOV_PERMISSION (this client may only read).
// Cost:    one message and its reply, no READ; a value over 16 KiB is READ by the server from this
//          process's memory.
PLOV_API plov_code plov_put(plov_client* client, plov_view key, plov_view value,
                            const plov_put_options* options, uint64_t* version);

// Stores `count` items, several in a message, and calls `done` for each. Items of the same key are
// applied in their order. Returns as plov_get_many.
PLOV_API plov_code plov_put_many(plov_client* client, const plov_put_item* items, size_t count,
                                 plov_write_callback done, void* context);

// Reads `count` keys as they all were at one instant: no plov_commit is seen in part. By READs alone. When all are
// there calls `done` for each, in their order, with PLOV_OK or PLOV_NOT_FOUND. Of what fails `done` is told nothing.
//
// Errors: PLOV_TIMEOUT also where the keys were written all the time.
// Cost:   each key's GETs two times at least, mostly a first one and 1 READ; again where one was written meanwhile.
PLOV_API plov_code plov_snapshot(plov_client* client, const plov_view* keys, size_t count,
                                 plov_get_callback done, void* context);

// Applies all writes, in their order, or none: they are if each of the reads still stands, at one instant. No GET and no
// plov_snapshot finds some of them applied and others, later, not yet. All keys are of one shard, of a server of its
// own: 128 reads and 128 writes at most, which take 16 KiB in all; reads or writes may be NULL where there are none.
//
// version: may be NULL; receives the version of the first write, and each of the next has the next one.
// Errors:  PLOV_VERSION_MISMATCH (a read does not stand), PLOV_INVALID_ARGUMENT (keys of several shards, too many,
//          none; a cluster), PLOV_TOO_LARGE; else as plov_put.
// Cost:    one message and its reply.
PLOV_API plov_code plov_commit(plov_client* client, const plov_commit_read* reads,
                               size_t read_count, const plov_commit_write* writes,
                               size_t write_count, uint64_t* version);

// Stores a value, as PLOV_SET does, only over an item whose value is `expected`. The item stays as
// long as the new value's ttl_seconds say.
//
// options: may be NULL for all zero; another mode than PLOV_SET is PLOV_INVALID_ARGUMENT.
// version: may be NULL; receives the version of the new value.
// Errors:  PLOV_VERSION_MISMATCH (another value, or another version than the options'),
//          PLOV_NOT_FOUND, PLOV_TOO_LARGE (both values together are over 16 KiB); else as plov_put.
// Cost:    one message and its reply.
PLOV_API plov_code plov_compare_and_put(plov_client* client, plov_view key, plov_view expected,
                                        plov_view value, const plov_put_options* options,
                                        uint64_t* version);

// Fills the first `struct_bytes` of the options with the defaults: PLOV_SIGNED without limits, no
// initial number.
PLOV_API void plov_fill_increment_options(plov_increment_options* options, size_t struct_bytes);

static inline plov_increment_options plov_default_increment_options(void) {
  plov_increment_options options;
  plov_fill_increment_options(&options, sizeof(options));
  return options;
}

// Adds `delta` to the number that the value is the decimal text of, as memcached and Redis have it;
// atomic, at most once. Flags and expiry stay.
//
// delta:   in unsigned modes a uint64_t's bits.
// options: may be NULL for plov_default_increment_options().
// number:  may be NULL; receives the new number, in unsigned modes a uint64_t's bits.
// version: may be NULL; receives its version.
// Errors:  PLOV_NOT_FOUND, PLOV_NOT_A_NUMBER, PLOV_OUT_OF_RANGE (nothing is changed), PLOV_UNKNOWN,
//          also where it was applied but the server that knew the number is gone; else as plov_put.
// Cost:    one message and its reply.
PLOV_API plov_code plov_increment(plov_client* client, plov_view key, int64_t delta,
                                  const plov_increment_options* options, int64_t* number,
                                  uint64_t* version);

// Lets the item expire after `ttl_seconds` from now on, 0 for never; the value stays, and the server
// copies it. When `expected_version` is not 0, only that version of it.
//
// version: may be NULL; receives the item's new version.
// Errors:  PLOV_NOT_FOUND; else as plov_put.
// Cost:    one message and its reply.
PLOV_API plov_code plov_touch(plov_client* client, plov_view key, uint64_t ttl_seconds,
                              uint64_t expected_version, uint64_t* version);

// plov_get and plov_touch in one.
//
// item:    receives the item as it was when its expiry changed, under its new version; its expiry is
//          the former one. The bytes stay as plov_get's; all zero unless PLOV_OK.
// Returns: PLOV_OK, PLOV_NOT_FOUND when the key is absent or expired, or an error.
// Errors:  PLOV_VERSION_MISMATCH (the item was written all the time); else as plov_touch.
// Cost:    plov_get's and plov_touch's, again where the item was written between them.
PLOV_API plov_code plov_get_and_touch(plov_client* client, plov_view key, uint64_t ttl_seconds,
                                      plov_item* item);

// Removes a key; when `expected_version` is not 0, only that version of it.
//
// Returns: PLOV_OK when it was there, PLOV_NOT_FOUND when it was not, or an error.
// Errors:  PLOV_VERSION_MISMATCH.
// Cost:    one message and its reply.
PLOV_API plov_code plov_delete(plov_client* client, plov_view key, uint64_t expected_version);

// Deletes all items that are there: what was stored before the call is gone when it ends, what is stored
// after it stays. Not all at once: others can still GET one item when another is gone already. With a
// delay the server does so that much later, in place of a flush that it was to do so before, and forgets
// it when it ends or another one takes over; the call does not wait for that.
//
// deleted: may be NULL; receives how many were deleted, with a delay 0. Those that had expired do not
//          count.
// Errors:  PLOV_NO_SPACE and PLOV_SYSTEM (the log cannot be written; the flush goes on when it can),
//          PLOV_TIMEOUT (it did not get on for so long, and may be over later), PLOV_UNAVAILABLE (some
//          may be deleted), PLOV_PROTOCOL (an older server), PLOV_PERMISSION (this client may only read).
// Cost:    a message and its reply per shard, again every some milliseconds.
PLOV_API plov_code plov_flush(plov_client* client, uint64_t delay_seconds, uint64_t* deleted);

// Asynchronous form, for event loops: the plov_start functions return at once; plov_poll makes
// progress and runs the callbacks of what has ended. Call plov_poll once after starting; then wait
// for plov_fd to be readable, no longer than plov_next_poll_us, and call it again. Keys and values
// must stay until their callback has run, and must not be NULL. Callbacks run from within
// plov_poll, every other call that needs the server, and plov_close; they may start operations.
//
// Returns: PLOV_OK when `done` will be called, once; the outcome is in its result. Else
//          PLOV_INVALID_ARGUMENT, or PLOV_UNAVAILABLE from within plov_close.
// Cost:    as the call without "start".
PLOV_API plov_code plov_start_get(plov_client* client, plov_view key, plov_get_callback done,
                                  void* context);
// options: may be NULL; need not stay.
PLOV_API plov_code plov_start_put(plov_client* client, plov_view key, plov_view value,
                                  const plov_put_options* options, plov_write_callback done,
                                  void* context);
// options: as above. `expected` must stay as key and value do.
PLOV_API plov_code plov_start_compare_and_put(plov_client* client, plov_view key,
                                              plov_view expected, plov_view value,
                                              const plov_put_options* options,
                                              plov_write_callback done, void* context);
// options: as above.
PLOV_API plov_code plov_start_increment(plov_client* client, plov_view key, int64_t delta,
                                        const plov_increment_options* options,
                                        plov_increment_callback done, void* context);
PLOV_API plov_code plov_start_touch(plov_client* client, plov_view key, uint64_t ttl_seconds,
                                    uint64_t expected_version, plov_write_callback done,
                                    void* context);
// Keys and values need not stay. It comes after what has ended before.
PLOV_API plov_code plov_start_commit(plov_client* client, const plov_commit_read* reads,
                                     size_t read_count, const plov_commit_write* writes,
                                     size_t write_count, plov_write_callback done, void* context);
PLOV_API plov_code plov_start_delete(plov_client* client, plov_view key, uint64_t expected_version,
                                     plov_write_callback done, void* context);
PLOV_API plov_code plov_start_flush(plov_client* client, uint64_t delay_seconds,
                                    plov_flush_callback done, void* context);

// Makes progress without waiting for answers; it can take as long as one connection attempt while
// the server is away. left: may be NULL; receives how many operations have not ended.
PLOV_API plov_code plov_poll(plov_client* client, size_t* left);

// Readable when plov_poll has something to do. -1 for a NULL client.
PLOV_API int plov_fd(const plov_client* client);

// Microseconds after which plov_poll is to be called at the latest. -1 for a NULL client.
PLOV_API int64_t plov_next_poll_us(const plov_client* client);

// Visits every item by one-sided READs of the whole table, in no order. Items that are moved or
// written meanwhile may come twice, the newer last; so may any item while the table grows or after a
// reconnection. It reads again what changed, until no item that was there all the time can have been
// missed (settled) or it has made eight passes. Needs no operation under way.
//
// each:    its key and item stay until it returns.
// summary: may be NULL.
// Cost:    1 READ per 64 buckets and 1 per record.
PLOV_API plov_code plov_scan(plov_client* client, plov_scan_callback each, void* context,
                             plov_scan_summary* summary);

// Asks shard 0 for a sign of life by message. round_trip_ns: may be NULL.
PLOV_API plov_code plov_ping(plov_client* client, uint64_t* round_trip_ns);

// What the server says of itself, for each shard. Cost: one message and its reply per shard.
PLOV_API plov_code plov_server_stats(plov_client* client, plov_text_callback each, void* context);

// Returns when everything that the server has acknowledged before, to any client, is durable in its
// log. With --commit async a loss of power can take the last second of it. It does not wait for
// operations that were started and have not ended; the next plov_sync covers those that end
// meanwhile.
//
// Errors: PLOV_INVALID_ARGUMENT (the server keeps no log: plovd --log), PLOV_NO_SPACE and
//         PLOV_SYSTEM (the log cannot be written), PLOV_TIMEOUT (not durable within the deadline),
//         PLOV_PERMISSION (this client may only read); PLOV_UNKNOWN, once, when the server died or
//         restarted after a write of this client that no plov_sync had told of: it may be lost, what
//         came later is durable.
// Cost:   one message and its reply per shard, and a sync of its log where something waits for it.
PLOV_API plov_code plov_sync(plov_client* client);

// stats_bytes: sizeof(*stats); a library that counts less leaves the rest 0.
PLOV_API plov_code plov_stats(const plov_client* client, plov_client_stats* stats,
                              size_t stats_bytes);

// 0 for a NULL client.
PLOV_API uint32_t plov_shard_count(const plov_client* client);

// The code as it is written in C, "PLOV_NO_SPACE"; "PLOV_SYSTEM" for a number that is not a code.
PLOV_API const char* plov_code_name(unsigned code);

// The version of the library that runs, as "0.1.0".
PLOV_API const char* plov_version(void);

#ifdef __cplusplus
}
#endif

#include <plov_vectors.h>
