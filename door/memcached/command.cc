#include "door/memcached/command.h"

#include <algorithm>
#include <climits>

#include "door/memcached/meta.h"
#include "door/memcached/numbers.h"

namespace plov::door::memcached {

namespace {

constexpr std::string_view kBadFormat = "CLIENT_ERROR bad command line format";

Command Wrong(std::string_view error, bool noreply = false) {
  Command command;
  command.error = error;
  command.noreply = noreply;
  return command;
}

Command Unknown() { return Wrong("ERROR"); }

bool SaysNoreply(const Words& words) {
  return words.count > 0 && words[words.count - 1] == "noreply";
}

// The rest of a line, from its word `first` on.
std::string_view From(const Words& words, size_t first) {
  if (first >= words.count) return {};
  const char* begin = words[first].data();
  const std::string_view last = words.rest.empty() ? words[words.count - 1] : words.rest;
  return {begin, static_cast<size_t>(last.data() + last.size() - begin)};
}

Command ParseGet(const Words& words, bool with_cas) {
  if (words.count < 2) return Unknown();
  Command command;
  command.verb = Verb::kGet;
  command.with_cas = with_cas;
  command.keys = From(words, 1);
  return command;
}

Command ParseGat(const Words& words, bool with_cas) {
  if (words.count < 2) return Unknown();
  const auto exptime = Signed32(words[1]);
  if (!exptime) return Wrong("CLIENT_ERROR invalid exptime argument");
  Command command;
  command.verb = Verb::kGat;
  command.with_cas = with_cas;
  command.exptime = *exptime;
  command.keys = From(words, 2);
  return command;
}

Command ParseStore(const Words& words, StoreMode mode) {
  const size_t least = mode == StoreMode::kCas ? 6 : 5;
  if (words.count != least && words.count != least + 1) return Unknown();
  Command command;
  command.verb = Verb::kStore;
  command.mode = mode;
  command.noreply = SaysNoreply(words);
  command.key_text = words[1];
  const auto flags = Unsigned32(words[2]);
  const auto exptime = Signed32(words[3]);
  const auto bytes = Signed32(words[4]);
  const auto cas = mode == StoreMode::kCas ? Unsigned64(words[5]) : std::optional<uint64_t>(0);
  const bool is_good = command.key_text.size() <= kKeyBytesMax && flags && exptime && bytes &&
                       cas && *bytes >= 0 && *bytes <= INT_MAX - 2;
  if (!is_good) return Wrong(kBadFormat, command.noreply);
  command.flags = *flags;
  command.exptime = *exptime;
  command.value_bytes = static_cast<uint32_t>(*bytes);
  command.cas = *cas;
  return command;
}

Command ParseTouch(const Words& words) {
  if (words.count != 3 && words.count != 4) return Unknown();
  Command command;
  command.verb = Verb::kTouch;
  command.noreply = SaysNoreply(words);
  command.key_text = words[1];
  if (command.key_text.size() > kKeyBytesMax) return Wrong(kBadFormat, command.noreply);
  const auto exptime = Signed32(words[2]);
  if (!exptime) return Wrong("CLIENT_ERROR invalid exptime argument", command.noreply);
  command.exptime = *exptime;
  return command;
}

Command ParseArithmetic(const Words& words, bool adds) {
  if (words.count != 3 && words.count != 4) return Unknown();
  Command command;
  command.verb = Verb::kArithmetic;
  command.adds = adds;
  command.noreply = SaysNoreply(words);
  command.key_text = words[1];
  if (command.key_text.size() > kKeyBytesMax) return Wrong(kBadFormat, command.noreply);
  const auto delta = Unsigned64(words[2]);
  if (!delta) return Wrong("CLIENT_ERROR invalid numeric delta argument", command.noreply);
  command.delta = *delta;
  return command;
}

Command ParseDelete(const Words& words) {
  if (words.count < 2 || words.count > 4) return Unknown();
  Command command;
  command.verb = Verb::kDelete;
  command.key_text = words[1];
  if (words.count > 2) {
    const bool has_zero = words[2] == "0";
    command.noreply = SaysNoreply(words);
    const bool is_good =
        words.count == 3 ? has_zero || command.noreply : has_zero && command.noreply;
    if (!is_good) {
      return Wrong("CLIENT_ERROR bad command line format.  Usage: delete <key> [noreply]",
                   command.noreply);
    }
  }
  if (command.key_text.size() > kKeyBytesMax) return Wrong(kBadFormat, command.noreply);
  return command;
}

Command ParseFlushAll(const Words& words) {
  if (words.count > 3) return Unknown();
  Command command;
  command.verb = Verb::kFlushAll;
  command.noreply = SaysNoreply(words);
  if (words.count != (command.noreply ? 2U : 1U)) {
    const auto delay = Signed32(words[1]);
    if (!delay) return Wrong("CLIENT_ERROR invalid exptime argument", command.noreply);
    command.exptime = *delay;
  }
  return command;
}

Command ParseVerbosity(const Words& words) {
  if (words.count != 2 && words.count != 3) return Unknown();
  if (!Unsigned32(words[1])) return Wrong(kBadFormat, SaysNoreply(words));
  Command command;
  command.verb = Verb::kVerbosity;
  command.noreply = SaysNoreply(words);
  return command;
}

Command Simple(Verb verb) {
  Command command;
  command.verb = verb;
  return command;
}

Command ParseStats(const Words& words) {
  Command command = Simple(Verb::kStats);
  command.argument = words[1];
  return command;
}

// What memcached's own memory is told, as it answers where that is switched off.
Command ParseOfMemory(const Words& words) {
  const std::string_view name = words[0];
  if (name == "slabs" && words.count == 4 && words[1] == "reassign") {
    return Wrong("CLIENT_ERROR slab reassignment disabled");
  }
  if (name == "lru_crawler" && words.count == 3 && words[1] == "crawl") {
    return Wrong("CLIENT_ERROR lru crawler disabled");
  }
  if (name == "lru_crawler" && words.count == 3 && words[1] == "metadump") {
    return Wrong("ERROR metadump not allowed");
  }
  if (name == "watch") {
    return Wrong("CLIENT_ERROR watch commands not allowed", SaysNoreply(words));
  }
  if (name == "shutdown") return Wrong("ERROR: shutdown not enabled");
  // Of names that begin like commands it looks no further.
  const bool looks_further = !std::string_view("gsacidt").contains(name[0]);
  if (looks_further && words[words.count - 1].starts_with("HTTP/")) return Simple(Verb::kClose);
  return Unknown();
}

std::optional<StoreMode> StoreModeOf(std::string_view name) {
  if (name == "set") return StoreMode::kSet;
  if (name == "add") return StoreMode::kAdd;
  if (name == "replace") return StoreMode::kReplace;
  if (name == "append") return StoreMode::kAppend;
  if (name == "prepend") return StoreMode::kPrepend;
  if (name == "cas") return StoreMode::kCas;
  return std::nullopt;
}

}  // namespace

Words::Words(std::string_view line) {
  line = line.substr(0, line.find('\0'));
  size_t at = 0;
  while (count < kMax) {
    at = line.find_first_not_of(' ', at);
    if (at == line.npos) return;
    const size_t end = std::min(line.find(' ', at), line.size());
    all[count++] = line.substr(at, end - at);
    at = std::min(end + 1, line.size());
  }
  rest = line.substr(at);
}

Command ParseCommand(std::string_view line) {
  const Words words(line);
  const std::string_view name = words[0];
  if (name.size() < 2) return Unknown();
  if (name == "get" || name == "bget") return ParseGet(words, false);
  if (name == "gets") return ParseGet(words, true);
  if (name.size() == 2 && name[0] == 'm') return ParseMeta(words);
  if (const auto mode = StoreModeOf(name)) return ParseStore(words, *mode);
  if (name == "gat") return ParseGat(words, false);
  if (name == "gats") return ParseGat(words, true);
  if (name == "delete") return ParseDelete(words);
  if (name == "incr") return ParseArithmetic(words, true);
  if (name == "decr") return ParseArithmetic(words, false);
  if (name == "touch") return ParseTouch(words);
  if (name == "flush_all") return ParseFlushAll(words);
  if (name == "version") return Simple(Verb::kVersion);
  if (name == "verbosity") return ParseVerbosity(words);
  if (name == "stats") return ParseStats(words);
  if (name == "quit") return Simple(Verb::kClose);
  return ParseOfMemory(words);
}

size_t ItemBytes(size_t key_bytes, uint32_t flags, size_t value_bytes) {
  constexpr size_t kHeaderBytes = 48;
  constexpr size_t kCasBytes = 8;
  const size_t flag_bytes = flags == 0 ? 0 : sizeof(flags);
  return kHeaderBytes + kCasBytes + key_bytes + 1 + flag_bytes + value_bytes + 2;
}

}  // namespace plov::door::memcached
