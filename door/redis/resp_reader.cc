#include "door/redis/resp_reader.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "door/redis/inline_words.h"
#include "door/redis/numbers.h"

namespace plov::door::redis {

namespace {

constexpr size_t kLineEndBytes = 2;

// The line at the beginning, without its end, of which only the first byte is looked at. A zero byte ends what is
// searched, as it does in Redis.
std::optional<std::string_view> LineAt(std::string_view input) {
  const size_t end = input.find_first_of(std::string_view("\r\0", 2));
  if (end == input.npos || input[end] != '\r' || input.size() < end + kLineEndBytes) return {};
  return input.substr(0, end);
}

}  // namespace

void RespReader::Clear() {
  arguments_.clear();
  owned_ = {};
  owned_bytes_ = 0;
  is_owned_ = false;
  refusal_ = Refusal::kNone;
  left_count_ = 0;
  argument_bytes_.reset();
}

RespReader::Result RespReader::Break(std::string error) {
  Clear();
  error_ = "Protocol error: " + std::move(error);
  return {Outcome::kBroken, 0};
}

RespReader::Result RespReader::Read(std::string_view input) {
  size_t at = 0;
  if (left_count_ == 0) {
    Clear();
    if (input[0] != '*') return ReadInline(input);
    const Result count = ReadCount(input);
    if (count.outcome != Outcome::kRequest || left_count_ == 0) return count;
    at = count.taken_bytes;
  }
  while (left_count_ > 0) {
    switch (ReadArgument(input, &at)) {
      case Step::kDone:
        --left_count_;
        break;
      case Step::kWaits:
        return Wait(input, at);
      case Step::kBroken:
        return {Outcome::kBroken, 0};
    }
  }
  if (is_owned_) EndOwned();
  return {Outcome::kRequest, at};
}

RespReader::Result RespReader::ReadInline(std::string_view input) {
  const size_t end = input.find('\n');
  if (end == input.npos) {
    return input.size() >= kLineMax ? Break("too big inline request")
                                    : Result{Outcome::kIncomplete, 0};
  }
  std::string_view line = input.substr(0, end);
  if (line.ends_with('\r')) line.remove_suffix(1);
  if (!SplitInline(line, &owned_)) return Break("unbalanced quotes in request");
  is_owned_ = true;
  EndOwned();
  return {Outcome::kRequest, end + 1};
}

RespReader::Result RespReader::ReadCount(std::string_view input) {
  const auto line = LineAt(input);
  if (!line) {
    return input.size() >= kLineMax ? Break("too big mbulk count string")
                                    : Result{Outcome::kIncomplete, 0};
  }
  const auto count = IntegerOf(line->substr(1));
  if (!count || *count > std::numeric_limits<int>::max()) return Break("invalid multibulk length");
  left_count_ = static_cast<size_t>(std::max<int64_t>(*count, 0));
  return {Outcome::kRequest, line->size() + kLineEndBytes};
}

RespReader::Step RespReader::ReadArgument(std::string_view input, size_t* at) {
  if (!argument_bytes_) {
    const Step step = ReadLength(input, at);
    if (step != Step::kDone) return step;
    if (is_owned_) BeginOwned();
  }
  if (is_owned_) return FillArgument(input, at);
  const std::string_view rest = input.substr(*at);
  if (rest.size() < *argument_bytes_ + kLineEndBytes) return Step::kWaits;
  arguments_.push_back(rest.substr(0, *argument_bytes_));
  *at += *argument_bytes_ + kLineEndBytes;
  argument_bytes_.reset();
  return Step::kDone;
}

RespReader::Step RespReader::ReadLength(std::string_view input, size_t* at) {
  const std::string_view rest = input.substr(*at);
  const auto line = LineAt(rest);
  if (!line) {
    if (rest.size() < kLineMax) return Step::kWaits;
    Break("too big bulk count string");
    return Step::kBroken;
  }
  if (rest[0] != '$') {
    const char found = rest[0] == '\r' ? ' ' : rest[0];
    Break(std::string("expected '$', got '") + found + "'");
    return Step::kBroken;
  }
  const auto length = IntegerOf(line->substr(1));
  if (!length || *length < 0 || *length > kBulkMax) {
    Break("invalid bulk length");
    return Step::kBroken;
  }
  argument_bytes_ = static_cast<size_t>(*length);
  if (*argument_bytes_ > limits_.argument_bytes_max) refusal_ = Refusal::kTooLarge;
  *at += line->size() + kLineEndBytes;
  return Step::kDone;
}

// What comes behind an argument is taken for the end of a line, as by Redis, and comes by Read always.
RespReader::Step RespReader::FillArgument(std::string_view input, size_t* at) {
  const std::string_view rest = input.substr(*at);
  const size_t bytes = std::min(rest.size(), *argument_bytes_ - filled_bytes_);
  if (refusal_ == Refusal::kNone) rest.copy(owned_.back().data() + filled_bytes_, bytes);
  filled_bytes_ += bytes;
  *at += bytes;
  if (rest.size() < bytes + kLineEndBytes) return Step::kWaits;
  *at += kLineEndBytes;
  argument_bytes_.reset();
  return Step::kDone;
}

// A short request waits where it stands until it is whole; of another one what is there is taken over.
RespReader::Result RespReader::Wait(std::string_view input, size_t at) {
  if (is_owned_) return {Outcome::kIncomplete, at};
  if (input.size() < kOwnedFrom && argument_bytes_.value_or(0) < kOwnedFrom) {
    Clear();
    return {Outcome::kIncomplete, 0};
  }
  Copy();
  if (argument_bytes_) {
    BeginOwned();
    FillArgument(input, &at);
  }
  return {Outcome::kIncomplete, at};
}

bool RespReader::Reserve(size_t bytes) {
  if (limits_.reserve && !limits_.reserve(bytes)) return false;
  owned_bytes_ += bytes;
  return true;
}

void RespReader::Copy() {
  is_owned_ = true;
  size_t bytes = 0;
  for (const std::string_view argument : arguments_) bytes += argument.size() + sizeof(std::string);
  if (!Reserve(bytes)) {
    refusal_ = Refusal::kNoMemory;
    arguments_.resize(std::min<size_t>(arguments_.size(), 1));
  }
  owned_.assign(arguments_.begin(), arguments_.end());
  arguments_.clear();
}

bool RespReader::Own() {
  if (is_owned_) return true;
  Copy();
  EndOwned();
  return refusal_ == Refusal::kNone;
}

void RespReader::BeginOwned() {
  filled_bytes_ = 0;
  if (refusal_ != Refusal::kNone) return;
  // Its string and the view of it, and room that a growing list of them has.
  constexpr size_t kOverheadBytes = 2 * (sizeof(std::string) + sizeof(std::string_view));
  if (!Reserve(*argument_bytes_ + kOverheadBytes)) {
    refusal_ = Refusal::kNoMemory;
    return;
  }
  owned_.emplace_back().resize(*argument_bytes_);
}

std::span<char> RespReader::wanted() {
  const bool receives = is_owned_ && argument_bytes_ && refusal_ == Refusal::kNone;
  if (!receives || left_count_ == 0) return {};
  return std::span(owned_.back()).subspan(filled_bytes_);
}

void RespReader::EndOwned() { arguments_.assign(owned_.begin(), owned_.end()); }

}  // namespace plov::door::redis
