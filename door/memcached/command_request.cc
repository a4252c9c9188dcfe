#include "door/memcached/command_request.h"

namespace plov::door::memcached {

namespace {

constexpr int64_t kRelativeMax = 60 * 60 * 24 * 30;
// Memory of values that stays with a request that has ended.
constexpr size_t kSpareValueMax = 4096;
// Values of so many bytes are within the budget before they are copied, not after.
constexpr size_t kReservedFrom = 4096;

void DropIfLarge(std::string* text) {
  text->clear();
  if (text->capacity() > kSpareValueMax) *text = {};
}

uint32_t UnixSecondsUp(int64_t unix_us) {
  return static_cast<uint32_t>((unix_us + 999'999) / 1'000'000);
}

}  // namespace

// It lives at least its time: the second is rounded up.
Ending Ending::Of(int64_t exptime, int64_t now_us) {
  if (exptime == 0) return {};
  if (exptime < 0) return {.is_over = true};
  const auto seconds = static_cast<uint32_t>(exptime);
  if (exptime <= kRelativeMax) return {.expiry = UnixSecondsUp(now_us) + seconds};
  return {.expiry = seconds, .is_over = exptime <= now_us / 1'000'000};
}

int64_t CommandRequest::SecondsLeft(uint32_t expiry) const {
  return int64_t{expiry} - UnixSecondsUp(connection()->worker()->ServerUs(key()));
}

void CommandRequest::Reset() {
  kind = Kind::kReply;
  opens_group = true;
  closes_group = true;
  has_failed = false;
  DropIfLarge(&reply);
  DropIfLarge(&value);
  DropIfLarge(&found_value_);
  DropIfLarge(&line_);
  command = {};
  is_kept_ = false;
  tries_ = 0;
  found_expiry_ = 0;
}

size_t CommandRequest::bytes() const {
  return sizeof(*this) + reply.capacity() + value.capacity() + found_value_.capacity() +
         line_.capacity();
}

void CommandRequest::Keep() {
  if (is_kept_) return;
  is_kept_ = true;
  line_.assign(command.key_text);
  line_.append(command.meta_flags);
  const std::string_view line = line_;
  command.meta_flags = line.substr(command.key_text.size());
  command.key_text = line.substr(0, command.key_text.size());
}

void CommandRequest::Start(Worker* worker) {
  worker_ = worker;
  Keep();
  switch (command.verb) {
    case Verb::kStore:
    case Verb::kMetaStore:
      return StartStore();
    case Verb::kTouch:
      return command.tells_item ? StartGat() : StartTouch();
    case Verb::kGat:
    case Verb::kMetaGet:
      return StartGat();
    case Verb::kDelete:
    case Verb::kMetaDelete:
      return StartDelete();
    case Verb::kDrop:
      return StartDrop();
    case Verb::kFlushAll:
      return StartFlush();
    case Verb::kArithmetic:
    case Verb::kMetaArithmetic:
      return StartArithmetic();
    default:
      return End();
  }
}

bool CommandRequest::has_steps() const {
  switch (command.verb) {
    case Verb::kGat:
    case Verb::kMetaGet:
    case Verb::kArithmetic:
    case Verb::kMetaArithmetic:
      return true;
    case Verb::kTouch:
      return command.tells_item;
    case Verb::kStore:
    case Verb::kMetaStore:
      return IsLongJoin();
    default:
      return false;
  }
}

bool CommandRequest::HasMemory(size_t bytes, std::string* to) {
  if (bytes < kReservedFrom || connection()->Reserve(bytes)) return true;
  connection()->worker()->counters().Add(door::Count::kOutOfMemory);
  AddNoMemory(to);
  return false;
}

bool CommandRequest::TakeItem(const Client::GetResult& result, std::string* to) {
  Counters& counters = connection()->worker()->counters();
  counters.Add(door::Count::kGets);
  if (!result) {
    counters.Add(door::Count::kFailures);
    AddFailure(result.error(), to);
    return false;
  }
  if (!*result) {
    AddMiss(to);
    return true;
  }
  counters.Add(door::Count::kGetHits);
  const Item& item = **result;
  const bool has_value = command.verb == Verb::kGet || command.wants_value;
  if (has_value && !HasMemory(item.value.size(), to)) return false;
  AddItem(item, std::nullopt, to);
  return true;
}

void CommandRequest::EndWith(Outcome outcome, Version version) {
  AddOutcome(outcome, version, &reply);
  End();
}

void CommandRequest::EndWithFailure(const Error& error) {
  has_failed = true;
  reply.clear();
  AddFailure(error, &reply);
  Count(door::Count::kFailures);
  End();
}

bool CommandRequest::MayRetry() {
  if (++tries_ <= kTriesMax) return true;
  EndWithFailure({Code::kVersionMismatch, "the item was written by others all the time"});
  return false;
}

void CommandRequest::EndStore(Outcome outcome, Version version) {
  if (command.mode == StoreMode::kCas) {
    if (outcome == Outcome::kStored) Count(door::Count::kCasHits);
    if (outcome == Outcome::kExists) Count(door::Count::kCasMismatches);
    if (outcome == Outcome::kNotFound) Count(door::Count::kCasMisses);
  }
  EndWith(outcome, version);
}

}  // namespace plov::door::memcached
