// The steps of incr, decr and ma.
//
// The server's operation does what memcached does, with one difference: memcached keeps the length of a value that
// becomes shorter, with spaces behind. So an item is written as memcached would, over the version found, where the
// length shrinks. One that others write at the same time is left to the server's operation; protocol.txt tells
// clients not to rely on the spaces.

#include <algorithm>

#include "door/memcached/command_request.h"
#include "door/memcached/numbers.h"

namespace plov::door::memcached {

namespace {

// After so many tries over a version the server's operation does it, with the length that it has.
constexpr uint32_t kPaddedTriesMax = 16;
// Longer values are no numbers: memcached has those in several chunks.
constexpr size_t kNumberBytesMax = size_t{512} << 10;

// What the server takes for a number: digits, and spaces behind.
bool IsPlainNumber(std::string_view text) {
  constexpr size_t kPlainMax = 40;
  const size_t digits = std::min(text.find_first_not_of("0123456789"), text.size());
  return digits > 0 && text.size() <= kPlainMax && text.find_first_not_of(' ', digits) == text.npos;
}

}  // namespace

// Where others write the key at this moment, nobody can tell which length was there: the server's operation does it.
void CommandRequest::StartArithmetic() {
  Count(door::Count::kArithmetics);
  const auto result = client().TryGet(key());
  if (!result) return command.is_meta() ? LookAgain() : Increment();
  TakeFound(*result);
}

void CommandRequest::LookAgain() {
  client().StartGet(key(), [this](const Client::GetResult& result) { TakeFound(result); });
}

void CommandRequest::TakeFound(const Client::GetResult& result) {
  if (!result) return EndWithFailure(result.error());
  if (*result) return ChangeFound(**result);
  if (command.vivify) return Vivify();
  EndWith(Outcome::kNotFound);
}

void CommandRequest::ChangeFound(const Item& item) {
  const bool is_number = !item.value.empty() && item.value.size() <= kNumberBytesMax;
  // memcached compares first, but for what can be no number.
  if (is_number && command.cas != 0 && item.version != command.cas)
    return EndWith(Outcome::kExists);
  const auto before = is_number ? Unsigned64(item.value.substr(0, item.value.find('\0')))
                                : std::optional<uint64_t>();
  if (!before) return EndWith(Outcome::kNotANumber);
  number_ = command.adds ? *before + command.delta : *before - std::min(*before, command.delta);
  found_expiry_ = item.expiry;
  found_version_ = item.version;
  const bool keeps_length = std::to_string(number_).size() >= item.value.size();
  const bool is_left_to_server = keeps_length || tries_ >= kPaddedTriesMax;
  if (IsPlainNumber(item.value) && is_left_to_server) return Increment();
  PutNumber(item);
}

void CommandRequest::Increment() {
  const IncrementOptions options{
      .mode = command.adds ? NumberMode::kUnsignedAdd : NumberMode::kUnsignedSubtract,
      .expected_version = command.cas};
  client().StartIncrement(key(), static_cast<int64_t>(command.delta), options,
                          [this](const Client::IncrementResult& result) {
                            if (result)
                              return EndNumber(static_cast<uint64_t>(result->value),
                                               result->version);
                            const Code code = result.error().code;
                            if (code == Code::kVersionMismatch && command.cas != 0)
                              return EndWith(Outcome::kExists);
                            if (code != Code::kNotFound && code != Code::kNotANumber) {
                              return EndWithFailure(result.error());
                            }
                            if (MayRetry()) LookAgain();
                          });
}

void CommandRequest::PutNumber(const Item& item) {
  value = std::to_string(number_);
  value.resize(std::max(value.size(), item.value.size()), ' ');
  const PutOptions options{
      .expected_version = item.version, .flags = item.flags, .ttl = Lifetime::Until(item.expiry)};
  client().StartPut(key(), value, options, [this](const Client::PutResult& result) {
    if (result) return EndNumber(number_, *result);
    const bool lost =
        result.error().code == Code::kVersionMismatch || result.error().code == Code::kNotFound;
    if (!lost) return EndWithFailure(result.error());
    if (MayRetry()) LookAgain();
  });
}

void CommandRequest::Vivify() {
  const Ending ending = EndingOf(*command.vivify);
  number_ = command.initial;
  found_expiry_ = ending.expiry;
  if (ending.is_over) return EndNumber(number_, 1);
  value = std::to_string(number_);
  client().StartPut(key(), value, {.mode = PutMode::kAdd, .ttl = ending.ttl()},
                    [this](const Client::PutResult& result) {
                      if (result) return EndNumber(number_, *result);
                      if (result.error().code != Code::kExists) {
                        return EndWithFailure(result.error());
                      }
                      if (MayRetry()) LookAgain();
                    });
}

void CommandRequest::EndNumber(uint64_t number, Version version) {
  number_ = number;
  Count(door::Count::kArithmeticHits);
  if (!command.has_exptime) return EndWithNumber(version);
  const Ending ending = EndingOf(command.exptime);
  found_version_ = version;
  found_expiry_ = ending.expiry;
  if (ending.is_over) {
    return client().StartDelete(
        key(), version, [this](const Client::DeleteResult&) { EndWithNumber(found_version_); });
  }
  // If another one was faster, the number it wrote has the expiry that it wanted.
  client().StartTouch(key(), ending.ttl(), version, [this](const Client::PutResult& result) {
    EndWithNumber(result ? *result : found_version_);
  });
}

void CommandRequest::EndWithNumber(Version version) {
  AddNumber(number_, version, &reply);
  End();
}

}  // namespace plov::door::memcached
