#include <plov/client.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <random>
#include <thread>
#include <utility>

#include "ledger.h"

namespace plov::power {

namespace {

constexpr ClientOptions kOptions{.timeout = std::chrono::seconds(5)};
constexpr std::chrono::seconds kGiveUpAfter{120};
constexpr std::chrono::milliseconds kPause{20};  // before another attempt, and between two reads
constexpr uint32_t kSyncEvery = 20;

using Names = std::array<std::array<std::string, kKeys>, kWriters>;

// There is nobody to go on for.
template <typename Result>
auto Must(Result&& result) {
  if (!result) {
    std::fprintf(stderr, "ledger: %s\n", result.error().message.c_str());
    std::_Exit(1);
  }
  if constexpr (!std::is_void_v<typename std::remove_cvref_t<Result>::value_type>) {
    return *std::forward<Result>(result);
  }
}

std::vector<uint64_t> RequestsOfShards(Client* client) {
  std::vector<uint64_t> requests;
  for (const std::string& text : Must(client->ServerStats())) {
    const std::string name = "\nrequests ";
    requests.push_back(std::stoull(text.substr(text.find(name) + name.size())));
  }
  return requests;
}

// Which shard a key belongs to: the one that hears of a write of it, which changes nothing.
uint32_t ShardOf(Client* client, const std::string& key) {
  const std::vector<uint64_t> before = RequestsOfShards(client);
  (void)client->Put(key, "", {.expected_version = 1});
  const std::vector<uint64_t> after = RequestsOfShards(client);
  uint32_t shard = 0;
  for (uint32_t other = 1; other < after.size(); ++other) {
    if (after[other] - before[other] > after[shard] - before[shard]) shard = other;
  }
  return shard;
}

Names NamesOfKeys(Client* client) {
  Names names;
  for (uint32_t writer = 0; writer < kWriters; ++writer) {
    for (uint32_t key = 0; key < kKeys; ++key) {
      uint32_t tries = 0;
      do {
        names[writer][key] = KeyPrefix(writer, key) + std::to_string(tries++);
      } while (ShardOf(client, names[writer][key]) != writer % client->shard_count());
    }
  }
  return names;
}

// Chooses and makes the operations of one writer. No two of its states are the same: a delete
// follows a put, and takes another key than that one.
class Writer {
 public:
  Writer(const Run& run, const Names& names, uint32_t writer, bool syncs)
      : client_(Must(Client::Connect(run.uri, kOptions))),
        part_(Must(Part::Open(run.device, run.offset, writer))),
        names_(names[writer]),
        writer_(writer),
        syncs_(syncs) {}

  void Next() {
    Record& record = part_.Add(Choose());
    Must(part_.Write(record.number == 1 ? 1 : 2));  // the last one as told, this one as issued
    Send(&record);
  }
  void Finish() { Must(part_.Write(1)); }

 private:
  uint64_t Random(uint64_t below) { return random_() % below; }
  uint32_t ValueBytes() {
    const uint64_t kind = Random(20);
    return static_cast<uint32_t>(kind < 8 ? Random(200) : kind < 18 ? Random(8000) : Random(60000));
  }
  Record Choose();
  void Send(Record* record);
  std::expected<Version, Error> Try(const Record& record);

  Client client_;
  Part part_;
  const std::array<std::string, kKeys>& names_;
  uint32_t writer_;
  bool syncs_;
  std::mt19937_64 random_{std::random_device{}()};
  uint32_t last_put_ = kKeys;  // the key, where a put was the last write
  std::array<bool, kKeys> present_ = {};
};

Record Writer::Choose() {
  if (syncs_ && Random(kSyncEvery) == 0) return {.kind = Kind::kSync};
  const auto key = static_cast<uint32_t>(Random(kKeys));
  if (last_put_ != kKeys && key != last_put_ && present_[key] && Random(3) == 0) {
    last_put_ = kKeys;
    present_[key] = false;
    return {.key = key, .kind = Kind::kDelete};
  }
  last_put_ = key;
  present_[key] = true;
  return {.key = key, .value_bytes = ValueBytes(), .kind = Kind::kPut};
}

std::expected<Version, Error> Writer::Try(const Record& record) {
  if (record.kind == Kind::kPut) return client_.Put(names_[record.key], ValueOf(writer_, record));
  if (record.kind == Kind::kSync) {
    if (auto synced = client_.Sync(); !synced) return std::unexpected(std::move(synced.error()));
  } else if (auto was = client_.Delete(names_[record.key]); !was) {
    return std::unexpected(std::move(was.error()));
  }
  return Version{0};
}

void Writer::Send(Record* record) {
  const auto begin = std::chrono::steady_clock::now();
  record->told = Told::kYes;
  for (;;) {
    auto version = Try(*record);
    if (version) {
      record->version = *version;
      return;
    }
    // A server that was killed comes back, and so does a disk that failed.
    if (std::chrono::steady_clock::now() - begin > kGiveUpAfter) Must(std::move(version));
    if (record->told == Told::kYes) {
      std::fprintf(stderr, "writer %u: again, for %s\n", writer_, version.error().message.c_str());
    }
    record->told = Told::kAgain;
    std::this_thread::sleep_for(kPause);
  }
}

// Remembers what it has been shown, until `stop`.
void Read(const Run& run, const Names& names, const std::atomic<bool>& stop) {
  Client client = Must(Client::Connect(run.uri, kOptions));
  Part part = Must(Part::Open(run.device, run.offset, kReader));
  std::mt19937_64 random{std::random_device{}()};
  while (!stop.load(std::memory_order_relaxed) && !part.full()) {
    const auto key = static_cast<uint32_t>(random() % (kWriters * kKeys));
    const auto item = client.Get(names[key / kKeys][key % kKeys]);
    if (item && *item) {
      part.Add({.version = (*item)->version, .key = key, .kind = Kind::kRead, .told = Told::kYes});
      Must(part.Write(1));
    }
    std::this_thread::sleep_for(kPause);
  }
}

}  // namespace

int Write(const Run& run, uint32_t writes, bool syncs) {
  Client client = Must(Client::Connect(run.uri, kOptions));
  const Names names = NamesOfKeys(&client);
  std::atomic<bool> stop = false;
  std::thread reader([&] { Read(run, names, stop); });
  std::vector<std::thread> threads;
  for (uint32_t number = 0; number < kWriters; ++number) {
    threads.emplace_back([&, number] {
      Writer writer(run, names, number, syncs);
      for (uint32_t made = 0; made < writes; ++made) {
        writer.Next();
        if (number == 0 && made == writes / 2) {
          std::puts("half");
          std::fflush(stdout);
        }
      }
      writer.Finish();
    });
  }
  for (std::thread& thread : threads) thread.join();
  stop.store(true, std::memory_order_relaxed);
  reader.join();
  return 0;
}

}  // namespace plov::power
