#include "door/memcached/text_request.h"

#include <time.h>

#include <algorithm>
#include <utility>
#include <vector>

namespace plov::door::memcached {

namespace {

constexpr int32_t kRelativeMax = 60 * 60 * 24 * 30;
// Requests of a thread that are kept for the next ones, and memory of values that stays with them.
constexpr size_t kSpareMax = 1024;
constexpr size_t kSpareValueMax = 4096;

std::vector<std::unique_ptr<TextRequest>>& Spare() {
  thread_local std::vector<std::unique_ptr<TextRequest>> spare;
  return spare;
}

void DropIfLarge(std::string* text) {
  text->clear();
  if (text->capacity() > kSpareValueMax) *text = {};
}

std::string_view OutcomeName(int outcome) {
  constexpr std::string_view kNames[] = {"STORED", "EXISTS", "NOT_FOUND", "NOT_STORED"};
  return kNames[outcome];
}

std::string_view OutcomeCode(int outcome) {
  constexpr std::string_view kCodes[] = {"HD", "EX", "NF", "NS"};
  return kCodes[outcome];
}

}  // namespace

Lifetime Lifetime::Of(int32_t exptime) {
  if (exptime == 0) return {};
  if (exptime < 0) return {.is_over = true};
  if (exptime <= kRelativeMax) return {.ttl = std::chrono::seconds(exptime)};
  const std::chrono::seconds left(int64_t{exptime} - ::time(nullptr));
  if (left.count() <= 0) return {.is_over = true};
  return {.ttl = left};
}

TextRequest* TextRequest::Make() {
  auto& spare = Spare();
  if (spare.empty()) return new TextRequest;
  TextRequest* request = spare.back().release();
  spare.pop_back();
  return request;
}

void TextRequest::Recycle() {
  std::unique_ptr<TextRequest> self(this);
  if (Spare().size() >= kSpareMax) return;
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
  Spare().push_back(std::move(self));
}

size_t TextRequest::bytes() const {
  return sizeof(*this) + reply.capacity() + value.capacity() + found_value_.capacity() +
         line_.capacity();
}

void TextRequest::Keep() {
  if (is_kept_) return;
  is_kept_ = true;
  line_.assign(command.key_text);
  line_.append(command.meta_flags);
  const std::string_view line = line_;
  command.meta_flags = line.substr(command.key_text.size());
  command.key_text = line.substr(0, command.key_text.size());
}

std::string_view TextRequest::closing() const {
  const bool is_list = command.verb == Verb::kGet || command.verb == Verb::kGat;
  return is_list ? "END\r\n" : "";
}

void TextRequest::Start(Worker* worker) {
  worker_ = worker;
  Keep();
  switch (command.verb) {
    case Verb::kStore:
    case Verb::kMetaStore:
      return StartStore();
    case Verb::kTouch:
      return StartTouch();
    case Verb::kGat:
    case Verb::kMetaGet:
      return StartGat();
    case Verb::kDelete:
      return StartDelete();
    case Verb::kDrop:
      return StartDrop();
    case Verb::kFlushAll:
      return StartFlush();
    case Verb::kMetaDelete:
      return StartMetaDelete();
    case Verb::kArithmetic:
    case Verb::kMetaArithmetic:
      return StartArithmetic();
    default:
      return End();
  }
}

bool TextRequest::has_steps() const {
  switch (command.verb) {
    case Verb::kGat:
    case Verb::kMetaGet:
    case Verb::kArithmetic:
    case Verb::kMetaArithmetic:
      return true;
    case Verb::kStore:
    case Verb::kMetaStore:
      return IsLongJoin();
    default:
      return false;
  }
}

void TextRequest::EndWith(std::string_view line) {
  if (!command.noreply) {
    reply += line;
    reply += "\r\n";
  }
  End();
}

// As memcached, which tells a classic command with noreply nothing, but a meta command of every failure.
void TextRequest::EndWithFailure(const Error& error) {
  has_failed = true;
  reply.clear();
  if (!command.noreply || command.is_meta()) AddFailure(error, &reply);
  Count(door::Count::kFailures);
  End();
}

bool TextRequest::MayRetry() {
  if (++tries_ <= kTriesMax) return true;
  EndWithFailure({Code::kVersionMismatch, "the item was written by others all the time"});
  return false;
}

void TextRequest::EndWithCode(std::string_view code, Version version) {
  const bool is_nominal = code == "HD";
  if (!command.noreply || !is_nominal) {
    reply += code;
    AddReturned(version, &reply);
    reply += "\r\n";
  }
  End();
}

void TextRequest::EndStore(Outcome outcome, Version version) {
  const int index = static_cast<int>(outcome);
  if (command.mode == StoreMode::kCas) {
    if (outcome == Outcome::kStored) Count(door::Count::kCasHits);
    if (outcome == Outcome::kExists) Count(door::Count::kCasMismatches);
    if (outcome == Outcome::kNotFound) Count(door::Count::kCasMisses);
  }
  if (command.is_meta()) return EndWithCode(OutcomeCode(index), version);
  EndWith(OutcomeName(index));
}

}  // namespace plov::door::memcached
