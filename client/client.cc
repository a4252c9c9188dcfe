#include <plov/client.h>

#include <algorithm>
#include <new>

#include "client/engine.h"
#include "client/vectors.h"
#include "fabric/random.h"

namespace plov {

namespace {

constexpr std::chrono::microseconds kTimeoutMax = std::chrono::hours(24 * 365);
constexpr size_t kCommandBytesMax = 1024;  // a key's
constexpr auto kOneServer =
    "this is for one server: name it by a URI of its own instead of the cluster";
constexpr auto kOfServer =
    "this client administers one server of a cluster: name the cluster for its items";

enum class Of { kItems, kServer };  // a call

// One call at a time on a Client; see its thread rule.
class Turn {
 public:
  explicit Turn(Engine* engine, Of of = Of::kItems)
      : engine_(engine),
        is_refused_(engine != nullptr && of == Of::kItems && !engine->has_items()),
        is_taken_(engine != nullptr && !is_refused_ && engine->Enter()) {}
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;
  ~Turn() {
    if (is_taken_) engine_->Leave();
  }

  explicit operator bool() const { return is_taken_; }
  std::unexpected<Error> Refused() const {
    if (is_refused_) return Fail(Code::kInvalidArgument, kOfServer);
    return Fail(Code::kInvalidArgument,
                engine_ == nullptr ? "this Client was moved from"
                                   : "this Client is in another call: use one Client per thread, "
                                     "and no blocking call in a callback");
  }

