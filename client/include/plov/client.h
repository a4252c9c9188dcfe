// plov's client: GETs served by one-sided READs of the server's memory, PUTs by message.
//
//   auto client = plov::Client::Connect("shm:default");
//   client->Put("user:1", "Ada");
//   auto hit = client->Get("user:1");
//   if (hit && *hit) use((*hit)->value);
//
// Keys are 1..1024 bytes of anything, values 0 bytes to the server's --max-value (16 MiB at most).
//
// Threads:  one Client per thread. A Client may move between threads, but a call that overlaps
//           another on it, is made within a callback or after a move from the Client fails with
//           kInvalidArgument; after two calls that began at one instant every later call does, too.
// Deadline: every call ends within ClientOptions::timeout (in GetMany, Snapshot, PutMany and IncrementMany
//           after the last item that ended well, in Scan each READ's), plus at most the time that one
//           connection attempt takes. No call leaves a READ behind that could write to memory of the caller.
// Errors:   nothing throws for an operating error. A Client reconnects by itself. Every call can
//           return, beside those named there,
//             kInvalidArgument  a key of 0 or more than 1024 bytes, or calls against the thread
//                               rule
//             kUnavailable      no server within the deadline; nothing was applied. In a cluster: of
//                               the key's shard
//             kTimeout          the server lives but did not answer; a write may have been applied,
//                               or may be yet
//             kUnknown          a write was sent and the server died or restarted: it may have been
//                               applied. With plovd --log the next server mostly knows
//             kCorrupt          stored bytes are damaged
//             kSystem           memory ran out, or a call of the operating system failed
//             kPermission, kProtocol as the connection met them
// Callbacks: may throw. The first exception leaves the call in which the callback ran, and that call
//           ends early: GetMany, PutMany, IncrementMany and Scan call no further callback. The
//           Client stays usable.
#pragma once

#include <plov/error.h>
#include <plov/vectors.h>

#include <chrono>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <ranges>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace plov {

// Unique in a server's life, increasing; names one value of one key.
using Version = uint64_t;

struct Item {
  std::string_view value;
  Version version = 0;
  uint32_t flags = 0;   // as stored
  uint32_t expiry = 0;  // Unix seconds, 0 = never
};

// How long an item that is written is there; by the server's clock, which Client::Time tells.
class Lifetime {
 public:
  // For ever.
  constexpr Lifetime() = default;
  // So long from when the server stores it, 0 is for ever. Negative is kInvalidArgument; one that
  // would end beyond February 2106 ends there.
  template <typename Rep, typename Period>
  requires std::convertible_to<std::chrono::duration<Rep, Period>, std::chrono::seconds>
  constexpr Lifetime(std::chrono::duration<Rep, Period> duration) : duration_(duration) {}
  // Until this moment, as Item::expiry is, 0 is for ever. What has passed already stores an item that
  // is absent.
  static constexpr Lifetime Until(uint32_t expiry) {
    Lifetime lifetime;
    lifetime.expiry_ = expiry;
    return lifetime;
  }

  constexpr std::chrono::seconds duration() const { return duration_; }
  constexpr uint32_t expiry() const { return expiry_; }

 private:
  std::chrono::seconds duration_{0};
  uint32_t expiry_ = 0;  // 0 unless of Until
};

// What a server's clock shows, in Unix microseconds: something from earliest to latest.
struct ServerTime {
  uint64_t earliest_us = 0;
  uint64_t latest_us = 0;
};

// Whose memory GETs READ, of the replicas that a shard of a cluster has.
enum class ReadFrom : uint8_t {
  kPrimary,     // what is found is the newest
  kAnyReplica,  // what is found was the newest, at most ClientOptions::max_age before the GET began
};

