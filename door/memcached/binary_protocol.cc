#include "door/memcached/binary_protocol.h"

#include <algorithm>
#include <utility>

#include "door/memcached/binary_command.h"
#include "door/worker.h"

namespace plov::door::memcached {

namespace {

// A value that is shorter waits with its header until it is there as a whole.
constexpr size_t kWaitsUpTo = 2048;
// No message of PLAIN that somebody may come in with is longer.
constexpr size_t kSaslMessageMax = 3 * Credentials::kBytesMax + 2;
constexpr std::string_view kNoMessage = "too long";

Request::Kind KindOfVerb(Verb verb) {
  if (verb == Verb::kGet) return Request::Kind::kRead;
  return verb == Verb::kFlushAll ? Request::Kind::kAlone : Request::Kind::kWrite;
}

}  // namespace

BinaryProtocol::~BinaryProtocol() {
  if (receiving_ != nullptr) receiving_->Recycle();
}

void BinaryProtocol::Count(door::Count which) { connection_->worker()->counters().Add(which); }

size_t BinaryProtocol::Take(std::string_view input) {
  if (swallowed_bytes_ > 0) return TakeSwallowed(input);
  if (input.size() < BinaryHeader::kBytes) return 0;
  const auto header = DecodeRequestHeader(input.substr(0, BinaryHeader::kBytes));
  if (!header) {
    Count(door::Count::kBadRequests);
    connection_->Close();
    return 0;
  }
  return TakeRequest(*header, input);
}

size_t BinaryProtocol::TakeSwallowed(std::string_view input) {
  const size_t taken = std::min(swallowed_bytes_, input.size());
  swallowed_bytes_ -= taken;
  return taken;
}

// What a header is refused for needs no more of the request: nobody is waited for who may not come in.
bool BinaryProtocol::IsRefused(const BinaryHeader& header) {
  if (!header.is_consistent()) {
    RefuseAndClose(header, Status::kUnknownCommand);
  } else if (!sasl_.Allows(header.opcode)) {
    RefuseAndClose(header, Status::kAuthError);
  } else if (const auto status = RefusalOf(header)) {
    if (*status == Status::kInvalid) {
      RefuseAndClose(header, *status);
    } else {
      Refuse(header, *status, header.body_bytes);
    }
  } else {
    return false;
  }
  return true;
}

size_t BinaryProtocol::TakeRequest(const BinaryHeader& header, std::string_view input) {
  if (IsRefused(header)) return BinaryHeader::kBytes;
  const size_t begin = BinaryHeader::kBytes + header.head_bytes();
  if (input.size() < begin) return 0;
  const Command command =
      ParseBinary(header, input.substr(BinaryHeader::kBytes, header.head_bytes()));
  const std::string_view rest = input.substr(begin);
  switch (command.verb) {
    case Verb::kStore: {
      const auto taken = TakeValue(header, command, rest);
      return taken ? begin + *taken : 0;
    }
    case Verb::kSaslAuth:
    case Verb::kSaslStep: {
      const auto taken = TakeSaslMessage(header, command, rest);
      return taken ? begin + *taken : 0;
    }
    default:
      Run(header, command);
      return begin;
  }
}

std::optional<size_t> BinaryProtocol::TakeValue(const BinaryHeader& header, const Command& command,
                                                std::string_view rest) {
  const size_t bytes = header.value_bytes();
  if (ItemBytes(command.key().size(), command.flags, bytes) > options_.item_bytes_max) {
    RefuseValue(header, command, Status::kTooLarge);
    return 0;
  }
  const bool is_whole = rest.size() >= bytes;
  if (!is_whole && bytes <= kWaitsUpTo) return std::nullopt;
  if (bytes > kWaitsUpTo && !connection_->Reserve(bytes)) {
    Count(door::Count::kOutOfMemory);
    RefuseValue(header, command, Status::kNoMemory);
    return 0;
  }
  BinaryRequest* request = MakeRequest(header, command);
  if (is_whole) {
    request->value.assign(rest.substr(0, bytes));
    AddRequest(request, Request::Kind::kWrite);
    return bytes;
  }
  request->Keep();
  receiving_ = request;
  request->value.resize(bytes);
  rest.copy(request->value.data(), rest.size());
  filled_bytes_ = rest.size();
  return rest.size();
}

// As the text protocol: what is refused must not leave the old value behind a set.
void BinaryProtocol::RefuseValue(const BinaryHeader& header, const Command& command,
                                 Status status) {
  const bool drops_old = header.opcode == Opcode::kSet || header.opcode == Opcode::kSetQ;
  if (!drops_old) return Refuse(header, status, header.value_bytes());
  swallowed_bytes_ = header.value_bytes();
  BinaryRequest* request = MakeRequest(header, command);
  request->command.verb = Verb::kDrop;
  AddErrorReply(header, status, &request->value);
  AddRequest(request, Request::Kind::kWrite);
}

std::span<char> BinaryProtocol::wanted() {
  if (receiving_ == nullptr) return {};
  return std::span(receiving_->value).subspan(filled_bytes_);
}

void BinaryProtocol::Filled(size_t bytes) {
  filled_bytes_ += bytes;
  if (filled_bytes_ < receiving_->value.size()) return;
  AddRequest(std::exchange(receiving_, nullptr), Request::Kind::kWrite);
}

// A message that is too long to be right is passed over.
std::optional<size_t> BinaryProtocol::TakeSaslMessage(const BinaryHeader& header,
                                                      const Command& command,
                                                      std::string_view rest) {
  const size_t bytes = header.value_bytes();
  if (!sasl_.is_enabled()) {
    Refuse(header, Status::kUnknownCommand, bytes);
    return 0;
  }
  if (command.key().size() > kSaslMechanismMax) {
    Refuse(header, Status::kInvalid, bytes);
    return 0;
  }
  const bool is_long = bytes > kSaslMessageMax;
  if (!is_long && rest.size() < bytes) return std::nullopt;
  const std::string_view message = is_long ? kNoMessage : rest.substr(0, bytes);
  if (is_long) swallowed_bytes_ = bytes;
  TellSasl(header, command.verb == Verb::kSaslAuth ? sasl_.Begin(command.key(), message)
                                                   : sasl_.Step(message));
  return is_long ? 0 : bytes;
}

void BinaryProtocol::TellSasl(const BinaryHeader& header, Status status) {
  if (status == Status::kAuthContinue) return Answer(header, {.status = status});
  Count(door::Count::kAuthentications);
  if (status == Status::kSuccess) return Answer(header, {.value = "Authenticated"});
  Count(door::Count::kAuthenticationErrors);
  AnswerError(header, status);
}

void BinaryProtocol::Run(const BinaryHeader& header, const Command& command) {
  switch (command.verb) {
    case Verb::kVersion:
      Count(door::Count::kOthers);
      return Answer(header, {.value = kMemcachedVersion});
    case Verb::kNoop:
      return Answer(header, {});
    case Verb::kQuit:
      if (!command.noreply) Answer(header, {});
      return connection_->Close();
    case Verb::kStats:
      Count(door::Count::kOthers);
      return AnswerStats(header, command.argument);
    case Verb::kSaslList:
      if (!sasl_.is_enabled()) return Refuse(header, Status::kUnknownCommand, 0);
      sasl_.Forget();
      return Answer(header, {.value = kSaslMechanisms});
    default:
      return AddRequest(MakeRequest(header, command), KindOfVerb(command.verb));
  }
}

// A reply for each, and one without a name at the end. As memcached, which looks at the beginning of "settings".
void BinaryProtocol::AnswerStats(const BinaryHeader& header, std::string_view argument) {
  constexpr std::string_view kSettings = "settings";
  if (argument.starts_with(kSettings)) argument = kSettings;
  const auto stats = options_.stats(argument);
  if (!stats) return AnswerError(header, Status::kNotFound);
  std::string reply;
  for (const Stat& stat : *stats) {
    AddReply(header, {.key = stat.name, .value = stat.text}, &reply);
  }
  AddReply(header, {}, &reply);
  AddReplied(std::move(reply));
}

void BinaryProtocol::Refuse(const BinaryHeader& header, Status status, size_t body_bytes) {
  Count(door::Count::kBadRequests);
  swallowed_bytes_ = body_bytes;
  AnswerError(header, status);
}

void BinaryProtocol::RefuseAndClose(const BinaryHeader& header, Status status) {
  Refuse(header, status, 0);
  connection_->Close();
}

void BinaryProtocol::Answer(const BinaryHeader& header, const BinaryReply& reply) {
  std::string text;
  AddReply(header, reply, &text);
  AddReplied(std::move(text));
}

void BinaryProtocol::AnswerError(const BinaryHeader& header, Status status) {
  std::string text;
  AddErrorReply(header, status, &text);
  AddReplied(std::move(text));
}

void BinaryProtocol::AddReplied(std::string reply) {
  BinaryRequest* request = BinaryRequest::Make();
  request->reply = std::move(reply);
  AddRequest(request, Request::Kind::kReply);
}

BinaryRequest* BinaryProtocol::MakeRequest(const BinaryHeader& header, const Command& command) {
  BinaryRequest* request = BinaryRequest::Make();
  request->header = header;
  request->command = command;
  return request;
}

void BinaryProtocol::AddRequest(BinaryRequest* request, Request::Kind kind) {
  request->kind = kind;
  connection_->Add(request);
}

}  // namespace plov::door::memcached
