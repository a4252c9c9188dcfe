// Conformance: what fabric/fabric.h promises, checked on every fabric by one suite.
//
// A fabric enters by INSTANTIATE_TEST_SUITE_P(Name, FabricConformance, testing::Values(...)) with a
// FabricUnderTest. The listener lives on the test's own thread; only Connect, which waits for the
// listener, runs on another. Tests that need two sides awake at once start their own threads.
//
// No test asserts on time: a wait ends when the property holds, and fails after kWaitMax, which
// only a broken fabric reaches. Other machines' fabrics may deliver late, so a check that something
// does *not* happen polls kManyPolls times: it cannot fail by chance, only miss a slow defect.
#pragma once

#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <ostream>
#include <span>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "fabric/fabric.h"

namespace plov::fabric {

// Memory that a listener can expose as a shard's region.
struct ExposedMemory {
  std::span<std::byte> bytes;
  int fd = -1;
  std::shared_ptr<void> owner;
};

struct FabricUnderTest {
  std::string name;
  std::function<std::string()> fresh_uri;  // one that nobody has used
  std::function<ExposedMemory(size_t bytes)> make_memory;
  // The sides share no memory: news of a Close is on its way for a moment, and READs are answered
  // while they are not polled.
  bool news_travel = false;
  std::string missing = {};  // why this machine cannot run it; every test is skipped then
};
std::ostream& operator<<(std::ostream& out, const FabricUnderTest& fabric);

inline constexpr std::chrono::seconds kWaitMax{20};
inline constexpr int kManyPolls = 4000;  // more than a port polls before it looks for dead peers
inline constexpr uint32_t kTestFormatVersion = 7;
// Of a READ whose bytes the test looks at where they arrive.
inline constexpr std::array<uint64_t, 64> kNoMasks{};

inline Deadline WaitDeadline() { return Clock::now() + kWaitMax; }

// Whether `done` came true.
template <typename Done>
bool Eventually(Done done) {
  for (const Deadline deadline = WaitDeadline(); !done(); std::this_thread::yield()) {
    if (Clock::now() > deadline) return false;
  }
  return true;
}

// Whether `fd` became readable; WaitReadable waits, IsReadable looks.
bool WaitReadable(int fd);
bool IsReadable(int fd);

// What a set-up step gave; one that fails ends the test.
template <typename T>
T Must(std::expected<T, Error> result) {
  if (!result) {
    throw std::runtime_error(std::string(CodeName(result.error().code)) + ": " +
                             result.error().message);
  }
  return std::move(*result);
}

// The error's code; kOk where there is none.
template <typename T>
Code CodeOf(const std::expected<T, Error>& result) {
  return result ? Code::kOk : result.error().code;
}

// A port's event that outlives the next Poll.
struct Event {
  PortEvent::Kind kind = PortEvent::Kind::kClosed;
  PeerId peer = 0;
  uint64_t client_id = 0;
  std::optional<uid_t> user = {};
  bool may_write = true;
  bool reads_only = false;
  bool never_writes = false;
  std::vector<std::byte> message;
  uint64_t tag = 0;
  bool ok = false;
};

// Bytes that differ from position to position and from seed to seed.
std::vector<std::byte> Pattern(size_t bytes, uint64_t seed);
bool Same(std::span<const std::byte> a, std::span<const std::byte> b);

// The status of each op; posts and polls until all are complete.
std::vector<Status> ReadAll(Connection* connection, std::span<const ReadOp> ops);
Status ReadOne(Connection* connection, const ReadOp& op);
// A READ of one aligned word.
uint64_t ReadWord(Connection* connection, uint64_t offset);

// The next message, or what a wait that sleeps ends with; nullopt when wait_max runs out.
std::optional<std::vector<std::byte>> ReceiveNext(Connection* connection);
// Whether the connection notices that its server is gone, by sleeping as a client does.
bool NoticesDeath(Connection* connection);

// A listener and its regions, on the thread that makes it.
class TestServer {
 public:
  static constexpr size_t kRegionBytes = 64 << 10;
  static constexpr size_t kStagingBytes = 64 << 10;

  TestServer(const FabricUnderTest& fabric, std::string uri, uint32_t shards = 1,
             size_t region_bytes = kRegionBytes, ListenOptions options = {});

  const std::string& uri() const { return uri_; }
  Listener& listener() { return *listener_; }
  Port& port(uint32_t shard = 0) { return listener_->port(shard); }
  std::span<std::byte> region(uint32_t shard = 0) { return memory_.at(shard).bytes; }
  uint64_t* words(uint32_t shard = 0);
  // Puts private bytes into a shard's region.
  void Fill(std::span<const std::byte> bytes, uint32_t shard = 0);

  // Exposes a shard with fresh memory; and ends that, and gives back its memory.
  void Expose(uint32_t shard = 0, size_t region_bytes = kRegionBytes);
  ExposedMemory Withdraw(uint32_t shard = 0);

  // Connects while the listener accepts.
  std::expected<std::unique_ptr<Connection>, Error> TryConnect(const ConnectOptions& options);
  std::unique_ptr<Connection> Connect(uint32_t shard = 0, uint64_t client_id = 1);
  // Accepts while `client` runs on a thread of its own.
  void AcceptWhile(const std::function<void()>& client);
  // Handles what is there now.
  void Accept();

  // The next event; ends the test when wait_max runs out.
  Event Next(uint32_t shard = 0);
  // The same, of which only one kind will do.
  Event Expect(PortEvent::Kind kind, uint32_t shard = 0);
  // Arms the port until it is quiet; false when it never is. Takes no events.
  bool FallAsleep(uint32_t shard = 0);
  // Whether there is no event for many polls.
  bool Silent(uint32_t shard = 0);

  void Stop() { listener_.reset(); }

 private:
  std::string uri_;
  std::function<ExposedMemory(size_t bytes)> make_memory_;
  std::map<uint32_t, ExposedMemory> memory_;  // by shard
  std::unique_ptr<Listener> listener_;
};

ConnectOptions OptionsFor(uint32_t shard, uint64_t client_id);
// Of a connection that only READs.
ConnectOptions ReaderOptions(uint32_t shard = 0);

class FabricConformance : public testing::TestWithParam<FabricUnderTest> {
 protected:
  void SetUp() override {
    if (!GetParam().missing.empty()) GTEST_SKIP() << GetParam().missing;
  }
  std::string FreshUri() { return GetParam().fresh_uri(); }
  // How often a test that looks for what is rare looks: READs and messages that leave the process
  // take a hundred times as long.
  int Rounds(int among_threads) const {
    return GetParam().news_travel ? among_threads / 10 : among_threads;
  }
  TestServer Serve(uint32_t shards = 1, size_t region_bytes = TestServer::kRegionBytes) {
    return TestServer(GetParam(), FreshUri(), shards, region_bytes);
  }
};

}  // namespace plov::fabric
