#include <plov/client.h>

#include "client/engine.h"

namespace plov {

namespace {

// One call at a time on a Client; see its thread rule.
class Turn {
 public:
  explicit Turn(Engine* engine) : engine_(engine), taken_(engine->Enter()) {}
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;
  ~Turn() {
    if (taken_) engine_->Leave();
  }

  explicit operator bool() const { return taken_; }
  static std::unexpected<Error> Refused() {
    return Fail(
        Code::kInvalidArgument,
        "this Client is in another call: use one Client per thread, and no blocking call in "
        "a callback");
  }

 private:
  Engine* engine_;
  bool taken_;
};

Client::DeleteResult AsDeleteResult(Client::PutResult result) {
  if (result) return true;
  if (result.error().code == Code::kNotFound) return false;
  return std::unexpected(std::move(result.error()));
}

}  // namespace

Client::Client(std::unique_ptr<Engine> engine) : engine_(std::move(engine)) {}
Client::Client(Client&&) noexcept = default;
Client& Client::operator=(Client&&) noexcept = default;
Client::~Client() = default;

std::expected<Client, Error> Client::Connect(std::string_view uri, const ClientOptions& options) {
  auto engine = Engine::Connect(uri, options);
  if (!engine) return std::unexpected(engine.error());
  return Client(std::move(*engine));
}

Client::GetResult Client::Get(std::string_view key) {
  const Turn turn(engine_.get());
  if (!turn) return Turn::Refused();
  return engine_->Get(key, std::nullopt);
}

Client::GetResult Client::GetInto(std::string_view key, std::span<std::byte> buffer) {
  const Turn turn(engine_.get());
  if (!turn) return Turn::Refused();
  return engine_->Get(key, buffer);
}

void Client::GetManyWith(std::span<const std::string_view> keys,
                         void (*done)(void*, size_t, GetResult), void* context) {
  const Turn turn(engine_.get());
  for (size_t i = 0; !turn && i < keys.size(); ++i) done(context, i, Turn::Refused());
  if (turn) engine_->GetMany(keys, done, context);
}

Client::PutResult Client::Put(std::string_view key, std::string_view value,
                              const PutOptions& options) {
  const Turn turn(engine_.get());
  if (!turn) return Turn::Refused();
  return engine_->DoWrite(engine_->MakePut(key, value, options));
}

void Client::PutManyWith(std::span<const PutItem> items, void (*done)(void*, size_t, PutResult),
                         void* context) {
  const Turn turn(engine_.get());
  for (size_t i = 0; !turn && i < items.size(); ++i) done(context, i, Turn::Refused());
  if (turn) engine_->PutMany(items, done, context);
}

Client::DeleteResult Client::Delete(std::string_view key, Version expected_version) {
  const Turn turn(engine_.get());
  if (!turn) return Turn::Refused();
  auto result = engine_->DoWrite(engine_->MakeDelete(key, expected_version));
  // A conditional delete of an absent key did not find its version, like a conditional PUT.
  return AsDeleteResult(std::move(result));
}

void Client::StartGet(std::string_view key, GetCallback done) {
  auto started = std::make_unique<GetCallback>(std::move(done));
  const auto finish = [](void* context, size_t, GetResult result) {
    const std::unique_ptr<GetCallback> mine(static_cast<GetCallback*>(context));
    (*mine)(std::move(result));
  };
  engine_->QueueGet(key, {finish, started.release(), 0});
}

void Client::StartPut(std::string_view key, std::string_view value, const PutOptions& options,
                      PutCallback done) {
  auto started = std::make_unique<PutCallback>(std::move(done));
  Write write = engine_->MakePut(key, value, options);
  write.done = [](void* context, size_t, PutResult result) {
    const std::unique_ptr<PutCallback> mine(static_cast<PutCallback*>(context));
    (*mine)(std::move(result));
  };
  write.context = started.release();
  engine_->QueueWrite(write);
}

void Client::StartDelete(std::string_view key, Version expected_version, DeleteCallback done) {
  auto started = std::make_unique<DeleteCallback>(std::move(done));
  Write write = engine_->MakeDelete(key, expected_version);
  write.done = [](void* context, size_t, PutResult result) {
    const std::unique_ptr<DeleteCallback> mine(static_cast<DeleteCallback*>(context));
    (*mine)(AsDeleteResult(std::move(result)));
  };
  write.context = started.release();
  engine_->QueueWrite(write);
}

size_t Client::Poll() {
  const Turn turn(engine_.get());
  return turn ? engine_->Poll() : 0;
}

int Client::fd() const { return engine_->fd(); }
std::chrono::microseconds Client::next_poll() const { return engine_->next_poll(); }

std::expected<ScanSummary, Error> Client::Scan(ScanCallback item) {
  const Turn turn(engine_.get());
  if (!turn) return Turn::Refused();
  return engine_->Scan(&item);
}

std::expected<std::chrono::nanoseconds, Error> Client::Ping() {
  const Turn turn(engine_.get());
  if (!turn) return Turn::Refused();
  const auto start = std::chrono::steady_clock::now();
  const auto reply = engine_->Control(0, verify::Operation::kPing);
  if (!reply) return std::unexpected(reply.error());
  return std::chrono::steady_clock::now() - start;
}

std::expected<std::vector<std::string>, Error> Client::ServerStats() {
  const Turn turn(engine_.get());
  if (!turn) return Turn::Refused();
  std::vector<std::string> texts;
  for (uint32_t shard = 0; shard < engine_->shard_count(); ++shard) {
    auto reply = engine_->Control(shard, verify::Operation::kStats);
    if (!reply) return std::unexpected(reply.error());
    texts.push_back(std::move(*reply));
  }
  return texts;
}

ClientStats Client::stats() const { return engine_->stats(); }
uint32_t Client::shard_count() const { return engine_->shard_count(); }

}  // namespace plov
