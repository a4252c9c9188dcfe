// The steps of set, add, replace, append, prepend, cas and ms.

#include "door/memcached/command_request.h"

namespace plov::door::memcached {

namespace {

// What the server adds to a value itself.
constexpr size_t kJoinedByServer = size_t{16} << 10;

PutMode PutModeOf(StoreMode mode) {
  switch (mode) {
    case StoreMode::kAdd:
      return PutMode::kAdd;
    case StoreMode::kReplace:
      return PutMode::kReplace;
    case StoreMode::kAppend:
      return PutMode::kAppend;
    case StoreMode::kPrepend:
      return PutMode::kPrepend;
    case StoreMode::kSet:
    case StoreMode::kCas:
      return PutMode::kSet;
  }
  return PutMode::kSet;
}

// What is told as the cas of an item that had expired when it was stored: no item has it.
constexpr Version kVersionOfNone = 1;

bool IsJoin(StoreMode mode) { return mode == StoreMode::kAppend || mode == StoreMode::kPrepend; }

}  // namespace

bool CommandRequest::IsLongJoin() const {
  return IsJoin(command.mode) && value.size() > kJoinedByServer;
}

void CommandRequest::StartStore() {
  Count(door::Count::kStores);
  const bool compares_with_none = command.mode == StoreMode::kCas && command.cas == 0;
  if (compares_with_none) return StartCheckedStore();
  if (IsLongJoin()) return StartLongJoin();
  const Ending ending = EndingOf(command.exptime);
  if (ending.is_over && !IsJoin(command.mode)) return StartExpiredStore();
  PutOptions options{.mode = PutModeOf(command.mode)};
  // add with a cas is an add.
  if (command.mode != StoreMode::kAdd) options.expected_version = command.cas;
  if (!IsJoin(command.mode)) {
    options.flags = command.flags;
    options.ttl = ending.ttl();
  }
  StartPut(options);
}

void CommandRequest::StartPut(const PutOptions& options) {
  client().StartPut(key(), value, options,
                    [this](const Client::PutResult& result) { EndPut(result); });
}

void CommandRequest::EndPut(const Client::PutResult& result) {
  if (result) return EndStore(Outcome::kStored, *result);
  switch (result.error().code) {
    case Code::kExists:
      return EndStore(Outcome::kNotStored, 0);
    case Code::kVersionMismatch:
      return EndStore(Outcome::kExists, 0);
    case Code::kNotFound:
      return EndStore(command.mode == StoreMode::kCas ? Outcome::kNotFound : Outcome::kNotStored,
                      0);
    case Code::kTooLarge:
      if (IsJoin(command.mode)) return EndStore(Outcome::kNotStored, 0);
      return EndWithFailure(result.error());
    default:
      return EndWithFailure(result.error());
  }
}

// What is stored and has expired is not there: only what was there before may have to go.
void CommandRequest::StartExpiredStore() {
  if (command.mode == StoreMode::kAdd) return StartCheckedStore();
  const Version expected = command.mode == StoreMode::kCas ? command.cas : 0;
  client().StartDelete(key(), expected,
                       [this](const Client::DeleteResult& result) { EndStoreByDelete(result); });
}

void CommandRequest::EndStoreByDelete(const Client::DeleteResult& result) {
  if (!result && result.error().code == Code::kVersionMismatch) {
    return EndStore(Outcome::kExists, 0);
  }
  if (!result) return EndWithFailure(result.error());
  if (*result || command.mode == StoreMode::kSet) return EndStore(Outcome::kStored, kVersionOfNone);
  EndStore(command.mode == StoreMode::kCas ? Outcome::kNotFound : Outcome::kNotStored, 0);
}

// Stores nothing, and says what would have come of it: an add of what has expired, and a cas with no number.
void CommandRequest::StartCheckedStore() {
  client().StartGet(key(), [this](const Client::GetResult& result) {
    if (!result) return EndWithFailure(result.error());
    if (command.mode == StoreMode::kAdd) {
      return *result ? EndStore(Outcome::kNotStored, 0)
                     : EndStore(Outcome::kStored, kVersionOfNone);
    }
    EndStore(*result ? Outcome::kExists : Outcome::kNotFound, 0);
  });
}

void CommandRequest::StartLongJoin() {
  client().StartGet(key(), [this](const Client::GetResult& result) {
    if (!result) return EndWithFailure(result.error());
    if (!*result) return EndStore(Outcome::kNotStored, 0);
    if (command.cas != 0 && (*result)->version != command.cas) {
      return EndStore(Outcome::kExists, 0);
    }
    Join(**result);
  });
}

void CommandRequest::Join(const Item& item) {
  const size_t bytes = value.size() + item.value.size();
  if (!connection()->Reserve(bytes)) {
    Count(door::Count::kOutOfMemory);
    return EndStore(Outcome::kNotStored, 0);
  }
  found_value_.clear();
  found_value_.reserve(bytes);
  const bool appends = command.mode == StoreMode::kAppend;
  found_value_ += appends ? item.value : std::string_view(value);
  found_value_ += appends ? std::string_view(value) : item.value;
  const PutOptions options{
      .expected_version = item.version, .flags = item.flags, .ttl = Lifetime::Until(item.expiry)};
  client().StartPut(key(), found_value_, options, [this](const Client::PutResult& result) {
    const bool lost = !result && (result.error().code == Code::kVersionMismatch ||
                                  result.error().code == Code::kNotFound);
    if (!lost || command.cas != 0) return EndPut(result);
    if (MayRetry()) StartLongJoin();
  });
}

}  // namespace plov::door::memcached
