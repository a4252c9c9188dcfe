// Items as lines of text, KEY<TAB>VALUE: what `load` reads and `dump` and `mget` write.
//
// A tab, a newline and a backslash inside a key or value are written \t, \n and \\; every other
// byte, NUL and carriage return among them, is itself. So any item makes one line, and the line
// makes the same item again.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace plov::cli {

void AppendEscaped(std::string_view bytes, std::string* out);

// Returns how much of `text` was taken: all of it, or what stands before an escape that is none.
size_t AppendUnescaped(std::string_view text, std::string* out);

void AppendLine(std::string_view key, std::string_view value, std::string* out);

// Where the bytes of an item lie among those of others.
struct ItemRef {
  size_t offset;  // of the key; the value follows it
  size_t key_bytes;
  size_t value_bytes;
  uint32_t flags = 0;
  uint32_t expiry = 0;  // Unix seconds, 0 = never
};

// Appends the item of a line to `*bytes`. Returns what is wrong with it, or nothing; `*bytes` is as
// it was when something is.
std::string ParseLine(std::string_view text, std::string* bytes, ItemRef* item);

// Reads lines from a file descriptor, with memory for a part of the file only.
class LineReader {
 public:
  enum class Kind {
    kLine,
    kTooLong,  // over line_bytes_max; skipped up to its end
    kEnd,
    kFailed,  // error_number() says why
  };
  struct Line {
    Kind kind;
    std::string_view text = {};  // without its newline; valid until the next call
  };

  LineReader(int fd, size_t line_bytes_max);

  // The last line needs no newline.
  Line Next();

  // Whether Next() would have to wait for whoever writes to the file descriptor.
  bool MustWait() const;

  uint64_t number() const { return number_; }  // of the line that Next returned, from 1
  int error_number() const { return error_number_; }

 private:
  const char* FindNewline() const;
  bool Fill();
  Line Take(size_t bytes, size_t newline_bytes);

  int fd_;
  size_t line_bytes_max_;
  std::vector<char> buffer_;
  size_t begin_ = 0;     // of what is not yet returned
  size_t searched_ = 0;  // no newline from begin_ up to here
  size_t end_ = 0;
  uint64_t number_ = 0;
  bool too_long_ = false;  // the line at begin_ has lost its beginning
  bool at_end_ = false;
  int error_number_ = 0;
};

}  // namespace plov::cli