 private:
  Engine* engine_;
  bool is_refused_;
  bool is_taken_;
};

// A call that returns a std::expected. Memory that runs out is an error of that call, and what a
// callback has thrown goes on once the client is in order.
template <Of of = Of::kItems>
auto Call(Engine* engine, auto&& body) -> decltype(body()) {
  const Turn turn(engine, of);
  if (!turn) return turn.Refused();
  try {
    auto result = body();
    engine->callbacks().Rethrow();
    return result;
  } catch (const std::bad_alloc&) {
    engine->Reset();
    return std::unexpected(NoMemory());
  }
}

// The same of a call that tells each of `count` callers.
template <typename Result>
void CallMany(Engine* engine, size_t count, void (*done)(void*, size_t, Result), void* context,
              auto&& body) {
  const Turn turn(engine);
  for (size_t i = 0; !turn && i < count; ++i) done(context, i, turn.Refused());
  if (!turn) return;
  body();
  engine->callbacks().Rethrow();
}

// An operation that is started: at once, or not at all. Its callback is told of what prevents that.
// Calls start operations also from within a callback, which is within another call of this thread.
void Start(Engine* engine, auto& done, auto&& body) {
  const Turn turn(engine);
  if (!turn && (engine == nullptr || !engine->IsEnteredByThisThread())) {
    return done(turn.Refused());
  }
  try {
    body();
  } catch (const std::bad_alloc&) {
    done(std::unexpected(NoMemory()));
  }
}

size_t PollOne(Engine* engine) {
  const auto left =
      Call<Of::kServer>(engine, [&] { return std::expected<size_t, Error>(engine->Poll()); });
  return left ? *left : engine == nullptr ? 0 : engine->started();
}

Client::DeleteResult AsDeleteResult(WriteResult result) {
  if (result) return true;
  if (result.error().code == Code::kNotFound) return false;
  return std::unexpected(std::move(result.error()));
}

Client::IncrementResult AsNumber(WriteResult result) {
  if (result) return Number{result->number, result->version};
  return std::unexpected(std::move(result.error()));
}

template <typename Callback, typename Result>
void StartWrite(Engine* engine, const Write& write, Callback& done,
                Result (*convert)(WriteResult)) {
  Start(engine, done, [&] { engine->StartWrite(write, std::move(done), convert); });
}

// A server that lies gives its callers no time that they cannot count with.
constexpr auto kClockOfNoItem = "the server's clock shows a time that no item can expire at";

bool IsOfItems(const ServerTime& time) {
  constexpr uint64_t kLastUs = uint64_t{UINT32_MAX} * 1'000'000;
  return time.earliest_us <= time.latest_us && time.latest_us <= kLastUs;
}

Error BadDelay() { return {Code::kInvalidArgument, "a delay cannot be negative"}; }

}  // namespace

Client::Client(std::unique_ptr<Engine> engine) : engine_(std::move(engine)) {}
Client::Client(Client&&) noexcept = default;
Client& Client::operator=(Client&&) noexcept = default;
Client::~Client() = default;

std::expected<Client, Error> Client::Connect(std::string_view uri, const ClientOptions& options) {
  const auto refuse = [](const char* why) { return Fail(Code::kInvalidArgument, why); };
  if (options.timeout.count() < 1 || options.timeout > kTimeoutMax) {
    return refuse("ClientOptions::timeout must be 1 us to a year");
  }
  if (options.window < 1 || options.window > kWindowMax) {
    return refuse("ClientOptions::window must be 1 to 64");
  }
  if (options.report_period.count() < 0 || options.report_period > kTimeoutMax) {
    return refuse("ClientOptions::report_period must be 0 to a year");
  }
  if (options.spin.count() < 0 || options.spin > kTimeoutMax) {
    return refuse("ClientOptions::spin must be 0 to a year");
  }
  if (options.max_age.count() < 1 || options.max_age > kTimeoutMax) {
    return refuse("ClientOptions::max_age must be 1 us to a year");
  }
  try {
    ClientOptions of_primary = options;
    of_primary.read_from = ReadFrom::kPrimary;
    auto engine = Engine::Connect(uri, of_primary);
    if (!engine) return std::unexpected(engine.error());
    Client client(std::move(*engine));
    if (options.read_from == ReadFrom::kPrimary || !client.engine_->is_cluster()) return client;
    auto replicas = Engine::Connect(uri, options);
    if (!replicas) return std::unexpected(replicas.error());
    client.engine_->Watch(**replicas);
    client.replicas_ = std::move(*replicas);
    return client;
  } catch (const std::bad_alloc&) {
    return std::unexpected(NoMemory());
  }
}

Client::GetResult Client::Get(std::string_view key) {
  return Call(reader(), [&] { return reader()->Get(key, std::nullopt); });
}

std::optional<Client::GetResult> Client::TryGet(std::string_view key) {
  return Call(reader(), [&] { return reader()->TryGet(key); });
}

Client::GetResult Client::GetInto(std::string_view key, std::span<std::byte> buffer) {
  return Call(reader(), [&] { return reader()->Get(key, buffer); });
}

std::expected<std::chrono::microseconds, Error> Client::Age(std::string_view key) {
  return Call(reader(), [&] { return reader()->Age(key); });
}

std::expected<ServerTime, Error> Client::Time(std::string_view key) {
  const Turn turn(engine_.get());
  const bool is_within = engine_ != nullptr && engine_->IsEnteredByThisThread();
  if (!turn && !is_within) return turn.Refused();
  const auto time = engine_->Time(key);
  if (time && !IsOfItems(*time)) return Fail(Code::kProtocol, kClockOfNoItem);
  return time;
}

void Client::GetManyWith(std::span<const std::string_view> keys,
                         void (*done)(void*, size_t, GetResult), void* context) {
  CallMany(reader(), keys.size(), done, context, [&] { reader()->GetMany(keys, done, context); });
}

Client::PutResult Client::Put(std::string_view key, std::string_view value,
                              const PutOptions& options) {
  return Call(engine_.get(),
              [&] { return VersionOf(engine_->DoWrite(MakePut(key, value, options))); });
}

std::expected<std::vector<std::optional<Item>>, Error> Client::Snapshot(
    std::span<const std::string_view> keys) {
  return Call(engine_.get(), [&] { return engine_->transactions().Snapshot(keys); });
}

Client::PutResult Client::Commit(std::span<const CommitRead> reads,
                                 std::span<const CommitWrite> writes) {
  return Call(engine_.get(), [&] { return engine_->transactions().Commit(reads, writes); });
}

Client::IncrementResult Client::Increment(std::string_view key, int64_t delta,
                                          const IncrementOptions& options) {
  return Call(engine_.get(),
              [&] { return AsNumber(engine_->DoWrite(MakeIncrement(key, delta, options))); });
}

Client::PutResult Client::UpdateVector(std::string_view key, VectorFunction function,
                                       const VectorOperand& operand, const VectorOptions& options) {
  return Call(engine_.get(), [&] {
    return VersionOf(engine_->DoWrite(MakeUpdate(key, function, operand, options)));
  });
}

Client::ReduceResult Client::ReduceVector(std::string_view key, VectorFunction function,
                                          const VectorSlice& slice) {
  return Call(engine_.get(), [&] { return Reduce(engine_.get(), key, function, slice); });
}

Client::FilterResult Client::FilterVector(std::string_view key, Comparison comparison,
                                          const VectorOperand& operand, const VectorSlice& slice) {
  return Call(engine_.get(),
              [&] { return Filter(engine_.get(), key, comparison, operand, slice); });
}

Client::PutResult Client::Touch(std::string_view key, Lifetime ttl, Version expected_version) {
  return Call(engine_.get(),
              [&] { return VersionOf(engine_->DoWrite(MakeTouch(key, ttl, expected_version))); });
}

Client::GetResult Client::GetAndTouch(std::string_view key, Lifetime ttl) {
  return Call(engine_.get(), [&] { return engine_->GetAndTouch(key, ttl); });
}

void Client::PutManyWith(std::span<const PutItem> items, void (*done)(void*, size_t, PutResult),
                         void* context) {
  CallMany(engine_.get(), items.size(), done, context, [&] {
    engine_->WriteMany(
        items.size(),
        [items](size_t i) { return MakePut(items[i].key, items[i].value, items[i].options); },
        [done, context](size_t i, WriteResult result) {
          done(context, i, VersionOf(std::move(result)));
        });
  });
}

void Client::IncrementManyWith(std::span<const IncrementItem> items,
                               void (*done)(void*, size_t, IncrementResult), void* context) {
  CallMany(engine_.get(), items.size(), done, context, [&] {
    engine_->WriteMany(
        items.size(),
        [items](size_t i) { return MakeIncrement(items[i].key, items[i].delta, items[i].options); },
        [done, context](size_t i, WriteResult result) {
          done(context, i, AsNumber(std::move(result)));
        });
  });
}

// A conditional delete of an absent key did not find its version, like a conditional PUT.
Client::DeleteResult Client::Delete(std::string_view key, Version expected_version) {
  return Call(engine_.get(),
              [&] { return AsDeleteResult(engine_->DoWrite(MakeDelete(key, expected_version))); });
}

void Client::StartGet(std::string_view key, GetCallback done) {
  Start(reader(), done, [&] { reader()->StartGet(key, std::move(done)); });
}

void Client::StartPut(std::string_view key, std::string_view value, const PutOptions& options,
                      PutCallback done) {
  StartWrite(engine_.get(), MakePut(key, value, options), done, VersionOf);
}

void Client::StartIncrement(std::string_view key, int64_t delta, const IncrementOptions& options,
                            IncrementCallback done) {
  StartWrite(engine_.get(), MakeIncrement(key, delta, options), done, AsNumber);
}

void Client::StartTouch(std::string_view key, Lifetime ttl, Version expected_version,
                        PutCallback done) {
  StartWrite(engine_.get(), MakeTouch(key, ttl, expected_version), done, VersionOf);
}

void Client::StartUpdateVector(std::string_view key, VectorFunction function,
                               const VectorOperand& operand, const VectorOptions& options,
                               PutCallback done) {
  StartWrite(engine_.get(), MakeUpdate(key, function, operand, options), done, VersionOf);
}

void Client::StartDelete(std::string_view key, Version expected_version, DeleteCallback done) {
  StartWrite(engine_.get(), MakeDelete(key, expected_version), done, AsDeleteResult);
}

void Client::StartCommit(std::span<const CommitRead> reads, std::span<const CommitWrite> writes,
                         PutCallback done) {
  Start(engine_.get(), done, [&] {
    auto commit = engine_->transactions().Encode(reads, writes);
    if (!commit) return done(std::unexpected(std::move(commit.error())));
    engine_->StartCommit(std::move(*commit), std::move(done));
  });
}

Client::FlushResult Client::Flush(std::chrono::seconds delay) {
  if (delay.count() < 0) return std::unexpected(BadDelay());
  return Call(engine_.get(), [&] { return engine_->Flush(delay); });
}

void Client::StartFlush(std::chrono::seconds delay, FlushCallback done) {
  if (delay.count() < 0) return done(std::unexpected(BadDelay()));
  Start(engine_.get(), done, [&] { engine_->StartFlush(delay, std::move(done)); });
}

size_t Client::Poll() {
  const size_t left = replicas_ == nullptr ? 0 : PollOne(replicas_.get());
  return left + PollOne(engine_.get());
}

int Client::fd() const { return engine_ == nullptr ? -1 : engine_->fd(); }
std::chrono::microseconds Client::next_poll() const {
  if (engine_ == nullptr) return std::chrono::microseconds(0);
  return replicas_ == nullptr ? engine_->next_poll()
                              : std::min(engine_->next_poll(), replicas_->next_poll());
}

std::expected<ScanSummary, Error> Client::Scan(ScanCallback item) {
  return Call(engine_.get(), [&] { return engine_->Scan(&item); });
}

std::expected<ScanSummary, Error> Client::Sample(ScanCallback item) {
  return Call(engine_.get(), [&] { return engine_->Scan(&item, fabric::RandomId()); });
}

std::expected<std::chrono::nanoseconds, Error> Client::Ping() {
  return Call<Of::kServer>(engine_.get(), [&]() -> std::expected<std::chrono::nanoseconds, Error> {
    const auto start = std::chrono::steady_clock::now();
    const auto replies = engine_->Control(verify::Operation::kPing, Controls::To::kOne);
    if (!replies) return std::unexpected(replies.error());
    return std::chrono::steady_clock::now() - start;
  });
}

std::expected<std::vector<std::string>, Error> Client::ServerStats(Freshness freshness) {
  return Call<Of::kServer>(engine_.get(), [&] { return engine_->ServerStats(freshness); });
}

std::expected<std::vector<SlowWrite>, Error> Client::SlowWrites() {
  return Call<Of::kServer>(engine_.get(), [&] { return engine_->SlowWrites(); });
}

std::expected<void, Error> Client::Sync() {
  return Call(engine_.get(), [&] { return engine_->Sync(); });
}

std::expected<std::vector<uint64_t>, Error> Client::Snapshot() {
  return Call<Of::kServer>(engine_.get(), [&]() -> std::expected<std::vector<uint64_t>, Error> {
    const auto replies = engine_->Control(verify::Operation::kSnapshot);
    if (!replies && replies.error().code == Code::kInvalidArgument) {
      return Fail(Code::kInvalidArgument, "this server takes no snapshots (plovd --log)");
    }
    if (!replies) return std::unexpected(replies.error());
    std::vector<uint64_t> numbers;
    for (const Controls::Reply& reply : *replies) numbers.push_back(reply.version);
    return numbers;
  });
}

std::expected<std::string, Error> Client::Administer(std::string_view command,
                                                     std::string_view argument) {
  if (command.size() > kCommandBytesMax || argument.size() > kCommandBytesMax) {
    return Fail(Code::kInvalidArgument, "no command is so long");
  }
  return Call<Of::kServer>(engine_.get(), [&]() -> std::expected<std::string, Error> {
    if (engine_->is_cluster()) return Fail(Code::kInvalidArgument, kOneServer);
    verify::Request request{.operation = verify::Operation::kAdminister};
    request.value_bytes = static_cast<uint32_t>(argument.size());
    request.key = command;
    request.value = argument;
    auto replies = engine_->Control(request, Controls::To::kOne);
    if (!replies) return std::unexpected(std::move(replies.error()));
    return std::move(replies->front().text);
  });
}

ClientStats Client::stats() const {
  ClientStats stats;
  if (engine_ != nullptr) engine_->AddTo(&stats);
  const uint64_t lives = stats.lives;
  if (replicas_ != nullptr) replicas_->AddTo(&stats);
  stats.lives = lives;  // nothing is written there
  return stats;
}
uint32_t Client::shard_count() const { return engine_ == nullptr ? 0 : engine_->shard_count(); }

}  // namespace plov
