// Actor: what it calls.

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>

#include "tests/sim/actor.h"
#include "tests/sim/forger.h"
#include "torture/value.h"

namespace plov::sim {

using torture::Kind;
using torture::Outcome;

namespace {

constexpr uint32_t kValueBytesInline = 24;
// A scan does not look twice: it may meet an item for so long after its end.
constexpr uint64_t kScanClockErrorUs = 10'000'000;
// Of a run: each is a DELETE of every key that nobody knows whether it took effect.
constexpr uint32_t kFlushesMax = 2;

}  // namespace

void Actor::BeginSome() {
  const auto& log = stage_->scenario->log;
  for (uint32_t left = log ? log->begun_at_once : 1; left > 0; --left) Begin();
}

void Actor::Begin() {
  if (assigned_ == 0) return;
  const auto& log = stage_->scenario->log;
  if (log && log->sync_one_in != 0 && stage_->random->OneIn(log->sync_one_in)) return CallSync();
  if (modified_ && !is_audit_ && stage_->random->Below(100) < stage_->scenario->modify_percent) {
    return CallModified();
  }
  const bool may_flush =
      stage_->scenario->flush_one_in != 0 && !is_audit_ && stage_->flushes_begun < kFlushesMax;
  if (may_flush && stage_->random->OneIn(stage_->scenario->flush_one_in)) return CallFlush();
  if (is_audit_ || stage_->random->Below(100) >= stage_->scenario->blocking_percent) {
    BeginStarted();
  } else {
    Call();
  }
}

// The asynchronous form.
void Actor::BeginStarted() {
  Attempt* attempt = Take();
  if (attempt == nullptr) return;
  Draw(attempt, std::nullopt);
  const torture::Operation& operation = attempt->operation;
  if (operation.kind == Kind::kGet) {
    return client_->StartGet(attempt->key, [this, attempt](Client::GetResult result) {
      OnGet(attempt, std::move(result));
    });
  }
  if (torture::IsDelete(operation.kind)) {
    return client_->StartDelete(
        attempt->key, operation.expected,
        [this, attempt](Client::DeleteResult result) { OnDelete(attempt, std::move(result)); });
  }
  client_->StartPut(
      attempt->key, attempt->value, OptionsOf(*attempt),
      [this, attempt](Client::PutResult result) { OnWrite(attempt, std::move(result)); });
}

// One of the blocking calls.
void Actor::Call() {
  Random* random = stage_->random;
  CheckBuffer();
  if (random->OneIn(2)) buffer_ = {};
  if (under_way_ == 0 && random->OneIn(8)) return CallScan();
  if (random->Below(100) < stage_->scenario->commit_percent) {
    return random->OneIn(2) ? CallSnapshot() : CallCommit();
  }
  if (random->Below(100) < stage_->scenario->get_percent) {
    switch (random->Below(3)) {
      case 0:
        return CallGet();
      case 1:
        return CallGetInto();
      default:
        return CallGetMany();
    }
  }
  if (random->OneIn(4)) return CallPutMany();
  CallWrite();
}

Actor::Attempt* Actor::Take() {
  const auto free =
      std::ranges::find_if(attempts_, [](const auto& attempt) { return attempt->is_free; });
  if (assigned_ == 0 || free == attempts_.end()) return nullptr;
  --assigned_;
  ++under_way_;
  (*free)->is_free = false;
  return free->get();
}

void Actor::CallGet() {
  Attempt* attempt = Take();
  if (attempt == nullptr) return;
  Draw(attempt, true);
  OnGet(attempt, client_->Get(attempt->key));
}

void Actor::CallGetInto() {
  Attempt* attempt = Take();
  if (attempt == nullptr) return;
  Draw(attempt, true);
  buffer_.assign(
      stage_->random->Between(torture::kValueBytesMin, stage_->scenario->value_bytes_max),
      std::byte{});
  OnGet(attempt, client_->GetInto(attempt->key, buffer_));
  PoisonBuffer();
}

void Actor::CallGetMany() {
  std::vector<Attempt*> taken;
  std::vector<std::string_view> keys;
  while (Attempt* attempt = Take()) {
    Draw(attempt, true);
    taken.push_back(attempt);
    keys.push_back(attempt->key);
  }
  client_->GetMany(keys, [this, &taken](size_t index, Client::GetResult result) {
    OnGet(taken[index], std::move(result));
  });
}

void Actor::CallWrite() {
  Attempt* attempt = Take();
  if (attempt == nullptr) return;
  Draw(attempt, false);
  if (torture::IsDelete(attempt->operation.kind)) {
    OnDelete(attempt, client_->Delete(attempt->key, attempt->operation.expected));
  } else {
    OnWrite(attempt, client_->Put(attempt->key, attempt->value, OptionsOf(*attempt)));
  }
}

void Actor::CallPutMany() {
  std::vector<Attempt*> taken;
  std::vector<PutItem> items;
  while (Attempt* attempt = Take()) {
    do {
      Draw(attempt, false);
    } while (!torture::IsStore(attempt->operation.kind));
    taken.push_back(attempt);
    items.push_back({attempt->key, attempt->value, OptionsOf(*attempt)});
  }
  client_->PutMany(items, [this, &taken](size_t index, Client::PutResult result) {
    OnWrite(taken[index], std::move(result));
  });
}

// Whether it has expired, so that others may have found it absent, and a scan may meet it still.
bool Actor::MayComeLate(const Attempt& scan, const Item& item) const {
  const auto unix_us = [&](uint64_t time_us) {
    return stage_->checker->UnixUsOf(item.version, time_us);
  };
  const uint64_t end_us = uint64_t{item.expiry} * 1'000'000;
  return item.expiry != 0 && unix_us(stage_->host->now_us()) >= end_us &&
         unix_us(scan.started_us) < end_us + kScanClockErrorUs;
}

// All of them are blocking.
void Actor::CallModified() {
  --assigned_;
  ++under_way_;
  ++writes_;  // it is one of the session's, perhaps
  const auto wrong = modified_->Step(&*client_, 0);
  --under_way_;
  ++stage_->modifications;
  if (wrong) stage_->checker->Accuse(*wrong);
}

// A DELETE of every key: for the checker one that may have been applied at any time, or not. What it can never do is seen by
// IsFlushed.
void Actor::CallFlush() {
  ++stage_->flushes_begun;
  --assigned_;
  ++under_way_;
  Attempt flush;
  flush.started_us = stage_->host->now_us();
  flush.restarts = stage_->restarts;
  flush.number = ++writes_;
  flush.operation = {.start = ++stage_->instant, .process = process_, .kind = Kind::kDelete};
  const size_t connections = connected_to_.size();
  const auto flushed = client_->Flush();
  --under_way_;
  torture::Operation& remove = flush.operation;
  remove.end = ++stage_->instant;
  remove.outcome = Outcome::kUnknown;
  // Another life of the server begins it anew.
  for (size_t times = 1 + connected_to_.size() - connections; times > 0; --times) {
    for (remove.key = 0; remove.key < stage_->names.size(); ++remove.key) {
      stage_->checker->Feed(remove, LivesSince(connections));
    }
  }
  if (flushed) {
    stage_->flushes.push_back({remove.start, remove.end});
    return;
  }
  if (!IsExcused(flush, flushed.error())) {
    stage_->checker->Accuse(fmt::format("a flush ended with {}: {}", CodeName(flushed.error().code),
                                        flushed.error().message));
  }
}

// Each item that it meets is a GET's hit, unless it has expired; a whole scan is also a GET of each
// key that it has not met, which was absent at some instant meanwhile.
void Actor::CallScan() {
  Attempt get;
  --assigned_;
  ++under_way_;
  Draw(&get, true);
  const torture::Operation blank = get.operation;
  const auto as_get_of = [&](uint64_t key) {
    get.operation = blank;
    get.operation.key = key;
    ++under_way_;  // End counts it
  };
  std::set<uint64_t> met;
  const auto summary = client_->Scan([&](std::string_view key, const Item& item) {
    if (Forger::IsItsKey(key) || torture::Modified::Is(key, stage_->plan.run)) return true;
    const auto name = std::ranges::find(stage_->names, key);
    if (name == stage_->names.end()) {
      stage_->checker->Accuse(fmt::format("a scan came to the key {}, which nobody wrote", key));
      return true;
    }
    as_get_of(static_cast<uint64_t>(name - stage_->names.begin()));
    met.insert(get.operation.key);
    const bool is_late = MayComeLate(get, item);
    Item seen = item;
    if (is_late) seen.expiry = 0;
    OnItem(&get, seen, is_late ? Outcome::kUnknown : Outcome::kOk);
    return true;
  });
  if (summary && summary->settled && summary->unreadable == 0) {
    ++stage_->scans;
    for (uint64_t key = 0; key < stage_->names.size(); ++key) {
      if (met.contains(key)) continue;
      as_get_of(key);
      OnGet(&get, std::nullopt);
    }
  }
  --under_way_;
  if (!summary && !IsExcused(get, summary.error())) {
    stage_->checker->Accuse(fmt::format("a scan ended with {}: {}", CodeName(summary.error().code),
                                        summary.error().message));
  }
}

void Actor::Draw(Attempt* attempt, std::optional<bool> is_get) {
  Random* random = stage_->random;
  const Scenario& scenario = *stage_->scenario;
  attempt->is_free = false;
  attempt->ttl_seconds = 0;
  attempt->until = 0;
  attempt->connections = connected_to_.size();
  const bool gets = is_get.value_or(random->Below(100) < scenario.get_percent) || is_audit_;
  const bool rare = scenario.fillers > 0 && random->OneIn(scenario.filler_one_in);
  const bool is_open = gets || stage_->first_steady_key == UINT64_MAX;
  torture::Operation& operation = attempt->operation;
  operation = {.start = ++stage_->instant,
               .key = rare && is_open ? scenario.keys + random->Below(scenario.fillers)
                                      : random->Below(scenario.keys)};
  operation.process = process_;
  if (is_audit_) operation.key = assigned_;
  if (!gets) {
    constexpr std::array kWrites = {Kind::kPut,    Kind::kPut,     Kind::kPut,
                                    Kind::kAdd,    Kind::kPutIf,   Kind::kDelete,
                                    Kind::kDelete, Kind::kReplace, Kind::kDeleteIf};
    operation.kind = kWrites[random->Below(kWrites.size())];
  }
  operation.expected = last_version_[operation.key];
  if (torture::IsConditional(operation.kind) && operation.expected == 0) {
    operation.kind = Kind::kPut;
  }
  if (!torture::IsConditional(operation.kind)) operation.expected = 0;
  attempt->key = stage_->names[operation.key];
  attempt->started_us = stage_->host->now_us();
  attempt->restarts = stage_->restarts;
  if (!gets) attempt->number = ++writes_;
  if (!torture::IsStore(operation.kind)) return;
  DrawStore(attempt);
  stores_[operation.key].push_back({attempt->number, operation.value});
}

void Actor::DrawStore(Attempt* attempt) {
  Random* random = stage_->random;
  const Scenario& scenario = *stage_->scenario;
  torture::Operation& operation = attempt->operation;
  operation.value = torture::MakeValueId(process_, ++stage_->next_value);
  const bool small = random->OneIn(2) || scenario.value_bytes_max <= kValueBytesInline;
  attempt->value.resize(random->Between(torture::kValueBytesMin,
                                        small ? kValueBytesInline : scenario.value_bytes_max));
  torture::WriteValue(operation.value, operation.key, attempt->value);
  if (random->Below(100) >= scenario.expiry_percent) return;
  attempt->ttl_seconds = random->Between(1, 3);
  if (random->OneIn(2) && DrawUntil(attempt)) return;
  // By a clock that may be faster than time is.
  const uint64_t ttl_us = attempt->ttl_seconds * 1'000'000;
  const uint64_t at_us = attempt->started_us + ttl_us - ttl_us / 1000;
  stage_->expiries[operation.value] = {.key = operation.key, .at_us = at_us};
  stage_->expiry_spans[operation.value] = {.key = operation.key, .from_us = at_us};
}

// Until a second of the server's clock. If another life with another clock stores it, it may end at any time.
bool Actor::DrawUntil(Attempt* attempt) {
  const auto time = client_->Time(attempt->key);
  if (!time) return false;
  const auto is_right = [&](uint32_t life) {
    const uint64_t unix_us = stage_->checker->UnixUsIn(life, stage_->host->now_us());
    return time->earliest_us <= unix_us && unix_us <= time->latest_us;
  };
  if (std::ranges::none_of(connected_to_, is_right)) {
    stage_->checker->Accuse("the server's time is not what its client takes it for");
  }
  attempt->until = static_cast<uint32_t>(time->latest_us / 1'000'000 + attempt->ttl_seconds);
  const auto value = attempt->operation.value;
  const uint64_t key = attempt->operation.key;
  stage_->expiries[value] = {.key = key, .at_us = attempt->started_us};
  stage_->expiry_spans[value] = {.key = key, .from_us = attempt->started_us};
  return true;
}

PutOptions Actor::OptionsOf(const Attempt& attempt) {
  PutOptions options;
  if (attempt.operation.kind == Kind::kAdd) options.mode = PutMode::kAdd;
  if (attempt.operation.kind == Kind::kReplace) options.mode = PutMode::kReplace;
  options.expected_version = attempt.operation.expected;
  options.ttl = attempt.until != 0 ? Lifetime::Until(attempt.until)
                                   : std::chrono::seconds(attempt.ttl_seconds);
  return options;
}

}  // namespace plov::sim