// Out of range is kInvalidArgument.
struct ClientOptions {
  std::chrono::microseconds timeout = std::chrono::seconds(1);  // 1 us to a year
  // Memory for remembered locations, 16 bytes each; 0 remembers nothing. Committed as used; from
  // 64 MiB on in huge pages, where the system has them.
  size_t location_cache_bytes = size_t{16} << 20;
  // Lookups in flight in GetMany, 1..64.
  uint32_t window = 32;
  // How long a call polls for an answer before it sleeps, 0 to a year.
  std::chrono::microseconds spin = std::chrono::microseconds(20);
  // How often a message tells the server how many GETs there were, for plov top and metrics: it does
  // not see GETs itself. 0 to a year; 0 is never. A server in cache mode is told each second what was found, unless
  // this is 0.
  std::chrono::microseconds report_period = std::chrono::seconds(10);
  // For an operator's tool, run as root or the server's user: it is let in beyond the server's limits
  // on clients and while the server is drained, and a drain does not wait for it.
  bool administers = false;
  // kAnyReplica spreads GETs over all replicas, also those of one key that is in great demand, needs no
  // look at other servers' memory, and goes on while a primary is away. A GET may miss this client's own
  // writes, and find an older state than the GET before it; each finds all of what was acknowledged
  // `max_age` before it began. Where no replica is that new, it ends with kUnavailable. Of everything
  // but GETs, and of a server of its own, the primary's memory is READ.
  ReadFrom read_from = ReadFrom::kPrimary;
  std::chrono::microseconds max_age = std::chrono::seconds(1);  // 1 us to a year
};

enum class PutMode : uint8_t {
  kSet,      // store, whatever was there
  kAdd,      // only if the key is absent, else kExists
  kReplace,  // only if the key is present, else kNotFound
  // Add to the end of the value that is there, or to its beginning, 16 KiB at most; flags and expiry
  // stay. An absent key is kNotFound, or is stored as by kAdd.
  kAppend,
  kPrepend,
  kAppendOrAdd,
  kPrependOrAdd,
};

struct PutOptions {
  PutMode mode = PutMode::kSet;
  Version expected_version =
      0;  // not 0: only over this version, else kVersionMismatch or kNotFound
  // kSet: only over an item with this value, else kVersionMismatch or kNotFound; 16 KiB at most with the
  // new one. Must stay as long as that.
  std::optional<std::string_view> expected_value = {};
  uint32_t flags = 0;
  Lifetime ttl = {};
};

enum class NumberMode : uint8_t {
  kSigned,       // -2^63 to 2^63-1, within IncrementOptions' limits: beyond them is kOutOfRange
  kUnsignedAdd,  // 0 to 2^64-1, as memcached's incr: goes on from 0 after the last
  kUnsignedSubtract,  // as its decr: stops at 0
};

struct IncrementOptions {
  NumberMode mode = NumberMode::kSigned;
  // What an absent key counts as: it is stored then, with flags and ttl. std::nullopt: kNotFound.
  std::optional<int64_t> initial = {};
  int64_t min = std::numeric_limits<int64_t>::min();  // of the new number; of kSigned
  int64_t max = std::numeric_limits<int64_t>::max();
  Version expected_version = 0;  // as PutOptions'
  uint32_t flags = 0;
  Lifetime ttl = {};
};

struct Number {
  int64_t value = 0;  // of unsigned modes a uint64_t's bits
  Version version = 0;
};

struct IncrementItem {
  std::string_view key;
  int64_t delta = 1;
  IncrementOptions options = {};
};

struct PutItem {
  std::string_view key;
  std::string_view value;
  PutOptions options = {};
};

// What a Commit has at most, of reads and of writes, and in bytes of all their keys and values with what each has beside
// them.
inline constexpr size_t kCommitItemsMax = 128;
inline constexpr size_t kCommitBytesMax = size_t{16} << 10;

// What a Commit rests on: what Get or Snapshot said of a key.
struct CommitRead {
  std::string_view key;
  Version version = 0;  // 0: it was absent
};

// A write of a Commit.
struct CommitWrite {
  std::string_view key;
  std::optional<std::string_view> value = {};  // std::nullopt: the key is deleted, if it is there
  uint32_t flags = 0;
  Lifetime ttl = {};
};

