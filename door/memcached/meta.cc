#include "door/memcached/meta.h"

#include <climits>
#include <utility>

#include "door/memcached/base64.h"
#include "door/memcached/numbers.h"

namespace plov::door::memcached {

namespace {

constexpr size_t kMetaWordsMax = 19;
constexpr size_t kOpaqueMax = 32;
constexpr size_t kFlagsEnd = 127;
constexpr std::string_view kBadLine = "CLIENT_ERROR bad command line format";
constexpr std::string_view kBadToken = "CLIENT_ERROR bad token in command line format";

Command Refused(std::string_view error) {
  Command command;
  command.error = error;
  return command;
}

// The flags of one command.
class FlagReader {
 public:
  explicit FlagReader(Command* command) : command_(command) {}

  // nullopt: all are good.
  std::optional<std::string_view> Read(const Words& words, size_t first) {
    for (size_t i = first; i < words.count; ++i) {
      const auto flag = static_cast<unsigned char>(words[i][0]);
      if (flag >= kFlagsEnd || std::exchange(seen_[flag], true))
        return "CLIENT_ERROR duplicate flag";
      if (!ReadOne(words[i])) return "CLIENT_ERROR invalid flag";
    }
    if (!has_error_) return std::nullopt;
    return error_;
  }
  char mode() const { return mode_; }
  bool has_long_opaque() const { return has_long_opaque_; }

 private:
  void Complain(std::string_view error) {
    error_ = error;
    has_error_ = true;
  }

  bool ReadOne(std::string_view word) {
    const std::string_view value = word.substr(1);
    switch (word[0]) {
      case 'b':
        ReadKey();
        return true;
      case 'N':
        if (command_->verb == Verb::kMetaGet) return false;
        command_->vivify = Exptime(value);
        return true;
      case 'T':
        command_->exptime = Exptime(value);
        command_->has_exptime = true;
        return true;
      case 'F':
        ReadFlags(value);
        return true;
      case 'C':
        ReadCas(value);
        return true;
      case 'M':
        ReadMode(word);
        return true;
      case 'J':
        command_->initial = Number(value, "CLIENT_ERROR invalid numeric initial value");
        return true;
      case 'D':
        command_->delta = Number(value, "CLIENT_ERROR invalid numeric delta value");
        return true;
      case 'O':
        has_long_opaque_ = has_long_opaque_ || word.size() > kOpaqueMax;
        return true;
      case 'v':
        command_->wants_value = true;
        return true;
      case 'q':
        command_->noreply = true;
        return true;
      default:
        return std::string_view("PLkstcfu").contains(word[0]);
    }
  }

  void ReadKey() {
    command_->is_key_binary = true;
    auto key = DecodeBase64(command_->key_text);
    if (!key) return Complain("CLIENT_ERROR error decoding key");
    command_->decoded_key = std::move(*key);
  }
  int32_t Exptime(std::string_view value) {
    const auto exptime = Signed32(value);
    if (!exptime) Complain(kBadToken);
    return exptime.value_or(0);
  }
  void ReadFlags(std::string_view value) {
    const auto flags = Unsigned32(value);
    if (!flags) has_error_ = true;  // memcached has no message of its own
    command_->flags = flags.value_or(0);
  }
  void ReadCas(std::string_view value) {
    const auto cas = Unsigned64(value);
    if (!cas) return Complain(kBadToken);
    command_->cas = *cas;
    command_->has_cas = true;
  }
  void ReadMode(std::string_view word) {
    if (word.size() != 2) return Complain("CLIENT_ERROR incorrect length for M token");
    mode_ = word[1];
  }
  uint64_t Number(std::string_view value, std::string_view error) {
    const auto number = Unsigned64(value);
    if (!number) Complain(error);
    return number.value_or(0);
  }

