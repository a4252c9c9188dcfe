#include "bench/load/worker.h"

#include <fmt/core.h>
#include <poll.h>
#include <time.h>

#include <algorithm>
#include <chrono>
#include <limits>
#include <utility>

namespace plov::bench {

namespace {

// So few that what they are made of stays in the cache, and preparing them delays no start by much.
constexpr size_t kPreparedMax = 64;
constexpr size_t kPreparedBytes = size_t{256} << 10;
constexpr uint32_t kWindowMaxOfClient = 64;
constexpr size_t kPutsPerBatch = 64;
constexpr int64_t kForEver = std::numeric_limits<int64_t>::max();
// To sleep is worth it, and a sleep ends this much before the start is due; Linux's timer slack is
// 50 us.
constexpr int64_t kSleepNs = 200'000;
constexpr int64_t kWakeBeforeNs = 100'000;

double SecondsOf(int64_t ns) { return static_cast<double>(ns) * 1e-9; }

int64_t AwaitNs(int64_t due_ns) {
  int64_t now = NowNs();
  while (now < due_ns) {
    if (due_ns - now > kSleepNs) {
      const int64_t rest = due_ns - now - kWakeBeforeNs;
      const timespec time{.tv_sec = rest / 1'000'000'000, .tv_nsec = rest % 1'000'000'000};
      ::nanosleep(&time, nullptr);
    }
    now = NowNs();
  }
  return now;
}

PutOptions PutOptionsOf(Kind kind) {
  PutOptions options;
  if (kind == Kind::kAdd) options.mode = PutMode::kAdd;
  if (kind == Kind::kReplace) options.mode = PutMode::kReplace;
  return options;
}

bool IsPut(Kind kind) {
  return kind == Kind::kPut || kind == Kind::kInsert || kind == Kind::kAdd ||
         kind == Kind::kReplace;
}

// Errors that say that the condition of a write did not hold.
bool IsRefusal(Code code) {
  return code == Code::kExists || code == Code::kNotFound || code == Code::kVersionMismatch;
}

size_t PreparedCount(const Workload& workload, uint32_t window) {
  const uint32_t most =
      workload.replay ? workload.replay->value_bytes_most() : workload.shape.value_bytes_most;
  const size_t fit = kPreparedBytes / (size_t{most} + 1);
  return std::max<size_t>(window, std::min(kPreparedMax, fit));
}

}  // namespace

Worker::Worker(Client client, const Workload& workload, const DriveOptions& options, uint32_t index,
               Shared* shared)
    : client_(std::move(client)),
      workload_(workload),
      options_(options),
      index_(index),
      shared_(shared),
      source_(workload, index, options.clients, options.seed),
      operations_(PreparedCount(workload, options.window)),
      due_ns_(operations_.size()) {}

std::expected<Worker, Error> Worker::Create(const Workload& workload, const DriveOptions& options,
                                            uint32_t index, Shared* shared) {
  ClientOptions client_options = options.client;
  client_options.window = std::clamp(options.window, 1u, kWindowMaxOfClient);
  auto client = Client::Connect(options.uri, client_options);
  if (!client) return std::unexpected(client.error());
  return Worker(std::move(*client), workload, options, index, shared);
}

std::expected<void, Error> Worker::Load() {
  const Items items(workload_.shape);
  const size_t per_batch =
      std::clamp<size_t>(kPreparedBytes / (workload_.shape.value_bytes_most + 1), 1, kPutsPerBatch);
  std::vector<std::string> keys(per_batch);
  std::vector<std::string> values(per_batch);
  MemberCounts& counts = shared_->counts[index_];
  AwaitStart(shared_);
  for (uint64_t number = index_; number < workload_.items && MayGoOn();) {
    items_.clear();
    uint64_t bytes = 0;
    for (size_t i = 0; i < per_batch && number < workload_.items; ++i, number += options_.clients) {
      items.FillKey(number, &keys[i]);
      items.FillValue(number, keys[i], &values[i]);
      items_.push_back({.key = keys[i], .value = values[i]});
      bytes += keys[i].size() + values[i].size();
    }
    client_.PutMany(items_, [this](size_t, const auto& result) {
      if (!result && !error_) error_ = result.error();
    });
    if (error_) return std::unexpected(*error_);
    counts.operations.fetch_add(items_.size(), std::memory_order_relaxed);
    counts.bytes.fetch_add(bytes, std::memory_order_relaxed);
  }
  return {};
}

std::expected<Result, Error> Worker::Measure() {
  if (options_.warmup.count() > 0) {
    if (auto warm = RunClosed(NowNs() + options_.warmup.count() * 1000); !warm) {
      return std::unexpected(warm.error());
    }
  }
  result_ = Result();
  start_ns_ = AwaitStart(shared_);
  const ClientStats before = client_.stats();
  const int64_t cpu_before_ns = ProcessCpuNs();
  const int64_t duration_ns = options_.duration.count() * 1000;
  const int64_t end_ns = duration_ns == 0 ? kForEver : start_ns_ + duration_ns;
  slice_ns_ = duration_ns / static_cast<int64_t>(Result::kSlices);
  busy_ns_ = 0;
  const auto ran = options_.rate > 0 ? RunOpen(start_ns_, end_ns) : RunClosed(end_ns);
  if (!ran) return std::unexpected(ran.error());
  result_.stats = Difference(client_.stats(), before);
  result_.cpu_seconds = SecondsOf(ProcessCpuNs() - cpu_before_ns);
  result_.seconds = SecondsOf(std::max<int64_t>(1, now_ns_ - start_ns_));
  const double seconds = options_.rate > 0 ? result_.seconds : SecondsOf(busy_ns_);
  const auto operations = static_cast<double>(result_.operations());
  result_.per_second = seconds > 0 ? operations / seconds : 0;
  return std::move(result_);
}

// What was prepared is done; new items of all clients may be chosen from now on.
bool Worker::Prepare() {
  if (workload_.mix[Kind::kInsert] > 0) {
    uint64_t inserted = std::numeric_limits<uint64_t>::max();
    for (uint32_t i = 0; i < options_.clients; ++i) {
      // Pairs with Announce; the server has these items, and its answer went before.
      inserted = std::min(inserted, shared_->counts[i].inserted.load(std::memory_order_acquire));
    }
    source_.GrowTo(workload_.items + inserted * options_.clients);
  }
  prepared_ = next_ = 0;
  while (prepared_ < operations_.size() && source_.Next(&operations_[prepared_])) ++prepared_;
  return prepared_ > 0;
}

void Worker::Announce(size_t first, size_t count) {
  uint64_t inserted = 0;
  uint64_t bytes = 0;
  for (const Operation& one : std::span(operations_).subspan(first, count)) {
    inserted += one.kind == Kind::kInsert;
    bytes += one.key.size() + (Writes(one.kind) ? one.value.size() : 0);
  }
  MemberCounts& counts = shared_->counts[index_];
  if (inserted > 0) counts.inserted.fetch_add(inserted, std::memory_order_release);
  counts.operations.fetch_add(count, std::memory_order_relaxed);
  counts.bytes.fetch_add(bytes, std::memory_order_relaxed);
}

// Looks at the clock once for each call: one operation's end is the next one's beginning. Something
// is done even where this process had no processor while the time passed.
std::expected<void, Error> Worker::RunClosed(int64_t end_ns) {
  do {
    // What a warm-up has left is done first: its new items are counted on.
    if (next_ == prepared_ && !Prepare()) break;
    const size_t first = next_;
    const int64_t began_ns = now_ns_ = NowNs();
    do {
      const size_t count = std::min<size_t>(options_.window, prepared_ - next_);
      if (auto done = Do(next_, count); !done) return done;
      next_ += count;
    } while (next_ < prepared_ && now_ns_ < end_ns);
    busy_ns_ += now_ns_ - began_ns;
    CountSlice(now_ns_, next_ - first);
    Announce(first, next_ - first);
  } while (now_ns_ < end_ns && MayGoOn());
  return {};
}

// Client i of n begins at start + i/rate, and then every n/rate.
std::expected<void, Error> Worker::RunOpen(int64_t start_ns, int64_t end_ns) {
  const double step_ns = 1e9 * options_.clients / options_.rate;
  const double first_ns = 1e9 * index_ / options_.rate;
  uint64_t started = 0;
  const auto due = [&](uint64_t number) {
    return start_ns + static_cast<int64_t>(first_ns + step_ns * static_cast<double>(number));
  };
  while (MayGoOn()) {
    if (next_ == prepared_ && !Prepare()) break;
    if (due(started) >= end_ns) break;
    now_ns_ = AwaitNs(due(started));
    if (now_ns_ >= end_ns) break;
    size_t count = 0;
    while (count < options_.window && next_ + count < prepared_ &&
           due(started) <= std::min(now_ns_, end_ns - 1)) {
      due_ns_[next_ + count++] = due(started);
      result_.late_starts += due(++started) < now_ns_;
    }
    if (auto done = Do(next_, count); !done) return done;
    CountSlice(now_ns_, count);
    Announce(next_, count);
    next_ += count;
  }
  while (end_ns != kForEver && due(started) < end_ns) {
    ++result_.never_started;
    ++started;
  }
  return {};
}

std::expected<void, Error> Worker::Do(size_t first, size_t count) {
  if (count == 1) {
    DoOne(first);
  } else {
    GetTogether(first, count);
    PutTogether(first, count);
    IncrementTogether(first, count);
    for (size_t at = first; at < first + count; ++at) {
      const Kind kind = operations_[at].kind;
      if (kind != Kind::kGet && kind != Kind::kIncrement && !IsPut(kind)) DoOne(at);
    }
  }
  if (error_) return std::unexpected(*error_);
  return {};
}

void Worker::DoOne(size_t at) {
  const Operation& operation = operations_[at];
  const int64_t began_ns = now_ns_;
  switch (operation.kind) {
    case Kind::kGet:
      Get(operation);
      break;
    case Kind::kDelete: {
      const auto result = client_.Delete(operation.key);
      if (!result) TakeWrite(result.error());
      if (result && !*result) ++result_.refused;
      break;
    }
    case Kind::kIncrement:
      TakeNumber(client_.Increment(operation.key, 1));
      break;
    case Kind::kModify:
      Get(operation);
      Write(operation, 0);
      break;
    case Kind::kSwap: {
      const auto result = client_.Get(operation.key);
      const Version version = result && *result ? (*result)->version : 0;
      TakeGet(operation, result);
      if (version == 0) {
        ++result_.refused;
      } else {
        Write(operation, version);
      }
      break;
    }
    default:
      Write(operation, 0);
  }
  now_ns_ = NowNs();
  Count(at, began_ns);
}

void Worker::Get(const Operation& operation) { TakeGet(operation, client_.Get(operation.key)); }

void Worker::Write(const Operation& operation, Version version) {
  PutOptions options = PutOptionsOf(operation.kind);
  options.expected_version = version;
  const auto result = client_.Put(operation.key, operation.value, options);
  if (!result) TakeWrite(result.error());
}

void Worker::TakeGet(const Operation& operation, const Client::GetResult& result) {
  if (!result) {
    if (!error_) error_ = result.error();
  } else if (!*result) {
    ++result_.misses;
  } else {
    ++result_.hits;
    if (!source_.IsRight(operation, (*result)->value) && !error_) {
      error_ = Error{Code::kCorrupt,
                     fmt::format("the value of {} is not what was stored", operation.key)};
    }
  }
}

void Worker::TakeWrite(const Error& error) {
  if (IsRefusal(error.code)) {
    ++result_.refused;
  } else if (!error_) {
    error_ = error;
  }
}

void Worker::TakeNumber(const Client::IncrementResult& result) {
  if (!result) TakeWrite(result.error());
}

void Worker::GetTogether(size_t first, size_t count) {
  keys_.clear();
  places_.clear();
  for (size_t at = first; at < first + count; ++at) {
    if (operations_[at].kind != Kind::kGet) continue;
    keys_.push_back(operations_[at].key);
    places_.push_back(at);
  }
  if (keys_.empty()) return;
  const int64_t began_ns = now_ns_;
  client_.GetMany(keys_, [&](size_t i, const Client::GetResult& result) {
    TakeGet(operations_[places_[i]], result);
    now_ns_ = NowNs();
    Count(places_[i], began_ns);
  });
}

void Worker::PutTogether(size_t first, size_t count) {
  items_.clear();
  places_.clear();
  for (size_t at = first; at < first + count; ++at) {
    const Operation& operation = operations_[at];
    if (!IsPut(operation.kind)) continue;
    items_.push_back(
        {.key = operation.key, .value = operation.value, .options = PutOptionsOf(operation.kind)});
    places_.push_back(at);
  }
  if (items_.empty()) return;
  const int64_t began_ns = now_ns_;
  client_.PutMany(items_, [&](size_t i, const Client::PutResult& result) {
    if (!result) TakeWrite(result.error());
    now_ns_ = NowNs();
    Count(places_[i], began_ns);
  });
}

void Worker::IncrementTogether(size_t first, size_t count) {
  increments_.clear();
  places_.clear();
  for (size_t at = first; at < first + count; ++at) {
    if (operations_[at].kind != Kind::kIncrement) continue;
    increments_.push_back({.key = operations_[at].key});
    places_.push_back(at);
  }
  if (increments_.empty()) return;
  const int64_t began_ns = now_ns_;
  client_.IncrementMany(increments_, [&](size_t i, const Client::IncrementResult& result) {
    TakeNumber(result);
    now_ns_ = NowNs();
    Count(places_[i], began_ns);
  });
}

void Worker::Count(size_t at, int64_t began_ns) {
  const bool is_open = options_.rate > 0 && start_ns_ != 0;
  const int64_t since_ns = is_open ? due_ns_[at] : began_ns;
  result_.latencies[static_cast<size_t>(operations_[at].kind)].Count(
      static_cast<uint64_t>(std::max<int64_t>(0, now_ns_ - since_ns)));
}

void Worker::CountSlice(int64_t now_ns, size_t count) {
  if (slice_ns_ == 0) return;
  const auto slice = static_cast<size_t>((now_ns - start_ns_) / slice_ns_);
  result_.slices[std::min(slice, Result::kSlices - 1)] += count;
}

}  // namespace plov::bench
