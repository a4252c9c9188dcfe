#include "door/memcached/binary_request.h"

#include "door/memcached/binary_command.h"

namespace plov::door::memcached {

void BinaryRequest::Recycle() {
  Reset();
  SpareRequests<BinaryRequest>::Give(this);
}

void BinaryRequest::AddItem(const Item& item, std::optional<uint32_t> /*touched_expiry*/,
                            std::string* to) const {
  std::string flags;
  AppendBytes(item.flags, &flags);
  const bool has_value = command.verb != Verb::kTouch;
  AddReply(header,
           {.cas = item.version,
            .extras = flags,
            .key = TellsKey(header.opcode) ? key() : std::string_view(),
            .value = has_value ? item.value : std::string_view()},
           to);
}

void BinaryRequest::AddMiss(std::string* to) const {
  if (command.noreply) return;
  if (!TellsKey(header.opcode)) return AddErrorReply(header, Status::kNotFound, to);
  AddReply(header, {.status = Status::kNotFound, .key = key()}, to);
}

// As memcached: an add that found an item has another status than an append that found none.
Status BinaryRequest::StatusOf(Outcome outcome) const {
  switch (outcome) {
    case Outcome::kExists:
      return Status::kExists;
    case Outcome::kNotFound:
      return Status::kNotFound;
    case Outcome::kNotStored:
      if (command.mode == StoreMode::kAdd) return Status::kExists;
      if (command.mode == StoreMode::kReplace) return Status::kNotFound;
      return Status::kNotStored;
    case Outcome::kNotANumber:
      return Status::kNotANumber;
    case Outcome::kStored:
    case Outcome::kTouched:
    case Outcome::kDeleted:
    case Outcome::kFlushed:
      break;
  }
  return Status::kSuccess;
}

void BinaryRequest::AddOutcome(Outcome outcome, Version version, std::string* to) const {
  const Status status = StatusOf(outcome);
  if (status != Status::kSuccess) return AddErrorReply(header, status, to);
  if (!command.noreply) AddReply(header, {.cas = version}, to);
}

void BinaryRequest::AddNumber(uint64_t number, Version version, std::string* to) const {
  if (command.noreply) return;
  std::string bytes;
  AppendBytes(number, &bytes);
  AddReply(header, {.cas = version, .value = bytes}, to);
}

void BinaryRequest::AddFailure(const Error& error, std::string* to) const {
  switch (error.code) {
    case Code::kNoSpace:
      return AddReply(header,
                      {.status = Status::kNoMemory, .value = "Out of memory allocating item"}, to);
    case Code::kTooLarge:
      return AddErrorReply(header, Status::kTooLarge, to);
    default:
      return AddReply(header, {.status = Status::kTemporaryFailure, .value = error.message}, to);
  }
}

void BinaryRequest::AddNoMemory(std::string* to) const {
  AddErrorReply(header, Status::kNoMemory, to);
}

}  // namespace plov::door::memcached
