// memcached over a Unix socket, asked by libmemcached: one key at a time, or 32 in one multi-get; and as a cache
// with little memory.

#include <libmemcached/memcached.h>
#include <pwd.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <optional>

#include "bench/peers/cache.h"
#include "bench/peers/peer.h"
#include "bench/peers/peer_server.h"

namespace plov::bench {

namespace {

constexpr uint64_t kItemBytesMax = 256;
constexpr uint64_t kMiB = uint64_t{1} << 20;
constexpr uint64_t kMiBAtLeast = 128;

struct Freeing {
  void operator()(void* memory) const { std::free(memory); }
};

// A memcached, and a client of it.
class Served {
 public:
  Served() : client_(::memcached_create(nullptr)) {}
  ~Served() { ::memcached_free(client_); }
  Served(const Served&) = delete;
  Served& operator=(const Served&) = delete;

  // It keeps the user that it is started as, also root: one that changes its user would no longer end
  // with the tool (PR_SET_PDEATHSIG), and only the tool's user reaches its socket.
  std::expected<void, Error> Start(const std::string& socket,
                                   const std::vector<std::string>& options) {
    const passwd* user = ::getpwuid(::geteuid());
    PeerProgram program{.name = "memcached", .package = "memcached", .arguments = {"-s", socket}};
    program.arguments.insert(program.arguments.end(), options.begin(), options.end());
    if (user != nullptr) {
      program.arguments.insert(program.arguments.end(), {"-u", user->pw_name});
    }
    auto process = StartPeerServer(program, [&socket] { return Listens(socket); });
    if (!process) return std::unexpected(process.error());
    process_.emplace(std::move(*process));
    const auto added = ::memcached_server_add_unix_socket(client_, socket.c_str());
    if (added != MEMCACHED_SUCCESS) return Failed(added);
    return {};
  }

  uint64_t memory_bytes() const { return process_->memory_bytes(); }
  memcached_st* client() const { return client_; }
  std::unexpected<Error> Failed(memcached_return_t result) const {
    const bool is_full = result == MEMCACHED_SERVER_MEMORY_ALLOCATION_FAILURE;
    return Fail(is_full ? Code::kNoSpace : Code::kSystem,
                std::string("memcached: ") + ::memcached_strerror(client_, result));
  }

 private:
  std::optional<PeerServer> process_;
  memcached_st* client_;
};

class Memcached final : public Peer {
 public:
  explicit Memcached(const Work& work) : Peer(work), client_(served_.client()) {}

  std::expected<void, Error> Open(const std::string& socket) {
    const uint64_t mib = kMiBAtLeast + work().count() * kItemBytesMax / kMiB;
    if (auto started = served_.Start(socket, {"-m", std::to_string(mib), "-M"}); !started) {
      return started;
    }
    return Fill();
  }

  bool Can(Way way) const override { return way == Way::kGet || way == Way::kGetMany; }
  uint64_t memory_bytes() const override { return served_.memory_bytes(); }

  std::expected<void, Error> Do(Way way, Range range) override {
    if (way == Way::kGet) return Get(range);
    for (size_t done = 0; done < range.count; done += kPipelined) {
      const Range batch{range.first + done, std::min(kPipelined, range.count - done)};
      if (auto did = GetMany(batch); !did) return did;
    }
    return {};
  }

 private:
  // Without replies, many in a packet; the GETs see whether all are there.
  std::expected<void, Error> Fill() {
    ::memcached_behavior_set(client_, MEMCACHED_BEHAVIOR_NOREPLY, 1);
    ::memcached_behavior_set(client_, MEMCACHED_BEHAVIOR_BUFFER_REQUESTS, 1);
    std::string value;
    for (uint64_t place = 0; place < work().count(); ++place) {
      const std::string_view key = work().keys()[place];
      work().items().FillValue(work().order()[place], key, &value);
      const auto set =
          ::memcached_set(client_, key.data(), key.size(), value.data(), value.size(), 0, 0);
      if (::memcached_failed(set)) return Failed(set);
    }
    const auto flushed = ::memcached_flush_buffers(client_);
    if (::memcached_failed(flushed)) return Failed(flushed);
    // Other behaviour may come with another connection, so all has to be stored before.
    if (auto last = Get({work().count() - 1, 1}); !last) return last;
    ::memcached_behavior_set(client_, MEMCACHED_BEHAVIOR_BUFFER_REQUESTS, 0);
    ::memcached_behavior_set(client_, MEMCACHED_BEHAVIOR_NOREPLY, 0);
    return {};
  }

