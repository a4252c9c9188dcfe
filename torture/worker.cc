#include "torture/worker.h"

#include <poll.h>
#include <time.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>
#include <thread>
#include <utility>

#include "torture/clock_shift.h"
#include "torture/outcome.h"
#include "torture/pause.h"
#include "torture/value.h"

namespace plov::torture {

namespace {

using std::chrono::microseconds;

constexpr microseconds kRest{200};  // of a client that waits for the tool
constexpr microseconds kSpin{5};    // as the tool's own server
constexpr uint64_t kBatchesPerReport = 32;
constexpr uint64_t kBatchesPerPause = 64;
// A write without an answer costs the checker something for the rest of its history.
constexpr uint64_t kBatchesPerDeadline = 128;
constexpr uint64_t kBatchesPerExpiry = 16;
constexpr uint64_t kBatchesPerStanding = 512;
constexpr uint64_t kBatchesPerModify = 8;
// With --transactions.
constexpr uint64_t kBatchesPerTransactions = 2;
constexpr int kModificationsPerBatch = 4;
// What a call takes at least, and a good deal more; each process has one of them.
constexpr std::array kDeadlines = {microseconds(3), microseconds(10), microseconds(30),
                                   microseconds(100), microseconds(1000)};
constexpr size_t kInlineBytesMax = 96;  // of any item in a bucket of any size
constexpr size_t kBytesPerBatch = size_t{1} << 20;

// What a report takes from the client's own counters.
constexpr std::pair<Count, uint64_t ClientStats::*> kClientCounts[] = {
    {Count::kGets, &ClientStats::gets},
    {Count::kReads, &ClientStats::reads},
    {Count::kTornBuckets, &ClientStats::torn_buckets},
    {Count::kTornRecords, &ClientStats::torn_records},
    {Count::kConfirmations, &ClientStats::confirmations},
    {Count::kRestarts, &ClientStats::restarts},
    {Count::kFallbacks, &ClientStats::fallbacks},
    {Count::kKnownReads, &ClientStats::known_reads},
    {Count::kKnownMisses, &ClientStats::known_misses},
    {Count::kRefreshes, &ClientStats::refreshes},
    {Count::kReconnects, &ClientStats::reconnects},
    {Count::kRetries, &ClientStats::retries},
    {Count::kDeposed, &ClientStats::deposed_gets},
    {Count::kDeposedStale, &ClientStats::deposed_stale}};

PutOptions OptionsOf(const Operation& operation) {
  PutOptions options;
  if (operation.kind == Kind::kAdd) options.mode = PutMode::kAdd;
  if (operation.kind == Kind::kReplace) options.mode = PutMode::kReplace;
  options.expected_version = operation.expected;
  return options;
}

void Await(const Client& client) {
  const auto left = std::chrono::nanoseconds(client.next_poll()).count();
  if (left <= 0) return;
  const timespec timeout{.tv_sec = left / 1'000'000'000, .tv_nsec = left % 1'000'000'000};
  pollfd poll_fd{client.fd(), POLLIN, 0};
  ::ppoll(&poll_fd, 1, &timeout, nullptr);
}

}  // namespace

Worker::Worker(RunMemory* memory, size_t index, uint32_t process)
    : memory_(memory),
      ring_(memory->rings[index]),
      transaction_ring_(memory->transaction_rings[index]),
      report_(memory->reports[index]),
      choices_(memory->plan, process),
      process_(process),
      names_(kGetsPerBatch),
      keys_(kGetsPerBatch),
      values_(kGetsPerBatch),
      items_(kStoresPerBatch),
      buffer_(memory->plan.value_bytes_max) {}

void Worker::Work() {
  const Plan& plan = memory_->plan;
  const microseconds timeout(plan.timeout_us);
  client_ = Connect(timeout);
  // On a slow machine none of them is enough for a connection.
  if (plan.short_deadlines) short_deadline_ = Connect(kDeadlines[process_ % kDeadlines.size()], 2);
  if (plan.shifted_clocks) expiries_.emplace(plan, process_);
  if (plan.standing_items) standing_.emplace(plan.run);
  if (plan.modifies) modified_.emplace(plan, process_, &memory_->modified);
  if (plan.transactions) transactions_.emplace(plan, process_, &transaction_ring_, &report_);
  if (!client_) return;
  report_.connected.store(true, std::memory_order_release);
  while (AwaitRun() && AwaitRoom()) {
    keys_open_ = memory_->keys_open.load(std::memory_order_relaxed);
    if (plan.pauses && choices_.OneIn(kBatchesPerPause)) {
      PauseInGet();
    } else if (short_deadline_ && choices_.OneIn(kBatchesPerDeadline)) {
      WorkToDeadline();
    } else if (expiries_ && choices_.OneIn(kBatchesPerExpiry)) {
      if (auto wrong = expiries_->Step(&*client_, history_)) Lie(std::move(*wrong));
    } else if (standing_ && choices_.OneIn(kBatchesPerStanding)) {
      GetStanding();
    } else if (modified_ && choices_.OneIn(kBatchesPerModify)) {
      Modify();
    } else if (transactions_ && choices_.OneIn(kBatchesPerTransactions)) {
      Transact();
    } else {
      RunBatch(choices_.DrawForm());
    }
    ring_.Finish(Now());
    transaction_ring_.Rest(Now());
    if (++batches_ % kBatchesPerReport == 0) Report();
  }
  Report();
}

// A server that is being started again is waited for.
std::optional<Client> Worker::Connect(microseconds timeout, int growth) {
  ClientOptions options;
  options.timeout = timeout;
  options.window = kGetsPerBatch;
  options.spin = kSpin;
  if (memory_->plan.max_age_us > 0) {
    options.read_from = ReadFrom::kAnyReplica;
    options.max_age = microseconds(memory_->plan.max_age_us);
  }
  while (!stopped()) {
    if (auto client = Client::Connect(memory_->plan.uri.data(), options)) {
      return std::move(*client);
    }
    options.timeout *= growth;
    IsParked();
    Rest();
  }
  return std::nullopt;
}

bool Worker::AwaitRoom() {
  constexpr size_t kRecordsPerBatch = kTransactionsPerBatch * Transactions::kRecordsPerStep;
  while (!ring_.HasRoom(kGetsPerBatch) || !transaction_ring_.HasRoom(kRecordsPerBatch)) {
    if (stopped()) return false;
    Rest();
  }
  return !stopped();
}

// Whether the barrier is closed; says at which of its numbers this client has seen that, with nothing
// under way.
bool Worker::IsParked() {
  const uint64_t barrier = memory_->barrier.load(std::memory_order_acquire);
  if (barrier % 2 == 0) return false;
  report_.parked_at.store(barrier, std::memory_order_release);
  return true;
}

bool Worker::AwaitRun() {
  while (IsParked() && !stopped()) {
    if (standing_) GetStanding();
    Rest();
  }
  const uint32_t history = memory_->history.load(std::memory_order_relaxed);
  const uint32_t life = memory_->life.load(std::memory_order_relaxed);
  if (history != history_ || life != life_) choices_.Forget();
  if (life != life_ && expiries_ && memory_->plan.loses_answered) expiries_->Forget();
  history_ = history;
  life_ = life;
  return !stopped();
}

void Worker::Rest() {
  ring_.Rest(Now());
  transaction_ring_.Rest(Now());
  std::this_thread::sleep_for(kRest);
}

void Worker::RunBatch(Form form) {
  switch (form) {
    case Form::kGetMany:
      return GetMany();
    case Form::kPutMany:
      return PutMany();
    case Form::kAsync:
      return Async();
    case Form::kSingle:
      return Single();
    case Form::kGetInto:
      return GetInto();
  }
}

void Worker::Name(size_t index) {
  names_[index] = KeyName(memory_->plan.run, history_, ring_.Next(index).key);
  keys_[index] = names_[index].view();
}

// Returns the bytes of its value.
size_t Worker::Fill(size_t index) {
  Name(index);
  const Operation& operation = ring_.Next(index);
  if (!IsStore(operation.kind)) return 0;
  values_[index].resize(choices_.DrawValueBytes(operation.key));
  WriteValue(operation.value, SealedKey(history_, operation.key), values_[index]);
  return values_[index].size();
}

void Worker::Issue(size_t count) {
  const Instant now = Now();
  for (size_t i = 0; i < count; ++i) ring_.Next(i).start = now;
  ring_.Issue(count);
}

void Worker::GetMany() {
  for (size_t i = 0; i < kGetsPerBatch; ++i) {
    choices_.DrawGet(keys_open_, &ring_.Next(i));
    Name(i);
  }
  Issue(kGetsPerBatch);
  client_->GetMany(
      keys_, [this](size_t i, const Client::GetResult& result) { OnGet(result, &ring_.Next(i)); });
}

void Worker::PutMany() {
  size_t count = 0;
  for (size_t bytes = 0; count < kStoresPerBatch && bytes < kBytesPerBatch; ++count) {
    choices_.DrawStore(keys_open_, &ring_.Next(count));
    bytes += Fill(count);
    items_[count] = {keys_[count], values_[count], OptionsOf(ring_.Next(count))};
  }
  Issue(count);
  client_->PutMany(std::span(items_).first(count),
                   [this](size_t i, const Client::PutResult& result) { OnWrite(result, i); });
}

void Worker::Async() {
  size_t count = 0;
  for (size_t bytes = 0; count < kAsyncPerBatch && bytes < kBytesPerBatch; ++count) {
    choices_.DrawAny(keys_open_, &ring_.Next(count));
    bytes += Fill(count);
  }
  Issue(count);
  size_t left = count;
  for (size_t i = 0; i < count; ++i) Start(i, &left);
  client_->Poll();
  while (left > 0) {
    Await(*client_);
    client_->Poll();
  }
}

void Worker::Start(size_t index, size_t* left) {
  Operation* operation = &ring_.Next(index);
  if (operation->kind == Kind::kGet) {
    client_->StartGet(keys_[index], [=, this](const Client::GetResult& result) {
      OnGet(result, operation);
      --*left;
    });
  } else if (IsStore(operation->kind)) {
    client_->StartPut(keys_[index], values_[index], OptionsOf(*operation),
                      [=, this](const Client::PutResult& result) {
                        OnWrite(result, index);
                        --*left;
                      });
  } else {
    client_->StartDelete(keys_[index], operation->expected,
                         [=, this](const Client::DeleteResult& result) {
                           OnWrite(result, index);
                           --*left;
                         });
  }
}

void Worker::Single() {
  Operation* operation = &ring_.Next(0);
  choices_.DrawAny(keys_open_, operation);
  Fill(0);
  Issue(1);
  if (operation->kind == Kind::kGet) return OnGet(Get(false), operation);
  if (IsStore(operation->kind)) {
    OnWrite(client_->Put(keys_[0], values_[0], OptionsOf(*operation)), 0);
  } else {
    OnWrite(client_->Delete(keys_[0], operation->expected), 0);
  }
}

// Whether the tool waits for this client: it bears one call without an answer, not many in a row.
bool Worker::IsAwaited() const {
  return stopped() || memory_->barrier.load(std::memory_order_relaxed) % 2 == 1;
}

// Each is an operation by itself: the shortest intervals there are. Hot, since a record that is
// copied straight into the buffer is torn only if its key is written meanwhile.
void Worker::GetInto() {
  for (size_t i = 0; i < kGetIntosPerBatch && !IsAwaited(); ++i) {
    choices_.DrawHotGet(&ring_.Next(0));
    Name(0);
    Issue(1);
    OnGet(Get(true), &ring_.Next(0));
    ring_.Finish(Now());
  }
}

void Worker::Transact() {
  for (size_t i = 0; i < kTransactionsPerBatch && !IsAwaited(); ++i) {
    const auto writes = Transactions::Writes::kPutsAndDeletes;
    if (auto wrong = transactions_->Step(&*client_, history_, writes)) Lie(std::move(*wrong));
  }
}

void Worker::PauseInSnapshot() {
  Pause pause;
  for (size_t i = 0; i < kTransactionsPerBatch && !pause.has_rested() && !IsAwaited(); ++i) {
    auto wrong = pause.In([&] { return transactions_->Snapshot(&*client_, history_); });
    if (wrong) Lie(std::move(*wrong));
  }
  if (!pause.has_rested()) return;
  report_.counts[IndexOf(Count::kPauses)].fetch_add(1, std::memory_order_relaxed);
}

// GETs until one of them has rested.
void Worker::PauseInGet() {
  if (transactions_ && choices_.OneIn(2)) return PauseInSnapshot();
  Pause pause;
  for (size_t i = 0; i < kGetsPerBatch && !pause.has_rested() && !IsAwaited(); ++i) {
    choices_.DrawHotGet(&ring_.Next(0));
    Name(0);
    Issue(1);
    OnGet(pause.In([&] { return Get(i % 2 == 0); }), &ring_.Next(0));
    ring_.Finish(Now());
  }
  if (!pause.has_rested()) return;
  report_.counts[IndexOf(Count::kPauses)].fetch_add(1, std::memory_order_relaxed);
}

// One call that may well not end in time: what it wrote may come late.
void Worker::WorkToDeadline() {
  std::swap(client_, short_deadline_);
  if (transactions_ && choices_.OneIn(2)) {
    const auto writes = Transactions::Writes::kPuts;
    if (auto wrong = transactions_->Step(&*client_, history_, writes)) Lie(std::move(*wrong));
  } else {
    Single();
  }
  std::swap(client_, short_deadline_);
  report_.counts[IndexOf(Count::kDeadlines)].fetch_add(1, std::memory_order_relaxed);
}

void Worker::GetStanding() {
  if (auto wrong = standing_->Get(&*client_)) Lie(std::move(*wrong));
}

void Worker::Modify() {
  for (int i = 0; i < kModificationsPerBatch && !IsAwaited(); ++i) {
    if (auto wrong = modified_->Step(&*client_, history_)) Lie(std::move(*wrong));
  }
}

Client::GetResult Worker::Get(bool into) {
  return into ? client_->GetInto(keys_[0], buffer_) : client_->Get(keys_[0]);
}

void Worker::OnGet(const Client::GetResult& result, Operation* operation) {
  operation->end = Now();
  if (!result) {
    operation->outcome = OutcomeOf(result.error().code);
    return CountError(result.error().code);
  }
  if (!*result) {
    operation->outcome = Outcome::kAbsent;
    return;
  }
  const auto value = ReadValue((*result)->value, SealedKey(history_, operation->key));
  if (!value) {
    // Of what it returned nothing can be checked; the lie itself is told.
    operation->outcome = Outcome::kUnknown;
    return Lie("a GET returned bytes that no PUT wrote: key " + std::to_string(operation->key) +
               ", version " + std::to_string((*result)->version) + ": " + value.error());
  }
  operation->outcome = Outcome::kOk;
  operation->value = *value;
  operation->version = (*result)->version;
  choices_.Learn(*operation);
}

// The first is told.
void Worker::Lie(std::string text) {
  if (report_.is_lie.load(std::memory_order_relaxed)) return;
  SetText(text, report_.lie);
  report_.is_lie.store(true, std::memory_order_release);
}

template <typename Result>
void Worker::OnWrite(const Result& result, size_t index) {
  Operation* operation = &ring_.Next(index);
  operation->end = Now();
  Note(result, operation);
  if (!result) return CountError(result.error().code);
  const size_t bytes = IsStore(operation->kind) ? values_[index].size() : 0;
  if (bytes > kInlineBytesMax) {
    report_.counts[IndexOf(Count::kRecordBytes)].fetch_add(bytes, std::memory_order_relaxed);
  }
  choices_.Learn(*operation);
}

void Worker::CountError(Code code) {
  report_.counts[IndexOf(code)].fetch_add(1, std::memory_order_relaxed);
}

void Worker::Report() {
  const ClientStats stats = client_->stats();
  for (const auto& [count, member] : kClientCounts) {
    report_.counts[IndexOf(count)].store(stats.*member, std::memory_order_relaxed);
  }
  if (modified_) {
    report_.counts[IndexOf(Count::kModified)].store(modified_->judged(), std::memory_order_relaxed);
  }
  if (!expiries_) return;
  report_.counts[IndexOf(Count::kExpiries)].store(expiries_->judged(), std::memory_order_relaxed);
}

int RunWorker(int argc, char** argv) {
  std::array<uint32_t, 3> numbers{};  // descriptor, client, process
  if (argc != 2 + static_cast<int>(numbers.size())) return 2;
  for (size_t i = 0; i < numbers.size(); ++i) {
    const std::string_view text = argv[2 + i];
    const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), numbers[i]);
    if (failure != std::errc() || end != text.data() + text.size()) return 2;
  }
  const auto mapping = RunMapping::Open(static_cast<int>(numbers[0]));
  if (!mapping || numbers[1] >= kClientsMax) return 2;
  if (mapping->memory()->plan.shifted_clocks) {
    if (!ShiftClock(ShiftOfClient(numbers[1]))) return 2;
  }
  Worker(mapping->memory(), numbers[1], numbers[2]).Work();
  return 0;
}

}  // namespace plov::torture
