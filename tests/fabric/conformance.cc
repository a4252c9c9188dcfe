#include "tests/fabric/conformance.h"

#include <poll.h>

#include <algorithm>
#include <atomic>
#include <cstring>

#include "verify/words.h"

namespace plov::fabric {

namespace {

bool PollFor(int fd, int milliseconds) {
  pollfd poll_fd{fd, POLLIN, 0};
  return ::poll(&poll_fd, 1, milliseconds) == 1;
}

Event Keep(const PortEvent& event) {
  return {event.kind,         event.peer,
          event.client_id,    event.user,
          event.may_write,    event.reads_only,
          event.never_writes, {event.message.begin(), event.message.end()},
          event.tag,          event.ok};
}

}  // namespace

std::ostream& operator<<(std::ostream& out, const FabricUnderTest& fabric) {
  return out << fabric.name;
}

bool WaitReadable(int fd) {
  return PollFor(fd, static_cast<int>(std::chrono::milliseconds(kWaitMax).count()));
}

bool IsReadable(int fd) { return PollFor(fd, 0); }

std::vector<std::byte> Pattern(size_t bytes, uint64_t seed) {
  std::vector<std::byte> pattern(bytes);
  uint64_t state = seed * 2 + 1;
  for (std::byte& byte : pattern) {
    state = state * 6364136223846793005 + 1442695040888963407;  // Knuth's MMIX generator
    byte = static_cast<std::byte>(state >> 56);
  }
  return pattern;
}

bool Same(std::span<const std::byte> a, std::span<const std::byte> b) {
  return a.size() == b.size() && (a.empty() || std::memcmp(a.data(), b.data(), a.size()) == 0);
}

std::vector<Status> ReadAll(Connection* connection, std::span<const ReadOp> ops) {
  std::vector<ReadOp> tagged(ops.begin(), ops.end());
  for (size_t i = 0; i < tagged.size(); ++i) tagged[i].tag = i;
  std::vector<std::optional<Status>> statuses(ops.size());
  std::array<Completion, 16> completions;
  size_t posted = 0;
  size_t done = 0;
  const bool all = Eventually([&] {
    posted += connection->Read(std::span(tagged).subspan(posted));
    const size_t count = connection->Poll(completions);
    for (const Completion& completion : std::span(completions).first(count)) {
      auto& status = statuses.at(completion.tag);
      if (status.has_value()) throw std::runtime_error("a READ completed twice");
      status = completion.status;
    }
    done += count;
    return done == ops.size();
  });
  if (!all) throw std::runtime_error("a READ did not complete");
  std::vector<Status> result;
  for (const auto& status : statuses) result.push_back(status.value());
  return result;
}

Status ReadOne(Connection* connection, const ReadOp& op) {
  return ReadAll(connection, {&op, 1}).front();
}

uint64_t ReadWord(Connection* connection, uint64_t offset) {
  std::array<std::byte, sizeof(uint64_t)> bytes;
  const ReadOp op{.offset = offset, .bytes = 8, .to = bytes.data()};
  if (ReadOne(connection, op) != Status::kDone) throw std::runtime_error("a READ failed");
  uint64_t word;
  std::memcpy(&word, bytes.data(), sizeof(word));
  return word;
}

std::optional<std::vector<std::byte>> ReceiveNext(Connection* connection) {
  const Deadline deadline = WaitDeadline();
  while (Clock::now() < deadline) {
    if (const auto message = connection->Receive()) {
      return std::vector<std::byte>(message->begin(), message->end());
    }
    if (!connection->alive()) return std::nullopt;
    Wait(connection, deadline);
  }
  return std::nullopt;
}

bool NoticesDeath(Connection* connection) {
  const Deadline deadline = WaitDeadline();
  while (connection->alive() && Clock::now() < deadline) {
    Wait(connection, deadline);
    connection->Receive();
  }
  return !connection->alive();
}

TestServer::TestServer(const FabricUnderTest& fabric, std::string uri, uint32_t shards,
                       size_t region_bytes, ListenOptions options)
    : uri_(std::move(uri)), make_memory_(fabric.make_memory) {
  options.format_version = kTestFormatVersion;
  options.staging_bytes = kStagingBytes;
  for (uint32_t shard = 0; shard < shards; ++shard) {
    const ExposedMemory& memory = memory_[shard] = make_memory_(region_bytes);
    options.shards.push_back({memory.bytes, memory.fd});
  }
  listener_ = Must(Listener::Listen(uri_, options));
}

uint64_t* TestServer::words(uint32_t shard) { return verify::WordsAt(region(shard).data(), 0); }

void TestServer::Fill(std::span<const std::byte> bytes, uint32_t shard) {
  verify::CopyToShared(words(shard), 0, bytes.data(), bytes.size());
}

void TestServer::Expose(uint32_t shard, size_t region_bytes) {
  const ExposedMemory& memory = memory_[shard] = make_memory_(region_bytes);
  Port* port = Must(listener_->Expose(shard, {memory.bytes, memory.fd}));
  if (port != &listener_->port(shard)) throw std::runtime_error("another port than the shard's");
}

ExposedMemory TestServer::Withdraw(uint32_t shard) {
  listener_->Withdraw(shard);
  return memory_.extract(shard).mapped();
}

void TestServer::Accept() {
  while (IsReadable(listener_->fd())) listener_->HandleEvents();
}

void TestServer::AcceptWhile(const std::function<void()>& client) {
  std::atomic<bool> done = false;
  std::thread thread([&] {
    client();
    done.store(true, std::memory_order_release);
  });
  while (!done.load(std::memory_order_acquire)) {
    if (PollFor(listener_->fd(), 1)) listener_->HandleEvents();
  }
  thread.join();
}

std::expected<std::unique_ptr<Connection>, Error> TestServer::TryConnect(
    const ConnectOptions& options) {
  std::expected<std::unique_ptr<Connection>, Error> connection;
  AcceptWhile([&] { connection = Connection::Connect(uri_, options); });
  return connection;
}

std::unique_ptr<Connection> TestServer::Connect(uint32_t shard, uint64_t client_id) {
  return Must(TryConnect(OptionsFor(shard, client_id)));
}

Event TestServer::Next(uint32_t shard) {
  std::optional<Event> kept;
  const bool came = Eventually([&] {
    if (const auto event = port(shard).Poll()) kept = Keep(*event);
    return kept.has_value();
  });
  if (!came) throw std::runtime_error("no event came to the port");
  return *kept;
}

Event TestServer::Expect(PortEvent::Kind kind, uint32_t shard) {
  Event event = Next(shard);
  if (event.kind != kind) {
    throw std::runtime_error("an event of kind " + std::to_string(static_cast<int>(event.kind)) +
                             " came instead of " + std::to_string(static_cast<int>(kind)));
  }
  return event;
}

bool TestServer::FallAsleep(uint32_t shard) {
  return Eventually([&] {
    if (!port(shard).Arm()) return false;
    const bool quiet = !IsReadable(port(shard).fd());
    if (!quiet) port(shard).Disarm();
    return quiet;
  });
}

bool TestServer::Silent(uint32_t shard) {
  for (int i = 0; i < kManyPolls; ++i) {
    if (port(shard).Poll().has_value()) return false;
  }
  return true;
}

ConnectOptions OptionsFor(uint32_t shard, uint64_t client_id) {
  return {.shard = shard,
          .format_version = kTestFormatVersion,
          .client_id = client_id,
          .deadline = WaitDeadline()};
}

ConnectOptions ReaderOptions(uint32_t shard) {
  ConnectOptions options = OptionsFor(shard, 1);
  options.reads_only = true;
  return options;
}

}  // namespace plov::fabric
