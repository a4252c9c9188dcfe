#include "door/redis/redis_protocol.h"

#include <string>

#include "door/redis/answer.h"
#include "door/worker.h"

namespace plov::door::redis {

namespace {

// Arguments of so many bytes are within the budget before they are copied.
constexpr size_t kReservedArguments = 4096;

}  // namespace

RedisProtocol::RedisProtocol(Connection* connection, const RedisOptions& options, uint64_t id)
    : connection_(connection),
      options_(options),
      session_{.id = id, .name = {}},
      reader_({.argument_bytes_max = options.item_bytes_max,
               .reserve = [connection](size_t bytes) { return connection->Reserve(bytes); }}) {}

size_t RedisProtocol::Take(std::string_view input) {
  if (call_) {
    call_->Run();
    if (!call_->is_over()) return 0;
    EndRequest();
    return 1;
  }
  const RespReader::Result result = reader_.Read(input);
  switch (result.outcome) {
    case RespReader::Outcome::kIncomplete:
      return result.taken_bytes;
    case RespReader::Outcome::kBroken:
      connection_->worker()->counters().Add(Count::kBadRequests);
      connection_->Add(Answer::OfError("ERR " + reader_.error()));
      connection_->Close();
      return 0;
    case RespReader::Outcome::kRequest:
      break;
  }
  if (!reader_.arguments().empty()) Run();
  if (call_) return result.taken_bytes - 1;
  EndRequest();
  return result.taken_bytes;
}

// What was added from memory of the reader has copies of its own.
void RedisProtocol::EndRequest() {
  call_.reset();
  if (reader_.is_owned()) reader_.Clear();
}

void RedisProtocol::Run() {
  switch (reader_.refusal()) {
    case RespReader::Refusal::kTooLarge:
      return Refuse("ERR plov: an argument is larger than --max-item");
    case RespReader::Refusal::kNoMemory:
      return RefuseForMemory();
    case RespReader::Refusal::kNone:
      break;
  }
  const Command* command = FindCommand(reader_.arguments()[0]);
  if (command == nullptr) {
    connection_->worker()->counters().Add(Count::kBadRequests);
    return Refuse(UnknownText());
  }
  if (!HasMemory()) return RefuseForMemory();
  RunCommand(command);
}

bool RedisProtocol::HasMemory() {
  const bool is_long = reader_.arguments().size() > kKeysInOnePiece;
  if (is_long && !reader_.Own()) return false;
  size_t bytes = 0;
  for (const std::string_view argument : reader_.arguments()) bytes += argument.size();
  return bytes < kReservedArguments || connection_->Reserve(bytes);
}

void RedisProtocol::RunCommand(const Command* command) {
  call_.emplace(Call::Place{connection_, &session_, &multi_, &options_, reader_.is_owned()},
                command, reader_.arguments());
  if (!command->Takes(call_->count())) {
    RefuseArity(*command);
  } else if (multi_.is_open() && command->in_multi != InMulti::kDone) {
    Queue(command);
  } else {
    call_->Run();
  }
  if (call_->is_over()) call_.reset();
}

// EXEC with arguments ends the transaction.
void RedisProtocol::RefuseArity(const Command& command) {
  multi_.Spoil();
  if (command.run != commands::Exec) return call_->RefuseArity();
  multi_.Clear();
  call_->Refuse("EXECABORT Transaction discarded because of: " + call_->ArityText());
}

void RedisProtocol::Queue(const Command* command) {
  if (command->in_multi == InMulti::kRefused) {
    return Refuse("ERR plov: " + UpperCaseOf(command->name) + " cannot be a part of a transaction");
  }
  if (!connection_->Reserve(QueuedCommand::BytesOf(reader_.arguments()))) return RefuseForMemory();
  multi_.Add(command, reader_.arguments());
  call_->Answer("+QUEUED\r\n");
}

// What is refused between MULTI and EXEC has EXEC do nothing.
void RedisProtocol::Refuse(std::string_view text) {
  multi_.Spoil();
  connection_->Add(Answer::OfError(text));
}

void RedisProtocol::RefuseForMemory() {
  connection_->worker()->counters().Add(Count::kOutOfMemory);
  Refuse(kOutOfMemory);
}

std::string RedisProtocol::UnknownText() const {
  constexpr size_t kShownMax = 128;
  const auto arguments = reader_.arguments();
  std::string shown;
  for (size_t i = 1; i < arguments.size() && shown.size() < kShownMax; ++i) {
    shown += '\'';
    shown += arguments[i].substr(0, kShownMax - shown.size() + 1);
    shown += "' ";
  }
  std::string text = "ERR unknown command '";
  text += arguments[0].substr(0, kShownMax);
  text += "', with args beginning with: ";
  return text + shown;
}

}  // namespace plov::door::redis
