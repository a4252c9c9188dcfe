#include "door/memcached/text_authentication.h"

#include "door/memcached/command.h"
#include "door/memcached/numbers.h"
#include "door/memcached/text_request.h"
#include "door/worker.h"

namespace plov::door::memcached {

namespace {

// As memcached has it: a longer line is no client of ours.
constexpr size_t kSetLineMax = 2048;
// memcached's buffer; what is longer it never answers.
constexpr size_t kPasswordBlockMax = size_t{16} << 10;
constexpr std::string_view kPasswordEnd = "\r\n";

}  // namespace

size_t TextAuthentication::Take(std::string_view input) {
  if (block_bytes_) return TakeBlock(input);
  if (input.size() < 2) return 0;
  const size_t end = input.find('\n');
  if (end != input.npos) return TakeLine(input, end);
  if (input.size() > kSetLineMax) connection_->Close();
  return 0;
}

size_t TextAuthentication::TakeLine(std::string_view input, size_t end) {
  const Words words(input.substr(0, end));
  const auto bytes = Unsigned32(words[4]);
  if (words[0] != "set" || !bytes) {
    Answer("CLIENT_ERROR unauthenticated\r\n");
  } else if (*bytes > kPasswordBlockMax) {
    connection_->Close();
  } else {
    block_bytes_ = *bytes + kPasswordEnd.size();
  }
  return end + 1;
}

size_t TextAuthentication::TakeBlock(std::string_view input) {
  const size_t bytes = *block_bytes_;
  if (input.size() < bytes) return 0;
  block_bytes_.reset();
  const std::string_view block = input.substr(0, bytes);
  const Words words(block.substr(0, bytes - kPasswordEnd.size()));
  Counters& counters = connection_->worker()->counters();
  if (!block.ends_with(kPasswordEnd)) {
    Answer("CLIENT_ERROR bad command line termination\r\n");
  } else if (words.count < 2) {
    Answer("CLIENT_ERROR bad authentication token format\r\n");
  } else if (users_.Has(words[0], words[1])) {
    counters.Add(door::Count::kAuthentications);
    is_over_ = true;
    Answer("STORED\r\n");
  } else {
    counters.Add(door::Count::kAuthentications);
    counters.Add(door::Count::kAuthenticationErrors);
    Answer("CLIENT_ERROR authentication failure\r\n");
  }
  return bytes;
}

void TextAuthentication::Answer(std::string_view reply) {
  TextRequest* request = TextRequest::Make();
  request->reply = reply;
  connection_->Add(request);
}

}  // namespace plov::door::memcached