// What a Client's operations cost, since Connect.
struct ClientStats {
  uint64_t gets = 0;
  uint64_t hits = 0;
  uint64_t puts = 0;   // writes of every kind that got an answer
  uint64_t reads = 0;  // one-sided READs
  uint64_t bucket_reads = 0;
  uint64_t record_reads = 0;
  uint64_t known_reads = 0;   // READs through a remembered location
  uint64_t known_misses = 0;  // those of them whose location was out of date
  uint64_t torn_buckets = 0;  // READs that did not verify and were repeated
  uint64_t torn_records = 0;
  uint64_t confirmations = 0;  // second READs of a home bucket, for a miss
  uint64_t restarts = 0;       // lookups begun again
  uint64_t fallbacks = 0;      // GETs by message
  uint64_t corrupt = 0;        // GETs that ended with kCorrupt
  uint64_t reconnects = 0;
  uint64_t retries = 0;      // writes sent again after a reconnect
  uint64_t refreshes = 0;    // superblocks read anew, because the table had grown or for a Scan
  uint64_t late_reads = 0;   // READs that completed after the call that wanted them
  uint64_t map_fetches = 0;  // maps of a cluster that were READ: where its shards are
  uint64_t deposed_gets =
      0;  // GETs that READ a primary after another had taken over, and asked that one
  uint64_t deposed_stale = 0;  // those of them whose answer was another one then
  uint64_t lives = 0;  // of a server, after its first, that may lack what a former one acknowledged
};

// How new ServerStats are.
enum class Freshness {
  kNow,      // each shard is asked to bring them up to date
  kAsFound,  // some milliseconds old; costs the server nothing, and works while it is stopped
};

// A message of writes that took the server long. Microseconds; together they are the whole time from
// when the server took the message to when it sent its reply.
struct SlowWrite {
  uint32_t shard = 0;
  uint64_t number = 0;   // from 1, in each shard, since the server was started
  uint64_t unix_us = 0;  // when the message was taken, by the server's clock
  uint64_t total_us = 0;
  uint64_t work_us = 0;      // the writes themselves
  uint64_t queue_us = 0;     // other clients' turns
  uint64_t growth_us = 0;    // of the table, and memory of the one before
  uint64_t cleaning_us = 0;  // room among records
  uint64_t value_us = 0;     // a large value on its way from the client
  uint64_t disk_us = 0;      // the log
  uint32_t requests = 0;     // in the message
  // The write that the message waited with longest, or its last one.
  bool is_delete = false;
  uint32_t value_bytes = 0;
  uint32_t key_bytes = 0;
  std::string key;  // its first 68 bytes
};

// What a Scan saw.
struct ScanSummary {
  uint64_t items = 0;       // calls of the callback
  uint64_t unreadable = 0;  // buckets or records that never verified
  uint32_t passes = 0;
  bool settled = false;  // nothing was missed that was there all the time
};

// Gets each item; returns false to stop.
using ScanCallback = std::move_only_function<bool(std::string_view key, const Item& item)>;

class Engine;

class PLOV_EXPORT Client {
 public:
  using GetResult = std::expected<std::optional<Item>, Error>;
  using PutResult = std::expected<Version, Error>;
  using ReduceResult = std::expected<Reduced, Error>;
  using FilterResult = std::expected<Filtered, Error>;
  using DeleteResult = std::expected<bool, Error>;
  using IncrementResult = std::expected<Number, Error>;
  using FlushResult = std::expected<uint64_t, Error>;
  using GetCallback = std::move_only_function<void(GetResult)>;
  using PutCallback = std::move_only_function<void(PutResult)>;
  using DeleteCallback = std::move_only_function<void(DeleteResult)>;
  using IncrementCallback = std::move_only_function<void(IncrementResult)>;
  using FlushCallback = std::move_only_function<void(FlushResult)>;

