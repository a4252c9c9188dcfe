// Command: what a request of memcached's asks for; and one line of its text protocol, classic or meta, as memcached
// 1.6.18 reads it. Pure: it knows neither connections nor the store.
//
// Source: memcached's doc/protocol.txt, and for what that leaves open its proto_text.c.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace plov::door::memcached {

inline constexpr size_t kKeyBytesMax = 250;

enum class Verb : uint8_t {
  kError,  // `error` is the reply
  kClose,  // the connection is closed without a reply: quit, or what is no memcached client
  kDrop,   // a store that was refused: the item that was there goes, and the value is the reply
  kGet,    // get, gets: the keys are in `keys`
  kGat,    // gat, gats: likewise
  kStore,
  kTouch,
  kArithmetic,
  kDelete,
  kFlushAll,
  kVersion,
  kVerbosity,
  kStats,
  kNoop,  // of the binary protocol, like those up to kSaslStep
  kQuit,  // the connection is closed after the replies
  kSaslList,
  kSaslAuth,
  kSaslStep,
  kMetaGet,
  kMetaStore,
  kMetaDelete,
  kMetaArithmetic,
  kMetaDebug,
  kMetaNoop,
};

enum class StoreMode : uint8_t { kSet, kAdd, kReplace, kAppend, kPrepend, kCas };

// A line in words between spaces, at most 23 of them: `rest` is what comes after those. A zero byte ends a line.
struct Words {
  static constexpr size_t kMax = 23;

  explicit Words(std::string_view line);

  std::array<std::string_view, kMax> all;
  size_t count = 0;
  std::string_view rest;

  std::string_view operator[](size_t i) const { return i < count ? all[i] : std::string_view(); }
};

struct Command {
  Verb verb = Verb::kError;
  std::string_view error;  // without its end of line

  std::string_view key_text;  // as it stands in the request
  std::string decoded_key;    // what it is, if the line has it in base64
  std::string_view keys;      // kGet, kGat: words, perhaps none
  bool with_cas = false;      // gets, gats
  bool noreply = false;

  StoreMode mode = StoreMode::kSet;
  uint32_t flags = 0;
  int64_t exptime = 0;
  uint64_t cas = 0;  // 0: none is asked for
  // A data block of so many bytes comes after the line, and the end of a line. With an error: it is passed over.
  std::optional<uint32_t> value_bytes;

  uint64_t delta = 1;  // kArithmetic, kMetaArithmetic
  bool adds = true;
  std::optional<int64_t> vivify;  // an absent item is made with this exptime
  uint64_t initial = 0;           // and this number

  bool tells_item = false;  // kTouch: the reply has the item's flags and cas

  std::string_view argument;  // kStats

  // Of meta commands.
  std::string_view meta_flags;  // the words, as they stand in the line
  bool is_key_binary = false;   // the line has it in base64
  bool wants_value = false;
  bool has_cas = false;
  bool has_exptime = false;  // flag T

  bool is_meta() const { return verb >= Verb::kMetaGet; }
  std::string_view key() const { return is_key_binary ? decoded_key : key_text; }
};

// `line` is without its end. What the command refers to is in it.
Command ParseCommand(std::string_view line);

// Which memcached the door answers as.
inline constexpr std::string_view kMemcachedVersion = "1.6.18";

// What the item would take of memcached's memory: -I, here --max-item, is the limit of that.
size_t ItemBytes(size_t key_bytes, uint32_t flags, size_t value_bytes);

}  // namespace plov::door::memcached