  std::expected<void, Error> Get(Range range) {
    for (const std::string_view key : keys(range)) {
      size_t bytes = 0;
      uint32_t flags = 0;
      memcached_return_t result = MEMCACHED_SUCCESS;
      const std::unique_ptr<char, Freeing> value(
          ::memcached_get(client_, key.data(), key.size(), &bytes, &flags, &result));
      if (result != MEMCACHED_SUCCESS) return Failed(result);
      if (!work().IsRight(key, {value.get(), bytes})) return work().Wrong(key);
    }
    return {};
  }

  std::expected<void, Error> GetMany(Range batch) {
    std::array<const char*, kPipelined> names;
    std::array<size_t, kPipelined> name_bytes;
    for (size_t i = 0; i < batch.count; ++i) {
      names[i] = keys(batch)[i].data();
      name_bytes[i] = keys(batch)[i].size();
    }
    auto result = ::memcached_mget(client_, names.data(), name_bytes.data(), batch.count);
    if (::memcached_failed(result)) return Failed(result);
    memcached_result_st found;
    ::memcached_result_create(client_, &found);
    size_t right = 0;
    while (::memcached_fetch_result(client_, &found, &result) != nullptr) {
      const std::string_view key(::memcached_result_key_value(&found),
                                 ::memcached_result_key_length(&found));
      const std::string_view value(::memcached_result_value(&found),
                                   ::memcached_result_length(&found));
      if (work().IsRight(key, value)) ++right;
    }
    ::memcached_result_free(&found);
    if (right == batch.count) return {};
    return work().Wrong(keys(batch)[0]);
  }

  std::unexpected<Error> Failed(memcached_return_t result) const { return served_.Failed(result); }

  Served served_;
  memcached_st* client_;  // its
};

class MemcachedCache final : public Cache {
 public:
  std::expected<void, Error> Open(const std::string& socket, uint64_t memory_bytes) {
    return served_.Start(socket, {"-m", std::to_string(memory_bytes / kMiB)});
  }

  std::expected<std::optional<std::string_view>, Error> Get(std::string_view key) override {
    size_t bytes = 0;
    uint32_t flags = 0;
    memcached_return_t result = MEMCACHED_SUCCESS;
    value_.reset(
        ::memcached_get(served_.client(), key.data(), key.size(), &bytes, &flags, &result));
    if (result == MEMCACHED_NOTFOUND) return std::nullopt;
    if (result != MEMCACHED_SUCCESS) return served_.Failed(result);
    return std::string_view(value_.get(), bytes);
  }

  std::expected<void, Error> Put(std::string_view key, std::string_view value) override {
    const auto result =
        ::memcached_set(served_.client(), key.data(), key.size(), value.data(), value.size(), 0, 0);
    if (result != MEMCACHED_SUCCESS) return served_.Failed(result);
    return {};
  }

  std::expected<uint64_t, Error> Items() override {
    memcached_return_t result = MEMCACHED_SUCCESS;
    const std::unique_ptr<memcached_stat_st, Freeing> stats(
        ::memcached_stat(served_.client(), nullptr, &result));
    if (result != MEMCACHED_SUCCESS) return served_.Failed(result);
    return stats->curr_items;
  }

 private:
  Served served_;
  std::unique_ptr<char, Freeing> value_;
};

}  // namespace

StartedCache MakeMemcachedCache(const std::string& folder, uint64_t memory_bytes) {
  auto cache = std::make_unique<MemcachedCache>();
  if (auto opened = cache->Open(folder + "/memcached.sock", memory_bytes); !opened) {
    return std::unexpected(opened.error());
  }
  return cache;
}

StartedPeer StartMemcached(const Work& work, const PeerPlace& place) {
  auto memcached = std::make_unique<Memcached>(work);
  if (auto opened = memcached->Open(place.folder + "/memcached.sock"); !opened) {
    return std::unexpected(opened.error());
  }
  return memcached;
}

}  // namespace plov::bench
