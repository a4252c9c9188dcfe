#include "tests/sim/actor.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>

#include "torture/value.h"

namespace plov::sim {

using torture::Kind;
using torture::Outcome;

namespace {

constexpr uint32_t kValueBytesInline = 24;
constexpr uint32_t kRareKeyOneIn = 8;
constexpr auto kTimeout = std::chrono::seconds(2);

}  // namespace

Actor::Actor(Stage* stage, uint32_t process)
    : stage_(stage), process_(process), last_version_(stage->key_count()) {
  ClientOptions options;
  options.timeout = kTimeout;
  options.location_cache_bytes = stage->scenario->cache_bytes;
  options.window = stage->scenario->in_flight;
  for (uint32_t i = 0; i < stage->scenario->in_flight; ++i) {
    attempts_.push_back(std::make_unique<Attempt>());
  }
  auto client = Client::Connect("sim:", options);
  if (client) client_.emplace(std::move(*client));
}

Actor::~Actor() {
  dying_ = true;
  client_.reset();
}

void Actor::Poll() {
  if (client_) client_->Poll();
}

void Actor::Audit() {
  is_audit_ = true;
  assigned_ = stage_->key_count();
}

bool Actor::Start() {
  if (assigned_ == 0 || !client_) return false;
  const auto free =
      std::ranges::find_if(attempts_, [](const auto& attempt) { return attempt->is_free; });
  if (free == attempts_.end()) return false;
  --assigned_;
  ++under_way_;
  Draw(free->get());
  Send(free->get());
  return true;
}

void Actor::Draw(Attempt* attempt) {
  Random* random = stage_->random;
  const Scenario& scenario = *stage_->scenario;
  attempt->is_free = false;
  attempt->ttl_seconds = 0;
  const bool rare = scenario.fillers > 0 && random->OneIn(kRareKeyOneIn);
  torture::Operation& operation = attempt->operation;
  operation = {
      .start = ++stage_->instant,
      .key = rare ? scenario.keys + random->Below(scenario.fillers) : random->Below(scenario.keys)};
  operation.process = process_;
  if (is_audit_) {
    operation.key = assigned_;
  } else if (random->Below(100) >= scenario.get_percent) {
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
  if (torture::IsStore(operation.kind)) DrawStore(attempt);
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
  stage_->expiries[operation.value] = {
      .key = operation.key, .at_us = attempt->started_us + attempt->ttl_seconds * 1'000'000};
}

void Actor::Send(Attempt* attempt) {
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
  PutOptions options;
  if (operation.kind == Kind::kAdd) options.mode = PutMode::kAdd;
  if (operation.kind == Kind::kReplace) options.mode = PutMode::kReplace;
  options.expected_version = operation.expected;
  options.ttl = std::chrono::seconds(attempt->ttl_seconds);
  client_->StartPut(
      attempt->key, attempt->value, options,
      [this, attempt](Client::PutResult result) { OnWrite(attempt, std::move(result)); });
}

void Actor::OnGet(Attempt* attempt, Client::GetResult result) {
  if (!result) return OnError(attempt, result.error());
  if (!*result) return End(attempt, Outcome::kAbsent);
  torture::Operation& operation = attempt->operation;
  const Item& item = **result;
  const auto writer = torture::ReadValue(item.value, operation.key);
  if (!writer) {
    stage_->judge->Accuse(fmt::format("a GET of key {} came to bytes that nobody wrote for it: {}",
                                      operation.key, writer.error()));
  }
  if (item.expiry != 0 && uint64_t{item.expiry} * 1'000'000 <= attempt->started_us) {
    stage_->judge->Accuse(
        fmt::format("a GET of key {} came to an item that had expired at {} s "
                    "before it started at {} us",
                    operation.key, item.expiry, attempt->started_us));
  }
  operation.value = writer.value_or(torture::kForeign);
  operation.version = last_version_[operation.key] = item.version;
  End(attempt, Outcome::kOk);
}

void Actor::OnWrite(Attempt* attempt, Client::PutResult result) {
  torture::Operation& operation = attempt->operation;
  if (result) {
    operation.version = last_version_[operation.key] = *result;
    return End(attempt, Outcome::kOk);
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

void Actor::OnError(Attempt* attempt, const Error& error) {
  const bool excused = dying_ || (stage_->in_trouble &&
                                  (error.code == Code::kTimeout || error.code == Code::kUnknown ||
                                   error.code == Code::kUnavailable));
  if (!excused) {
    stage_->judge->Accuse(fmt::format("a {} of key {} ended with {}: {}",
                                      torture::KindName(attempt->operation.kind),
                                      attempt->operation.key, CodeName(error.code), error.message));
  }
  // A write that was not sent is refused; whether it was, an actor that dies does not know.
  End(attempt, error.code == Code::kUnavailable && !dying_ ? Outcome::kRefused : Outcome::kUnknown);
}

void Actor::End(Attempt* attempt, Outcome outcome) {
  torture::Operation& operation = attempt->operation;
  operation.end = ++stage_->instant;
  operation.outcome = outcome;
  attempt->is_free = true;
  --under_way_;
  if (const auto expiry = stage_->expiries.find(operation.value);
      torture::IsStore(operation.kind) && expiry != stage_->expiries.end()) {
    expiry->second.is_settled = true;
    expiry->second.version = operation.version;
    if (outcome != Outcome::kOk && outcome != Outcome::kUnknown) stage_->expiries.erase(expiry);
  }
  stage_->judge->Feed(operation);
}

std::string Actor::Plight() const {
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
