#include "bench/durable/load.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <numeric>
#include <thread>

#include "bench/load/choice.h"
#include "bench/load/process_pool.h"
#include "client/write_queue.h"

namespace plov::bench {

namespace {

// Of a client's part, so that what is prepared stays small.
constexpr size_t kPutsMax = size_t{1} << 16;
// In one call: at its end less is in flight.
constexpr size_t kPutsPerCall = size_t{1} << 13;

TimedResult PutInFlight(Client* client, const Puts& puts, std::chrono::microseconds duration) {
  Timed timed;
  std::expected<void, Error> outcome;
  std::array<int64_t, kWritesMax> since{};  // when what is in flight took its place
  const int64_t start = NowNs();
  int64_t now = start;
  for (size_t first = 0; now < start + duration.count() * 1000 && outcome;) {
    if (first >= puts.items().size()) first = 0;
    const size_t count = std::min(kPutsPerCall, puts.items().size() - first);
    since.fill(now);
    size_t done = 0;
    client->PutMany(puts.items().subspan(first, count), [&](size_t, const auto& result) {
      now = NowNs();
      if (!result && outcome) outcome = std::unexpected(result.error());
      int64_t& place = since[done++ % since.size()];
      timed.latency.Count(static_cast<uint64_t>(now - place));
      place = now;
    });
    first += count;
  }
  if (!outcome) return std::unexpected(outcome.error());
  timed.per_second =
      static_cast<double>(timed.latency.count()) * 1e9 / static_cast<double>(now - start);
  return timed;
}

std::vector<size_t> PlacesOf(Range part) {
  std::vector<size_t> places(std::min(part.count, kPutsMax));
  std::iota(places.begin(), places.end(), part.first);
  return places;
}

// No zeros: what the file has already need not be written again.
constexpr std::array<char, BareDisk::kWriteBytesMax> Filled(char byte) {
  std::array<char, BareDisk::kWriteBytesMax> bytes{};
  bytes.fill(byte);
  return bytes;
}
constexpr auto kZeros = Filled(0);
constexpr auto kBytes = Filled('v');

std::expected<void, Error> WriteAt(int file, const std::string& path, const char* bytes,
                                   size_t count, uint64_t at) {
  const ssize_t wrote = ::pwrite(file, bytes, count, static_cast<off_t>(at));
  if (wrote == static_cast<ssize_t>(count)) return {};
  return FailErrno("cannot write " + path, wrote < 0 ? errno : ENOSPC);
}

}  // namespace

TimedResult TimeCalls(std::chrono::microseconds duration,
                      const std::function<std::expected<void, Error>()>& call) {
  Timed timed;
  const int64_t start = NowNs();
  int64_t now = start;
  do {
    const int64_t began = now;
    if (auto called = call(); !called) return std::unexpected(called.error());
    now = NowNs();
    timed.latency.Count(static_cast<uint64_t>(now - began));
  } while (now < start + duration.count() * 1000);
  timed.per_second =
      static_cast<double>(timed.latency.count()) * 1e9 / static_cast<double>(now - start);
  return timed;
}

TimedResult OneAtATime(const Work& work, Peer* peer, Way way, std::chrono::microseconds duration) {
  size_t next = 0;
  return TimeCalls(duration, [&] {
    if (next == work.count()) next = 0;
    return peer->Do(way, {next++, 1});
  });
}

Puts::Puts(const Work& work, Range part) : Puts(work, PlacesOf(part)) {}

Puts Puts::Hot(const Work& work, uint64_t seed) {
  Choice choice(Popularity::kZipf, kYcsbExponent, work.count(), seed);
  std::vector<size_t> places(kPutsMax);
  std::ranges::generate(places, [&choice] { return choice.Next(); });
  return {work, places};
}

Puts::Puts(const Work& work, const std::vector<size_t>& places) {
  values_.resize(places.size() * work.value_bytes());
  items_.reserve(places.size());
  char* to = values_.data();
  std::string value;
  for (const size_t place : places) {
    const std::string_view key = work.keys()[place];
    work.items().FillValue(work.order()[place], key, &value);
    std::ranges::copy(value, to);
    items_.push_back({.key = key, .value = {to, value.size()}});
    to += value.size();
  }
}

TimedResult PutsInFlight(std::span<const std::unique_ptr<Plov>> clients,
                         std::span<const Puts> parts, std::chrono::microseconds duration) {
  std::vector<TimedResult> results(clients.size());
  {
    std::vector<std::jthread> threads;
    for (size_t i = 0; i < clients.size(); ++i) {
      threads.emplace_back(
          [&, i] { results[i] = PutInFlight(&clients[i]->client(), parts[i], duration); });
    }
  }
  Timed all;
  for (const TimedResult& one : results) {
    if (!one) return one;
    all.per_second += one->per_second;
    all.latency.Add(one->latency);
  }
  return all;
}

std::expected<BareDisk, Error> BareDisk::Create(const std::string& path, uint64_t file_bytes) {
  const fabric::Fd fresh(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  if (!fresh) return FailErrno("cannot make " + path, errno);
  for (uint64_t at = 0; at < file_bytes; at += kZeros.size()) {
    auto wrote = WriteAt(fresh.get(), path, kZeros.data(), kZeros.size(), at);
    if (!wrote) return std::unexpected(wrote.error());
  }
  if (::fdatasync(fresh.get()) != 0) return FailErrno("cannot sync " + path, errno);
  fabric::Fd file(::open(path.c_str(), O_WRONLY | O_DSYNC | O_CLOEXEC));
  if (!file) return FailErrno("cannot open " + path, errno);
  return BareDisk(path, std::move(file), file_bytes);
}

std::expected<void, Error> BareDisk::Write(size_t bytes) {
  if (next_ + bytes > file_bytes_) next_ = 0;
  const uint64_t at = next_;
  next_ += bytes;
  return WriteAt(file_.get(), path_, kBytes.data(), bytes, at);
}

bool IsOnTmpfs(const std::string& folder) {
  struct statfs about {};
  return ::statfs(folder.c_str(), &about) == 0 && about.f_type == TMPFS_MAGIC;
}

}  // namespace plov::bench