  // Connects to every shard of the server at `uri` ("shm:NAME", "shm:/path/to.sock",
  // "rdma://HOST:PORT"), or of the cluster that has the servers of "cluster:URI[,URI...]": there it is
  // enough that one of these answers, and shards that cannot be reached yet are tried again later.
  // Errors: kUnavailable, kPermission, kProtocol, kTimeout, kInvalidArgument (also a server of a
  //         cluster that is taken for one of its own, or the reverse).
  static std::expected<Client, Error> Connect(std::string_view uri,
                                              const ClientOptions& options = {});

  Client(Client&&) noexcept;
  Client& operator=(Client&&) noexcept;
  ~Client();

  // Reads the value of `key` without running any server code.
  //
  // Returns: the item, or std::nullopt when the key is absent or expired. The value's bytes belong
  //          to the Client and stay until its next call.
  // Cost:    1 READ when the location is known; else 1 bucket READ (2 when the key is displaced)
  //          and, unless the item is inline, 1 record READ; a miss 1 READ. Nothing is allocated, no
  //          system call is made.
  // Source:  Pilaf, USENIX ATC 2013, section 3.
  GetResult Get(std::string_view key);

  // As Get if that need not wait, which is nearly always so over shared memory; else std::nullopt at
  // once: then call Get. For callers that hold a lock.
  std::optional<GetResult> TryGet(std::string_view key);

  // As Get, with the value READ into the caller's buffer; Item::value is the part of it that was
  // filled. After an error the buffer holds anything. Errors: kBufferTooSmall (the message says how
  // much is needed).
  GetResult GetInto(std::string_view key, std::span<std::byte> buffer);

  // How old at most is what a Get of this key finds that begins now: it finds all that was acknowledged
  // so long ago. 0 unless ClientOptions::read_from is kAnyReplica. Servers tell it each other some times
  // in each `--detect` of the cluster, so less than that is rare.
  // Cost: 1 READ.
  std::expected<std::chrono::microseconds, Error> Age(std::string_view key);

  // The time at the server of this key: items expire by it, and lifetimes are counted by it. It is known
  // from messages, to 20 ms mostly, and is asked for again when it is used and ten seconds old; the
  // call waits for nothing, and may be made within a callback.
  // Errors: kUnavailable (there is no connection to that server at the moment), kProtocol (beyond 2106).
  std::expected<ServerTime, Error> Time(std::string_view key);

  // Gets many keys with a window of lookups in flight and calls `done(index, GetResult)` for each,
  // in any order. The value's bytes stay until `done` returns.
  template <typename Done>
  void GetMany(std::span<const std::string_view> keys, Done&& done) {
    const auto call = [](void* context, size_t index, GetResult result) {
      (*static_cast<std::remove_reference_t<Done>*>(context))(index, std::move(result));
    };
    GetManyWith(keys, call, const_cast<void*>(static_cast<const void*>(std::addressof(done))));
  }
  // The same for a range of strings; allocates a view of each.
  template <std::ranges::input_range Strings, typename Done>
  requires std::same_as<std::ranges::range_value_t<Strings>, std::string>
  void GetMany(const Strings& keys, Done&& done) {
    const std::vector<std::string_view> views(std::ranges::begin(keys), std::ranges::end(keys));
    GetMany(std::span<const std::string_view>(views), std::forward<Done>(done));
  }

  // Stores a value. It is applied at most once, also when the Client had to reconnect.
  //
  // Returns: the version of the new value.
  // Errors:  kNoSpace (memory or table full; the old value stays), kTooLarge, kExists, kNotFound,
  //          kVersionMismatch, kPermission (this client may only read).
  // Cost:    one message and its reply; a value over 16 KiB is READ by the server from this
  //          process's memory.
  PutResult Put(std::string_view key, std::string_view value, const PutOptions& options = {});

  // Stores many items, several in a message, and calls `done(index, PutResult)` for each. Items of
  // the same key are applied in their order.
  template <typename Done>
  void PutMany(std::span<const PutItem> items, Done&& done) {
    const auto call = [](void* context, size_t index, PutResult result) {
      (*static_cast<std::remove_reference_t<Done>*>(context))(index, std::move(result));
    };
    PutManyWith(items, call, const_cast<void*>(static_cast<const void*>(std::addressof(done))));
  }

