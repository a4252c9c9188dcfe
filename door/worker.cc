#include "door/worker.h"

#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <numeric>
#include <utility>

namespace plov::door {

namespace {

constexpr size_t kInputChunk = size_t{256} << 10;
// Chunks that stay between turns.
constexpr size_t kChunksKept = 4;
constexpr size_t kBuffersKept = 64;
constexpr size_t kBufferKept = size_t{64} << 10;
// GETs that are worth a GetMany, which fetches lines of memory ahead.
constexpr size_t kManyFrom = 4;
// What does not fit into a client's output is made in vain, so no more than this.
constexpr size_t kManyAtOnce = 64;
// libplov wants Poll no later than next_poll(); an idle one names hours.
constexpr std::chrono::microseconds kSleepMax = std::chrono::minutes(1);

int64_t NowUs(clockid_t clock) {
  timespec now{};
  ::clock_gettime(clock, &now);
  return now.tv_sec * 1'000'000 + now.tv_nsec / 1000;
}

int64_t NowNs() { return std::chrono::steady_clock::now().time_since_epoch().count(); }

timeval TimevalOf(std::chrono::microseconds time) {
  return {.tv_sec = time.count() / 1'000'000, .tv_usec = time.count() % 1'000'000};
}

}  // namespace

std::expected<std::unique_ptr<Worker>, Error> Worker::Create(const std::string& server,
                                                             const ClientOptions& options,
                                                             Limits limits) {
  auto client = Client::Connect(server, options);
  if (!client) return std::unexpected(client.error());
  event_base* base = event_base_new();
  if (base == nullptr) return Fail(Code::kSystem, "cannot create an event loop");
  fabric::Fd wake(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  fabric::Fd mail(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!wake || !mail) {
    event_base_free(base);
    return FailErrno("cannot create an eventfd", errno);
  }
  return std::unique_ptr<Worker>(new Worker(std::move(*client), limits, base, std::move(wake),
                                            std::make_shared<Mailbox>(std::move(mail))));
}

Worker::Worker(Client client, Limits limits, event_base* base, fabric::Fd wake,
               SharedMailbox mailbox)
    : base_(base),
      client_(std::move(client)),
      limits_(limits),
      wake_(std::move(wake)),
      mailbox_(std::move(mailbox)),
      server_ahead_us_(NowUs(CLOCK_REALTIME) - NowUs(CLOCK_BOOTTIME)) {
  event_assign(
      &woken_, base, wake_.get(), EV_READ | EV_PERSIST,
      [](evutil_socket_t, short, void* self) { static_cast<Worker*>(self)->TakeArrivals(); }, this);
  event_assign(
      &mail_came_, base, mailbox_->fd(), EV_READ | EV_PERSIST,
      [](evutil_socket_t, short, void* self) { static_cast<Worker*>(self)->mailbox_->RunAll(); },
      this);
  // Poll comes with every turn.
  event_assign(
      &client_moved_, base, client_.fd(), EV_READ | EV_PERSIST,
      [](evutil_socket_t, short, void*) {}, nullptr);
  event_assign(
      &timer_, base, -1, 0, [](evutil_socket_t, short, void*) {}, nullptr);
  event_add(&woken_, nullptr);
  event_add(&mail_came_, nullptr);
  event_add(&client_moved_, nullptr);
}

Worker::~Worker() {
  if (thread_.joinable()) thread_.join();
  event_del(&timer_);
  event_del(&client_moved_);
  event_del(&mail_came_);
  event_del(&woken_);
}

void Worker::Begin() {
  thread_ = std::thread([this] { Run(); });
}

void Worker::Add(fabric::Fd fd, const ProtocolFactory* factory) {
  {
    const std::lock_guard lock(mutex_);
    arrivals_.push_back({std::move(fd), factory});
  }
  ::eventfd_write(wake_.get(), 1);
}

void Worker::Stop(std::chrono::milliseconds longest) {
  stop_at_ns_.store(NowNs() + std::chrono::nanoseconds(longest).count(), std::memory_order_release);
  ::eventfd_write(wake_.get(), 1);
}

void Worker::TakeArrivals() {
  eventfd_t count = 0;
  ::eventfd_read(wake_.get(), &count);
  std::vector<Arrival> arrivals;
  {
    const std::lock_guard lock(mutex_);
    arrivals.swap(arrivals_);
  }
  for (Arrival& arrival : arrivals) {
    auto connection = std::make_unique<Connection>(this, std::move(arrival.fd), *arrival.factory);
    connections_.insert(connection.release());
    counters_.Add(Count::kConnections);
    counters_.Add(Count::kConnectionsEver);
  }
}

void Worker::Touch(Connection* connection) {
  if (connection->is_touched) return;
  connection->is_touched = true;
  touched_.push_back(connection);
}

int64_t Worker::ServerUs(std::string_view key) {
  const int64_t now_us = NowUs(CLOCK_BOOTTIME);
  if (const auto time = client_.Time(key)) {
    server_ahead_us_ =
        static_cast<int64_t>(std::midpoint(time->earliest_us, time->latest_us)) - now_us;
  }
  return now_us + server_ahead_us_;
}

std::span<char> Worker::InputMemory() {
  if (!input_chunks_.empty() && input_used_ + kInputAtOnce > kInputChunk) {
    ++input_chunk_;
    input_used_ = 0;
  }
  if (input_chunk_ == input_chunks_.size()) {
    input_chunks_.push_back(std::make_unique_for_overwrite<char[]>(kInputChunk));
  }
  return {input_chunks_[input_chunk_].get() + input_used_, kInputAtOnce};
}

std::string Worker::TakeBuffer() {
  if (buffers_.empty()) return {};
  std::string buffer = std::move(buffers_.back());
  buffers_.pop_back();
  return buffer;
}

void Worker::GiveBuffer(std::string* buffer) {
  std::string empty;
  buffer->swap(empty);
  if (empty.capacity() > kBufferKept || buffers_.size() >= kBuffersKept) return;
  buffers_.push_back(std::move(empty));
}

void Worker::WaitForEvents() {
  const auto sleep = goes_on_ ? std::chrono::microseconds(0) : client_.next_poll();
  if (sleep.count() == 0) {
    // EVLOOP_NONBLOCK alone goes round as long as there are events.
    event_base_loop(base_.get(), EVLOOP_ONCE | EVLOOP_NONBLOCK);
    return;
  }
  auto longest = std::min(sleep, kSleepMax);
  if (is_stopping_)
    longest = std::min<std::chrono::microseconds>(longest, std::chrono::milliseconds(10));
  const timeval time = TimevalOf(longest);
  event_add(&timer_, &time);
  event_base_loop(base_.get(), EVLOOP_ONCE);
}

void Worker::Run() {
  while (!is_over()) {
    WaitForEvents();
    EndInput();
    Turn();
    EndTurn();
  }
  // What is under way ends with an error, and what that would begin ends at once.
  { const Client last(std::move(client_)); }
  for (Connection* connection : connections_) Free(connection);
  connections_.clear();
}

void Worker::Free(Connection* connection) {
  counters_.Subtract(Count::kConnections);
  limits_.admission->Leave();
  delete connection;
}

// The door closes: what was taken is answered, and no more is taken.
void Worker::EndInput() {
  if (is_stopping_ || stop_at_ns_.load(std::memory_order_acquire) == 0) return;
  is_stopping_ = true;
  for (Connection* connection : connections_) {
    connection->Close();
    Touch(connection);
  }
}

bool Worker::is_over() const {
  if (!is_stopping_) return false;
  const bool is_late = NowNs() > stop_at_ns_.load(std::memory_order_acquire);
  return connections_.empty() || is_late;
}

// Until nothing moves: what libplov can end at once is ended, and what waited for it as well.
void Worker::Turn() {
  do {
    has_progressed_ = false;
    // Those that are touched meanwhile are at the end.
    for (size_t i = 0; i < touched_.size(); ++i) touched_[i]->Work();
    RunReads();
    client_left_ = client_.Poll();
  } while (has_progressed_ || !reads_.empty());
}

void Worker::RunReads() {
  if (reads_.empty()) return;
  batch_.swap(reads_);
  // GetMany waits for writes of its keys, and for a server that is away: not where others would wait with it.
  const bool waits_for_nobody = client_left_ == 0 && batch_.size() >= kManyFrom;
  if (waits_for_nobody && ReadOne(batch_.front())) {
    ReadMany(std::span(batch_).subspan(1));
  } else if (waits_for_nobody) {
    for (Request* request : batch_) StartRead(request);
  } else {
    for (Request* request : batch_) {
      if (!ReadOne(request)) StartRead(request);
    }
  }
  batch_.clear();
}

// Whether it has ended, or has to be made later.
bool Worker::ReadOne(Request* request) {
  Connection* connection = request->connection();
  if (connection->Defers(request)) {
    connection->Postpone(request);
    return true;
  }
  const auto result = client_.TryGet(request->key());
  if (!result) return false;
  connection->TakeItem(request, *result);
  return true;
}

void Worker::ReadMany(std::span<Request* const> batch) {
  for (; batch.size() > kManyAtOnce; batch = batch.subspan(kManyAtOnce)) {
    ReadMany(batch.first(kManyAtOnce));
  }
  keys_.clear();
  for (const Request* request : batch) keys_.push_back(request->key());
  client_.GetMany(std::span<const std::string_view>(keys_),
                  [&](size_t i, const Client::GetResult& result) {
                    Connection* connection = batch[i]->connection();
                    if (connection->Defers(batch[i])) return connection->Postpone(batch[i]);
                    connection->TakeItem(batch[i], result);
                  });
}

void Worker::StartRead(Request* request) {
  request->Keep();
  ++client_left_;
  client_.StartGet(request->key(), [request](const Client::GetResult& result) {
    request->connection()->TakeItem(request, result);
  });
}

void Worker::EndTurn() {
  goes_on_ = false;
  std::vector<Connection*> go_on;
  for (Connection* connection : std::exchange(touched_, {})) {
    connection->is_touched = false;
    switch (connection->EndTurn()) {
      case Connection::Next::kWaits:
        break;
      case Connection::Next::kGoesOn:
        Touch(connection);
        goes_on_ = true;
        break;
      case Connection::Next::kIsOver:
        connections_.erase(connection);
        Free(connection);
        break;
    }
  }
  input_chunk_ = 0;
  input_used_ = 0;
  if (input_chunks_.size() > kChunksKept) input_chunks_.resize(kChunksKept);
}

}  // namespace plov::door
