#include "door/memcached/text_protocol.h"

#include <algorithm>
#include <utility>

namespace plov::door::memcached {

namespace {

// As memcached has it: a longer line without an end is a get, or no client of ours.
constexpr size_t kLineMax = 2048;
constexpr size_t kLeadingSpacesMax = 100;
// A data block that is shorter waits with its line until it is there as a whole.
constexpr size_t kReceivedFrom = 2048;
constexpr std::string_view kBlockEnd = "\r\n";

// Whether a word of the line is no key.
bool HasLongKey(std::string_view line) {
  if (line.size() <= kKeyBytesMax) return false;
  size_t begin = 0;
  while (begin < line.size()) {
    const size_t end = std::min(line.find(' ', begin), line.size());
    if (end - begin > kKeyBytesMax) return true;
    begin = end + 1;
  }
  return false;
}

bool IsOfGet(std::string_view line) {
  const size_t begin = std::min(line.find_first_not_of(' '), line.size());
  if (begin > kLeadingSpacesMax) return false;
  line.remove_prefix(begin);
  return line.starts_with("get ") || line.starts_with("gets ");
}

// The line that ends at input[end], without its end.
std::string_view LineOf(std::string_view input, size_t end) {
  if (end > 1 && input[end - 1] == '\r') --end;
  return input.substr(0, end);
}

Request::Kind KindOf(const Command& command) {
  switch (command.verb) {
    case Verb::kMetaDebug:
      return Request::Kind::kRead;
    case Verb::kMetaGet:
      return command.has_exptime ? Request::Kind::kWrite : Request::Kind::kRead;
    case Verb::kFlushAll:
      return Request::Kind::kAlone;
    default:
      return Request::Kind::kWrite;
  }
}

}  // namespace

TextProtocol::~TextProtocol() {
  if (receiving_ != nullptr) receiving_->Recycle();
}

Counters& TextProtocol::counters() { return connection_->worker()->counters(); }

size_t TextProtocol::Take(std::string_view input) {
  if (swallowed_bytes_ > 0 || swallows_line_) return TakeSwallowed(input);
  if (keys_) return TakeKeys(input);
  const size_t end = input.find('\n');
  return end == input.npos ? TakeLongLine(input) : TakeLine(input, end);
}

size_t TextProtocol::TakeSwallowed(std::string_view input) {
  if (swallows_line_) {
    const size_t end = input.find('\n');
    swallows_line_ = end == input.npos;
    return swallows_line_ ? input.size() : end + 1;
  }
  const size_t taken = static_cast<size_t>(std::min<uint64_t>(swallowed_bytes_, input.size()));
  swallowed_bytes_ -= taken;
  return taken;
}

size_t TextProtocol::TakeLongLine(std::string_view input) {
  if (input.size() <= kLineMax) return 0;
  if (!IsOfGet(input)) {
    counters().Add(door::Count::kBadRequests);
    connection_->Close();
    return 0;
  }
  const size_t begin = input.find_first_not_of(' ');
  const bool with_cas = input.substr(begin).starts_with("gets ");
  keys_ = Keys{.verb = Verb::kGet, .with_cas = with_cas, .exptime = 0};
  return begin + (with_cas ? 5 : 4);
}

size_t TextProtocol::TakeLine(std::string_view input, size_t end) {
  const size_t line_bytes = end + 1;
  Command command = ParseCommand(LineOf(input, end));
  if (command.verb == Verb::kGet || command.verb == Verb::kGat) {
    return BeginKeys(command, input, line_bytes);
  }
  const bool has_block = command.value_bytes && command.verb != Verb::kError;
  if (has_block) {
    const size_t taken = TakeBlock(std::move(command), input.substr(line_bytes));
    return taken == 0 ? 0 : line_bytes + taken - 1;
  }
  if (command.value_bytes) swallowed_bytes_ = uint64_t{*command.value_bytes} + kBlockEnd.size();
  Run(std::move(command));
  return line_bytes;
}

// The keys are taken where they stand. One that is none is told before any other is looked up.
size_t TextProtocol::BeginKeys(const Command& command, std::string_view input, size_t line_bytes) {
  if (HasLongKey(command.keys)) {
    Command wrong;
    wrong.error = "CLIENT_ERROR bad command line format";
    Run(std::move(wrong));
    return line_bytes;
  }
  keys_ = Keys{.verb = command.verb, .with_cas = command.with_cas, .exptime = command.exptime};
  if (command.keys.empty()) {
    EndKeys();
    return line_bytes;
  }
  return static_cast<size_t>(command.keys.data() - input.data());
}

size_t TextProtocol::TakeKeys(std::string_view input) {
  const size_t end = input.find('\n');
  const bool is_whole = end != input.npos;
  std::string_view line = is_whole ? LineOf(input, end) : input;
  const size_t zero = line.find('\0');
  const bool is_cut = zero != line.npos;
  line = line.substr(0, zero);
  size_t at = 0;
  while (connection_->has_room()) {
    at = line.find_first_not_of(' ', at);
    if (at == line.npos) {
      if (!is_whole && !is_cut) return input.size();
      EndKeys();
      swallows_line_ = !is_whole;
      return is_whole ? end + 1 : input.size();
    }
    const size_t key_end = line.find(' ', at);
    const bool is_unfinished = key_end == line.npos && !is_whole && !is_cut;
    const size_t key_bytes = std::min(key_end, line.size()) - at;
    if (key_bytes > kKeyBytesMax) {
      keys_.reset();
      Command wrong;
      wrong.error = "CLIENT_ERROR bad command line format";
      Run(std::move(wrong));
      swallows_line_ = true;
      return at;
    }
    if (is_unfinished) return at;
    const bool is_last = is_whole && line.find_first_not_of(' ', at + key_bytes) == line.npos;
    AddKey(line.substr(at, key_bytes), is_last);
    if (is_last) {
      keys_.reset();
      return end + 1;
    }
    at += key_bytes + 1;
  }
  return std::min(at, line.size());
}

void TextProtocol::AddKey(std::string_view key, bool is_last) {
  TextRequest* request = TextRequest::Make();
  request->command.verb = keys_->verb;
  request->command.with_cas = keys_->with_cas;
  request->command.exptime = keys_->exptime;
  request->SetKey(key);
  request->opens_group = keys_->is_first;
  request->closes_group = is_last;
  keys_->is_first = false;
  AddRequest(request, keys_->verb == Verb::kGet ? Request::Kind::kRead : Request::Kind::kWrite);
}

// The end of a group whose last key was not known to be the last.
void TextProtocol::EndKeys() {
  TextRequest* request = TextRequest::Make();
  request->command.verb = keys_->verb;
  request->opens_group = keys_->is_first;
  keys_.reset();
  AddRequest(request, Request::Kind::kReply);
}

void TextProtocol::AddRequest(TextRequest* request, Request::Kind kind) {
  request->kind = kind;
  if (request->command.is_meta()) counters().Add(door::Count::kMetas);
  connection_->Add(request);
}

void TextProtocol::Answer(std::string_view reply, const Command& command) {
  TextRequest* request = TextRequest::Make();
  if (!command.noreply) request->reply = reply;
  AddRequest(request, Request::Kind::kReply);
}

// Of `rest`, which comes after the line: returns what was taken and 1, or 0 for nothing, the line neither.
size_t TextProtocol::TakeBlock(Command command, std::string_view rest) {
  const size_t block_bytes = size_t{*command.value_bytes} + kBlockEnd.size();
  const size_t item_bytes = ItemBytes(command.key().size(), command.flags, *command.value_bytes);
  if (item_bytes > options_.item_bytes_max) {
    RefuseBlock(command, "SERVER_ERROR object too large for cache\r\n");
    return 1;
  }
  const bool is_whole = rest.size() >= block_bytes;
  if (!is_whole && block_bytes <= kReceivedFrom) return 0;
  if (block_bytes > kReceivedFrom && !connection_->Reserve(block_bytes)) {
    counters().Add(door::Count::kOutOfMemory);
    RefuseBlock(command, "SERVER_ERROR out of memory storing object\r\n");
    return 1;
  }
  TextRequest* request = TextRequest::Make();
  request->command = std::move(command);
  if (is_whole) {
    request->value.assign(rest.substr(0, block_bytes - kBlockEnd.size()));
    AddStore(request, rest.substr(block_bytes - kBlockEnd.size(), kBlockEnd.size()));
    return block_bytes + 1;
  }
  request->Keep();
  receiving_ = request;
  request->value.resize(block_bytes);
  filled_bytes_ = 0;
  rest.copy(request->value.data(), rest.size());
  Filled(rest.size());
  return rest.size() + 1;
}

// What is refused for its size must not leave the old value behind a set that its client thinks done.
void TextProtocol::RefuseBlock(const Command& command, std::string_view error) {
  swallowed_bytes_ = uint64_t{*command.value_bytes} + kBlockEnd.size();
  const bool drops_old = command.is_meta() || command.mode == StoreMode::kSet;
  if (!drops_old) {
    Answer(error, command);
    return;
  }
  TextRequest* request = TextRequest::Make();
  request->command.verb = Verb::kDrop;
  request->command.key_text = command.key();
  request->Keep();
  if (!command.noreply || command.is_meta()) request->value = error;
  AddRequest(request, Request::Kind::kWrite);
}

void TextProtocol::AddStore(TextRequest* request, std::string_view end) {
  if (end == kBlockEnd) return AddRequest(request, Request::Kind::kWrite);
  counters().Add(door::Count::kBadRequests);
  if (!request->command.noreply || request->command.is_meta()) {
    request->reply = "CLIENT_ERROR bad data chunk\r\n";
  }
  AddRequest(request, Request::Kind::kReply);
}

std::span<char> TextProtocol::wanted() {
  if (receiving_ == nullptr) return {};
  return std::span(receiving_->value).subspan(filled_bytes_);
}

void TextProtocol::Filled(size_t bytes) {
  filled_bytes_ += bytes;
  if (filled_bytes_ < receiving_->value.size()) return;
  TextRequest* request = std::exchange(receiving_, nullptr);
  const size_t value_bytes = request->value.size() - kBlockEnd.size();
  const std::string end = request->value.substr(value_bytes);
  request->value.resize(value_bytes);
  AddStore(request, end);
}

size_t TextProtocol::bytes() const { return receiving_ == nullptr ? 0 : receiving_->bytes(); }

void TextProtocol::Run(Command command) {
  switch (command.verb) {
    case Verb::kClose:
      connection_->Close();
      return;
    case Verb::kError:
      counters().Add(door::Count::kBadRequests);
      return Answer(std::string(command.error) + "\r\n", command);
    case Verb::kVersion:
      counters().Add(door::Count::kOthers);
      return Answer("VERSION " + std::string(kMemcachedVersion) + "\r\n", command);
    case Verb::kVerbosity:
      counters().Add(door::Count::kOthers);
      return Answer("OK\r\n", command);
    case Verb::kStats:
      counters().Add(door::Count::kOthers);
      return Answer(StatsText(options_.stats(command.argument)), command);
    case Verb::kMetaNoop:
      return Answer("MN\r\n", command);
    default:
      break;
  }
  const Request::Kind kind = KindOf(command);
  TextRequest* request = TextRequest::Make();
  request->command = std::move(command);
  AddRequest(request, kind);
}

}  // namespace plov::door::memcached