  // Reads several keys as they all were at one instant: no Commit is seen in part. By READs alone, as Get.
  //
  // Returns: for each key its item, or std::nullopt when it was absent. The values' bytes belong to the Client and stay
  //          until its next call.
  // Errors:  kTimeout also where the keys were written all the time.
  // Cost:    each key's GETs two times at least, mostly a first one and 1 READ; again where one was written meanwhile.
  std::expected<std::vector<std::optional<Item>>, Error> Snapshot(
      std::span<const std::string_view> keys);

  // Applies all writes, in their order, or none: they are if each of the reads still stands, at one instant. No GET
  // or Snapshot finds some of them applied and others, later, not yet. At most once, as Put. kCommitItemsMax reads and as
  // many writes at most, which take kCommitBytesMax in all. Of no writes it tells whether the reads stand. Keys may be of
  // any shards of a server, but of one where it keeps a log; a cluster takes none.
  //
  // Returns: the version of the first write; each of the next has the next one.
  // Errors:  kVersionMismatch (a read does not stand), kInvalidArgument (keys of several shards with a log, too many,
  //          none; a cluster), kTooLarge; else as Put. Nothing is applied then, but of kUnknown and kTimeout.
  // Cost:    one message and its reply.
  PutResult Commit(std::span<const CommitRead> reads, std::span<const CommitWrite> writes);

  // Adds `delta` to the number that the value is the decimal text of, as memcached and Redis have it; atomic, at
  // most once. Flags and expiry stay.
  //
  // Returns: the new number and its version.
  // Errors:  kNotFound, kNotANumber, kOutOfRange (nothing is changed), kUnknown, also where it was applied but
  //          the server that knew the number is gone; else as Put.
  // Cost:    one message and its reply.
  IncrementResult Increment(std::string_view key, int64_t delta,
                            const IncrementOptions& options = {});

  // Increments many items, several in a message, and calls `done(index, IncrementResult)` for each. Items of
  // the same key are changed in their order.
  template <typename Done>
  void IncrementMany(std::span<const IncrementItem> items, Done&& done) {
    const auto call = [](void* context, size_t index, IncrementResult result) {
      (*static_cast<std::remove_reference_t<Done>*>(context))(index, std::move(result));
    };
    IncrementManyWith(items, call,
                      const_cast<void*>(static_cast<const void*>(std::addressof(done))));
  }

  // Changes elements of a vector (plov/vectors.h), each by the function of it and the operand; atomic, at most once. Flags
  // and expiry stay.
  //
  // Returns: the new version.
  // Errors:  kNotFound, kWrongType, kOutOfRange (the slice), kInvalidArgument (and, or, xor of floating point), kTooLarge (an
  //          operand over 16 KiB), kVersionMismatch; else as Put.
  // Cost:    one message and its reply; the server copies the vector.
  PutResult UpdateVector(std::string_view key, VectorFunction function,
                         const VectorOperand& operand, const VectorOptions& options = {});

  // What the function makes of all elements of a slice, one after the other: their sum, the least, ...; by the server, as
  // they are at one instant.
  //
  // Errors:  kNotFound, kWrongType, kOutOfRange (the slice), kInvalidArgument (kAssign), kProtocol (an older server).
  // Cost:    one message and its reply; the server reads the elements. A vector that is often read whole costs it less where
  //          clients Get it.
  ReduceResult ReduceVector(std::string_view key, VectorFunction function,
                            const VectorSlice& slice = {});

  // The elements of a slice that compare so to the operand, which is one element, and their indexes; as they are at one
  // instant. The deadline is each message's.
  //
  // Errors:  as ReduceVector; kVersionMismatch (the vector was written all the time).
  // Cost:    one message and its reply for each 30 KB of what is found, indexes of 4 bytes and elements.
  FilterResult FilterVector(std::string_view key, Comparison comparison,
                            const VectorOperand& operand, const VectorSlice& slice = {});

