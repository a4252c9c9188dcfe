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
      connection_->Add(Answer::OfError("ERR plov: an argument is larger than --max-item"));
      return;
    case RespReader::Refusal::kNoMemory:
      connection_->worker()->counters().Add(Count::kOutOfMemory);
      connection_->Add(Answer::OfError(kOutOfMemory));
      return;
    case RespReader::Refusal::kNone:
      break;
  }
  const Command* command = FindCommand(reader_.arguments()[0]);
  if (command == nullptr) return RefuseUnknown();
  if (!HasMemory()) {
    connection_->worker()->counters().Add(Count::kOutOfMemory);
    connection_->Add(Answer::OfError(kOutOfMemory));
    return;
  }
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
  call_.emplace(Call::Place{connection_, &session_, &options_, reader_.is_owned()}, command,
                reader_.arguments());
  if (!command->Takes(call_->count())) {
    call_->RefuseArity();
  } else {
    call_->Run();
  }
  if (call_->is_over()) call_.reset();
}

void RedisProtocol::RefuseUnknown() {
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
  connection_->worker()->counters().Add(Count::kBadRequests);
  connection_->Add(Answer::OfError(text + shown));
}

}  // namespace plov::door::redis