  Command* command_;
  std::array<bool, kFlagsEnd> seen_{};
  bool has_error_ = false;
  bool has_long_opaque_ = false;
  std::string_view error_ = kBadLine;
  char mode_ = 0;
};

std::string_view MetaFlagsOf(const Words& words, size_t first) {
  if (first >= words.count) return {};
  const char* begin = words[first].data();
  const std::string_view last = words[words.count - 1];
  return {begin, static_cast<size_t>(last.data() + last.size() - begin)};
}

std::optional<StoreMode> MetaModeOf(char mode) {
  switch (mode) {
    case 0:
    case 'S':
      return StoreMode::kSet;
    case 'E':
      return StoreMode::kAdd;
    case 'A':
      return StoreMode::kAppend;
    case 'P':
      return StoreMode::kPrepend;
    case 'R':
      return StoreMode::kReplace;
    default:
      return std::nullopt;
  }
}

// What all have in common: nullopt, or the refusal.
std::optional<Command> RefuseShape(const Words& words, std::string_view too_long) {
  if (words.count < 2) return Refused("ERROR");
  if (words[1].size() > kKeyBytesMax) return Refused(kBadLine);
  if (words.count > kMetaWordsMax) return Refused(too_long);
  return std::nullopt;
}

Command ParseMetaGet(const Words& words) {
  if (auto refused = RefuseShape(words, "CLIENT_ERROR options flags are too long")) return *refused;
  Command command;
  command.verb = Verb::kMetaGet;
  command.key_text = words[1];
  FlagReader flags(&command);
  if (const auto error = flags.Read(words, 2)) return Refused(*error);
  if (flags.has_long_opaque()) return Refused("CLIENT_ERROR opaque token too long");
  command.meta_flags = MetaFlagsOf(words, 2);
  return command;
}

Command ParseMetaStore(const Words& words) {
  if (words.count < 2) return Refused("ERROR");
  if (words[1].size() > kKeyBytesMax || words.count == 2) return Refused(kBadLine);
  if (words.count > kMetaWordsMax) return Refused("CLIENT_ERROR options flags too long");
  const auto bytes = Signed32(words[2]);
  if (!bytes || *bytes < 0 || *bytes > INT_MAX - 2) return Refused(kBadLine);
  Command command;
  command.verb = Verb::kMetaStore;
  command.key_text = words[1];
  command.value_bytes = static_cast<uint32_t>(*bytes);
  const auto refused = [&](std::string_view error) {
    Command wrong = Refused(error);
    wrong.value_bytes = command.value_bytes;
    return wrong;
  };
  FlagReader flags(&command);
  if (const auto error = flags.Read(words, 3)) return refused(*error);
  const auto mode = MetaModeOf(flags.mode());
  if (!mode) return refused("CLIENT_ERROR invalid mode for ms M token");
  command.mode = *mode;
  const bool replaces = *mode == StoreMode::kSet || *mode == StoreMode::kReplace;
  if (command.has_cas && replaces) command.mode = StoreMode::kCas;
  if (flags.has_long_opaque()) return refused("CLIENT_ERROR opaque token too long");
  command.meta_flags = MetaFlagsOf(words, 3);
  return command;
}

Command ParseMetaChange(const Words& words, Verb verb) {
  if (auto refused = RefuseShape(words, "CLIENT_ERROR options flags too long")) return *refused;
  Command command;
  command.verb = verb;
  command.key_text = words[1];
  FlagReader flags(&command);
  if (flags.Read(words, 2)) return Refused("CLIENT_ERROR invalid or duplicate flag");
  if (flags.has_long_opaque()) return Refused("CLIENT_ERROR opaque token too long");
  command.meta_flags = MetaFlagsOf(words, 2);
  if (verb == Verb::kMetaDelete) return command;
  switch (flags.mode()) {
    case 0:
    case 'I':
    case '+':
      return command;
    case 'D':
    case '-':
      command.adds = false;
      return command;
    default:
      return Refused("CLIENT_ERROR invalid mode for ma M token");
  }
}

Command ParseMetaDebug(const Words& words) {
  if (words.count < 2 || words[1].size() > kKeyBytesMax) return Refused(kBadLine);
  Command command;
  command.verb = Verb::kMetaDebug;
  command.key_text = words[1];
  if (words[2] == "b") {
    auto key = DecodeBase64(words[1]);
    if (!key) return Refused(kBadLine);
    command.decoded_key = std::move(*key);
    command.is_key_binary = true;
  }
  return command;
}

}  // namespace

Command ParseMeta(const Words& words) {
  switch (words[0][1]) {
    case 'g':
      return ParseMetaGet(words);
    case 's':
      return ParseMetaStore(words);
    case 'd':
      return ParseMetaChange(words, Verb::kMetaDelete);
    case 'a':
      return ParseMetaChange(words, Verb::kMetaArithmetic);
    case 'e':
      return ParseMetaDebug(words);
    case 'n': {
      Command command;
      command.verb = Verb::kMetaNoop;
      return command;
    }
    default:
      return Refused("ERROR");
  }
}

}  // namespace plov::door::memcached
