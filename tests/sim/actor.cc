// Actor: its life, and what becomes of its operations.

#include "tests/sim/actor.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <chrono>

#include "torture/value.h"

namespace plov::sim {

using torture::Outcome;

namespace {

constexpr auto kTimeoutOfAudit = std::chrono::seconds(2);
constexpr auto kTimeoutMax = std::chrono::hours(1);
constexpr char kGone = '?';  // what is in a value once nobody may look at it
constexpr std::byte kPoison{0xa5};

bool DiskFails(const Scenario& scenario) { return scenario.log && scenario.log->fault_one_in != 0; }

}  // namespace

Actor::Actor(Stage* stage, uint32_t process)
    : stage_(stage),
      process_(process),
      clock_(HostClock::Draw(stage->random)),
      timeout_(stage->scenario->timeout_us),
      last_version_(stage->key_count()),
      stores_(stage->key_count()),
      fiber_([this] { Live(); }) {
  for (uint32_t i = 0; i < stage->scenario->in_flight; ++i) {
    attempts_.push_back(std::make_unique<Attempt>());
  }
  if (stage->modified) modified_.emplace(stage->plan, process, stage->modified.get());
}

Actor::~Actor() {
  Leave();
  while (!has_left()) {
    stage_->host->Pass(static_cast<uint64_t>(timeout_.count()));
    Step();
  }
}

void Actor::Step() {
  if (has_left()) return;
  const OnHost here(&clock_);
  stage_->running = this;
  fiber_.Resume();
  stage_->running = nullptr;
}

void Actor::Live() {
  while (!is_leaving_) {
    if (!client_) {
      Connect();
    } else {
      if (stage_->random->OneIn(2)) BeginSome();
      if (!is_leaving_) client_->Poll();
    }
    Fiber::Rest();
  }
  is_dying_ = true;
  assigned_ = 0;
  if (client_) stats_ = client_->stats();
  client_.reset();
  CheckBuffer();
}

// Who has little time gets more of it after a failure, or would never be connected: also where time
// leaps by more than a deadline at a time, and the server has all those to look at who gave up.
void Actor::Connect() {
  ClientOptions options;
  options.timeout = timeout_;
  options.location_cache_bytes = stage_->scenario->cache_bytes;
  options.window = stage_->scenario->window;
  auto client = Client::Connect("sim:", options);
  if (client) {
    client_.emplace(std::move(*client));
  } else {
    timeout_ = std::min<std::chrono::microseconds>(timeout_ * 2, kTimeoutMax);
  }
}

void Actor::Audit() {
  is_audit_ = true;
  timeout_ = kTimeoutOfAudit;
  assigned_ = stage_->key_count();
}

LifeSet Actor::LivesSince(size_t connections) const {
  LifeSet lives = 0;
  for (size_t i = std::max<size_t>(connections, 1) - 1; i < connected_to_.size(); ++i) {
    lives |= LifeSet{1} << connected_to_[i];
  }
  return lives;
}

void Actor::OnGet(Attempt* attempt, Client::GetResult result) {
  if (!result) return OnError(attempt, result.error());
  if (*result) return OnItem(attempt, **result);
  const torture::Operation& operation = attempt->operation;
  if (operation.key >= stage_->first_steady_key) {
    stage_->checker->Accuse(fmt::format("a GET of key {} at {} found none, and it was there always",
                                        operation.key, operation.start));
  }
  End(attempt, Outcome::kAbsent);
}

// Stored before a flush began that had ended before a GET.
bool Actor::IsFlushed(torture::ValueId value, torture::Instant found) const {
  const auto stored = stage_->stored_at.find(value);
  if (stored == stage_->stored_at.end()) return false;
  return std::ranges::any_of(stage_->flushes, [&](const Stage::Flushed& flush) {
    return stored->second < flush.start && flush.end < found;
  });
}

void Actor::OnItem(Attempt* attempt, const Item& item, Outcome outcome) {
  torture::Operation& operation = attempt->operation;
  const auto writer = torture::ReadValue(item.value, operation.key);
  if (!writer) {
    stage_->checker->Accuse(
        fmt::format("a GET of key {} came to bytes that nobody wrote for it: {}", operation.key,
                    writer.error()));
  }
  if (item.expiry != 0 && stage_->checker->UnixUsOf(item.version, attempt->started_us) >=
                              uint64_t{item.expiry} * 1'000'000) {
    stage_->checker->Accuse(
        fmt::format("a GET of key {} came to an item that had expired at {} s by its server's clock"
                    ", before it started at {} us",
                    operation.key, item.expiry, attempt->started_us));
  }
  if (writer && IsFlushed(*writer, operation.start)) {
    stage_->checker->Accuse(fmt::format("a GET of key {} at {} found what a flush had deleted",
                                        operation.key, operation.start));
  }
  operation.value = writer.value_or(torture::kForeign);
  operation.version = last_version_[operation.key] = item.version;
  End(attempt, outcome);
  stage_->commits.Saw(operation.key, operation.value, operation.version, operation.start,
                      operation.end);
}

void Actor::OnWrite(Attempt* attempt, Client::PutResult result) {
  torture::Operation& operation = attempt->operation;
  if (result) {
    operation.version = last_version_[operation.key] = *result;
    const torture::ValueId value = operation.value;
    End(attempt, Outcome::kOk);
    stage_->stored_at[value] = stage_->instant;
    return;
  }
  switch (result.error().code) {
    case Code::kExists:
      return End(attempt, Outcome::kExists);
    case Code::kNotFound:
      return End(attempt, Outcome::kAbsent);
    case Code::kVersionMismatch:
      return End(attempt, Outcome::kMismatch);
    case Code::kNoSpace:
      return End(attempt, Outcome::kRefused);
    default:
      return OnError(attempt, result.error());
  }
}

void Actor::OnDelete(Attempt* attempt, Client::DeleteResult result) {
  if (result) return End(attempt, *result ? Outcome::kOk : Outcome::kAbsent);
  if (result.error().code == Code::kVersionMismatch) return End(attempt, Outcome::kMismatch);
  OnError(attempt, result.error());
}

bool Actor::IsExcused(const Attempt& attempt, const Error& error) const {
  const bool stores = torture::IsStore(attempt.operation.kind);
  const bool writes = attempt.operation.kind != torture::Kind::kGet;
  switch (error.code) {
    case Code::kUnknown:
      if (stage_->scenario->log) return MayBeForgotten(attempt);
      return is_dying_ || stage_->in_trouble;
    case Code::kTimeout:
    case Code::kUnavailable:
      return is_dying_ || stage_->in_trouble;
    case Code::kNoSpace:
      return writes && DiskFails(*stage_->scenario);
    case Code::kTooLarge:
    case Code::kSystem:
      if (writes && error.code == Code::kSystem && DiskFails(*stage_->scenario)) return true;
      return stores && stage_->scenario->limits_differ;
    case Code::kBufferTooSmall:
      return attempt.operation.kind == torture::Kind::kGet && !buffer_.empty();
    default:
      return false;
  }
}

void Actor::OnError(Attempt* attempt, const Error& error) {
  if (!IsExcused(*attempt, error)) {
    stage_->checker->Accuse(
        fmt::format("a {} of key {} ended with {}: {}", torture::KindName(attempt->operation.kind),
                    attempt->operation.key, CodeName(error.code), error.message));
  }
  // A write that was not sent is refused; whether it was, an actor that dies does not know.
  const bool is_refused = (error.code == Code::kUnavailable && !is_dying_) ||
                          error.code == Code::kTooLarge || error.code == Code::kSystem ||
                          error.code == Code::kNoSpace;
  End(attempt, is_refused ? Outcome::kRefused : Outcome::kUnknown);
}

void Actor::End(Attempt* attempt, Outcome outcome) {
  torture::Operation& operation = attempt->operation;
  operation.end = ++stage_->instant;
  operation.outcome = outcome;
  attempt->is_free = true;
  --under_way_;
  std::ranges::fill(attempt->key, kGone);
  std::ranges::fill(attempt->value, kGone);
  if (attempt->ttl_seconds != 0) SettleExpiry(*attempt, outcome);
  if (operation.kind != torture::Kind::kGet) {
    met_restart_ = met_restart_ || stage_->restarts > attempt->restarts;
    may_be_answered_ = may_be_answered_ || outcome == Outcome::kUnknown;
    operation.end = std::min(operation.end, MustPrecede(*attempt));
  }
  if (MayTakeEffectLate(*attempt, outcome)) {
    operation.kind = torture::Kind::kPut;
    operation.expected = 0;
  }
  stage_->checker->Feed(operation, LivesSince(attempt->connections));
}

// The corner of plov.7, EXPIRY: whether the item that the condition was true of can have expired
// before the write took effect, so that it did as if there were no condition.
bool Actor::MayTakeEffectLate(const Attempt& attempt, Outcome outcome) const {
  const torture::Operation& operation = attempt.operation;
  if (operation.kind != torture::Kind::kReplace && operation.kind != torture::Kind::kPutIf) {
    return false;
  }
  const bool is_over = outcome != Outcome::kUnknown;
  if (is_over && outcome != Outcome::kOk) return false;
  return std::ranges::any_of(stage_->expiry_spans, [&](const auto& span) {
    const auto& [key, from_us, until_us] = span.second;
    return key == operation.key && until_us >= attempt.started_us &&
           (!is_over || from_us <= stage_->host->now_us());
  });
}

void Actor::SettleExpiry(const Attempt& attempt, Outcome outcome) {
  if (outcome == Outcome::kOk && attempt.until == 0) {
    // Rounded up, by a clock that may be slower than time is.
    const uint64_t ttl_us = (attempt.ttl_seconds + 1) * 1'000'000;
    stage_->expiry_spans[attempt.operation.value].until_us =
        stage_->host->now_us() + ttl_us + ttl_us / 1000;
  }
  const auto it = stage_->expiries.find(attempt.operation.value);
  if (it == stage_->expiries.end()) return;
  if (outcome != Outcome::kOk && outcome != Outcome::kUnknown) {
    stage_->expiries.erase(it);
    return;
  }
  it->second.is_settled = true;
  it->second.version = attempt.operation.version;
  it->second.lives = LivesSince(attempt.connections);
  if (std::popcount(it->second.lives) == 1) SharpenExpiry(attempt, &it->second);
}

// By the clock of the life that stored it, which rounds up: from the first second of that on that it
// can have come to.
void Actor::SharpenExpiry(const Attempt& attempt, Stage::Expiry* expiry) {
  const auto life = static_cast<uint32_t>(std::countr_zero(expiry->lives));
  const auto unix_us = [&](uint64_t time_us) { return stage_->checker->UnixUsIn(life, time_us); };
  const uint64_t begun_us = unix_us(attempt.started_us);
  const uint64_t end_us =
      (attempt.until != 0 ? attempt.until
                          : (begun_us + 999'999) / 1'000'000 + attempt.ttl_seconds) *
      1'000'000;
  uint64_t at_us = attempt.started_us + (end_us > begun_us ? end_us - begun_us : 0);
  while (at_us > attempt.started_us && unix_us(at_us) >= end_us)
    at_us -= unix_us(at_us) - end_us + 1;
  while (unix_us(at_us) < end_us) ++at_us;
  expiry->at_us = std::max(expiry->at_us, at_us);
  if (expiry->at_us > stage_->host->now_us()) expiry->passed = 0;
}

// Nobody writes there once a call has returned.
void Actor::PoisonBuffer() { std::ranges::fill(buffer_, kPoison); }

void Actor::CheckBuffer() {
  if (std::ranges::any_of(buffer_, [](std::byte byte) { return byte != kPoison; })) {
    stage_->checker->Accuse("the buffer of a GetInto was written after the call had returned");
  }
}

std::string Actor::Pending() const {
  std::string text;
  for (const auto& attempt : attempts_) {
    if (attempt->is_free) continue;
    text += fmt::format(" p{} {} of key {} since {}", process_,
                        torture::KindName(attempt->operation.kind), attempt->operation.key,
                        attempt->operation.start);
  }
  return text;
}

}  // namespace plov::sim