  // Gives the item another lifetime; the value stays, and the server copies it.
  //
  // Returns: its new version.
  // Errors:  kNotFound; else as Put.
  // Cost:    one message and its reply.
  PutResult Touch(std::string_view key, Lifetime ttl, Version expected_version = 0);

  // Get and Touch in one.
  //
  // Returns: the item as it was when its expiry changed, under its new version; Item::expiry is the
  //          former one.
  // Errors:  kVersionMismatch (the item was written all the time); else as Touch.
  // Cost:    a Get and a Touch, again where the item was written between them.
  GetResult GetAndTouch(std::string_view key, Lifetime ttl);

  // Removes a key; with `expected_version` only that version of it (else kVersionMismatch).
  // Returns: whether it was there.
  DeleteResult Delete(std::string_view key, Version expected_version = 0);

  // Deletes all items that are there: what was stored before the call is gone when it ends, what is stored
  // after it stays. Not all at once: others can still GET one item when another is gone already. With a
  // `delay` the server does so that much later, in place of a Flush that it was to do so before, and
  // forgets it when it ends or another one takes over; the call does not wait for that.
  //
  // Returns: how many were deleted; with a delay 0. Those that had expired do not count.
  // Errors:  kNoSpace and kSystem (the log cannot be written; the flush goes on when it can), kTimeout (it
  //          did not get on for so long, and may be over later), kUnavailable (some may be deleted),
  //          kProtocol (an older server), kPermission (this client may only read), kInvalidArgument (a negative delay).
  // Cost:    a message and its reply per shard, again every some milliseconds; the server deletes some hundred
  //          thousands a second, and serves others in between.
  FlushResult Flush(std::chrono::seconds delay = std::chrono::seconds(0));

  // Asynchronous form, for event loops: Start* returns at once; Poll makes progress, runs the
  // callbacks of what has ended and returns how many operations are left. Wait for fd() to be
  // readable, no longer than next_poll(), and call Poll again. Keys and values must stay until
  // their callback has run; callbacks may start operations, and must not call the blocking ones.
  // Operations of one key take effect in the order in which they were started, also before a
  // blocking call for that key that comes later; those of different keys, and a flush, in any order.
  // Destroying the Client ends what is left with kUnavailable, or kUnknown where a write was sent.
  // Poll can block for as long as one connection attempt takes while the server is away; of a cluster
  // that is a small share of the time.
  void StartGet(std::string_view key, GetCallback done);
  void StartPut(std::string_view key, std::string_view value, const PutOptions& options,
                PutCallback done);
  void StartIncrement(std::string_view key, int64_t delta, const IncrementOptions& options,
                      IncrementCallback done);
  void StartTouch(std::string_view key, Lifetime ttl, Version expected_version, PutCallback done);
  void StartUpdateVector(std::string_view key, VectorFunction function,
                         const VectorOperand& operand, const VectorOptions& options,
                         PutCallback done);
  void StartDelete(std::string_view key, Version expected_version, DeleteCallback done);
  // Keys and values need not stay. Of its order only that is promised that it comes after what has ended before.
  void StartCommit(std::span<const CommitRead> reads, std::span<const CommitWrite> writes,
                   PutCallback done);
  void StartFlush(std::chrono::seconds delay, FlushCallback done);
  size_t Poll();
  int fd() const;
  std::chrono::microseconds next_poll() const;

  // Visits every item by one-sided READs of the whole table, in no order. Items that are moved or
  // written meanwhile may come twice, the newer last; so may any item while the table grows or after
  // a reconnection. Scan reads again what changed, until no item that was there all the time can have been
  // missed (ScanSummary::settled) or it has made eight passes. Items that are overwritten all the time seldom keep
  // it from that. Needs no operation under way. kCorrupt when most of
  // the table does not verify, or it refers to more bytes than the server's memory has.
  // Cost: 1 READ per 64 buckets and 1 per record.
  std::expected<ScanSummary, Error> Scan(ScanCallback item);

