// Lines of memcached's text protocol, classic and meta, as clients send them.
//
// Property: a command that is none has an error; what a command refers to lies in its line; a key has at most 250
// bytes and no space; a command with a data block says how long it is.
#include <string_view>

#include "door/memcached/base64.h"
#include "door/memcached/command.h"
#include "tests/fuzz/input.h"

namespace plov::fuzz {
namespace {

using door::memcached::Command;
using door::memcached::Verb;

bool LiesIn(std::string_view part, std::string_view line) {
  return part.empty() ||
         (part.data() >= line.data() && part.data() + part.size() <= line.data() + line.size());
}

void TestKey(const Command& command) {
  const bool has_list = command.verb == Verb::kGet || command.verb == Verb::kGat;
  if (has_list || command.key().empty()) return;
  Check(command.key().size() <= door::memcached::kKeyBytesMax, "a key has at most 250 bytes");
  if (!command.is_key_binary) {
    Check(command.key().find(' ') == std::string_view::npos, "a key has no space");
    return;
  }
  const auto again = door::memcached::DecodeBase64(door::memcached::EncodeBase64(command.key()));
  Check(again == command.key(), "a key is what its base64 is read as");
}

void TestLine(std::string_view line) {
  const Command command = door::memcached::ParseCommand(line);
  Check(LiesIn(command.key_text, line), "a key lies in its line");
  Check(LiesIn(command.keys, line), "keys lie in their line");
  Check(LiesIn(command.meta_flags, line), "flags lie in their line");
  Check(LiesIn(command.argument, line), "an argument lies in its line");
  if (command.verb == Verb::kError) {
    Check(!command.error.empty(), "what is no command has an error");
    return;
  }
  Check(command.error.empty(), "a command has no error");
  const bool stores = command.verb == Verb::kStore || command.verb == Verb::kMetaStore;
  Check(stores == command.value_bytes.has_value(), "what stores has a data block");
  TestKey(command);
}

}  // namespace
}  // namespace plov::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string input(data, data + size);
  std::string_view rest = input;
  while (!rest.empty()) {
    const size_t end = std::min(rest.find('\n'), rest.size());
    plov::fuzz::TestLine(rest.substr(0, end));
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return 0;
}