  // Visits items from a random place of the table on, in one pass that comes round to it again: stop at the first
  // for a random one. Which one is as likely as the room before it is wide. Where nothing is written or moved
  // meanwhile all come that are there, some of them twice; ScanSummary::settled says nothing. Else as Scan.
  std::expected<ScanSummary, Error> Sample(ScanCallback item);

  // Asks shard 0, in a cluster the first that is up, for a sign of life by message. Returns the round-trip
  // time.
  std::expected<std::chrono::nanoseconds, Error> Ping();

  // What the server says of itself, one text of "name value\n" lines per shard; plov(1) has the names.
  // Operations that were started and are GETs end first.
  // Cost: 1 READ per shard; with kNow one message and its reply before it.
  std::expected<std::vector<std::string>, Error> ServerStats(Freshness freshness = Freshness::kNow);

  // The last 64 slow writes of each shard, the oldest first: those that took longer than the server's
  // --slow-write. GETs that were started end first.
  // Cost: 2 READs of a page per shard; works while the server is stopped.
  std::expected<std::vector<SlowWrite>, Error> SlowWrites();

  // Returns when everything that the server has acknowledged before, to any client, is durable in its
  // log. With --commit async a loss of power can take the last second of it; with strict and acked
  // there is seldom anything to wait for. Sync does not wait for operations that were started and
  // have not ended; the next Sync covers those that end meanwhile.
  //
  // Errors: kInvalidArgument (the server keeps no log: plovd --log), kNoSpace and kSystem (the log
  //         cannot be written), kTimeout (not durable within the deadline), kPermission (this client
  //         may only read); kUnknown, once, when the server died or restarted after a write of this
  //         Client that no Sync had told of: it may be lost, what came later is durable.
  // Cost:   one message and its reply per shard, and a sync of its log where something waits for it.
  std::expected<void, Error> Sync();

  // Not that of keys: asks every shard for a snapshot of its log, from which the next start begins, and does not wait
  // for it.
  //
  // Returns: a number for each shard. Its snapshot is over once `snapshots` plus `snapshot_failures`
  //          in that shard's ServerStats reach it.
  // Errors:  kInvalidArgument (the server takes no snapshots), kPermission (this client may only
  //          read).
  // Cost:    one message and its reply per shard.
  std::expected<std::vector<uint64_t>, Error> Snapshot();

  // What operators ask of a running server: `command` with its `argument`, as `plov config` and `plov
  // drain` do (plov(1)). The commands are config ("" for all settings, or a name), set (a name, a
  // space and the value), drain (milliseconds at most), resume and status. Needs a server whose
  // threads are not stuck: shard 0 passes it on.
  //
  // Returns: what the server says to it, lines of "name value".
  // Errors:  kInvalidArgument, with the server's message, or of a cluster: name one server;
  //          kPermission (only root and the server's user may; over RDMA, where no kernel vouches for
  //          users, every client that may write).
  // Cost:    one message and its reply.
  std::expected<std::string, Error> Administer(std::string_view command,
                                               std::string_view argument = {});

  ClientStats stats() const;
  uint32_t shard_count() const;

 private:
  explicit Client(std::unique_ptr<Engine> engine);
  void GetManyWith(std::span<const std::string_view> keys, void (*done)(void*, size_t, GetResult),
                   void* context);
  void PutManyWith(std::span<const PutItem> items, void (*done)(void*, size_t, PutResult),
                   void* context);
  void IncrementManyWith(std::span<const IncrementItem> items,
                         void (*done)(void*, size_t, IncrementResult), void* context);

  // Of GETs.
  Engine* reader() const { return replicas_ != nullptr ? replicas_.get() : engine_.get(); }

  std::unique_ptr<Engine> engine_;
  std::unique_ptr<Engine> replicas_;  // with ReadFrom::kAnyReplica, of a cluster
};

}  // namespace plov
