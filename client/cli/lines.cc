#include "client/cli/lines.h"

#include <fmt/core.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "client/cli/report.h"
#include "verify/record.h"

namespace plov::cli {

namespace {

constexpr std::string_view kEscaped = "\t\n\\";
constexpr size_t kReadBytes = size_t{256} << 10;

struct Part {
  std::string_view name;
  size_t bytes_max;
};

std::string AppendPart(const Part& part, std::string_view text, std::string* bytes) {
  const size_t before = bytes->size();
  const size_t parsed = AppendUnescaped(text, bytes);
  if (parsed < text.size()) {
    return fmt::format("'{}' in the {} is not an escape (\\t, \\n and \\\\ are)",
                       Printable(text.substr(parsed, 2)), part.name);
  }
  const size_t count = bytes->size() - before;
  if (count <= part.bytes_max) return {};
  return fmt::format("the {} has {} bytes, at most {} are possible", part.name, count,
                     part.bytes_max);
}

}  // namespace

void AppendEscaped(std::string_view bytes, std::string* out) {
  while (!bytes.empty()) {
    const size_t plain = std::min(bytes.find_first_of(kEscaped), bytes.size());
    out->append(bytes.substr(0, plain));
    if (plain == bytes.size()) return;
    *out += '\\';
    *out += bytes[plain] == '\t' ? 't' : bytes[plain] == '\n' ? 'n' : '\\';
    bytes.remove_prefix(plain + 1);
  }
}

size_t AppendUnescaped(std::string_view text, std::string* out) {
  size_t at = 0;
  while (at < text.size()) {
    const size_t backslash = std::min(text.find('\\', at), text.size());
    out->append(text.substr(at, backslash - at));
    at = backslash;
    if (at == text.size()) break;
    const char letter = at + 1 < text.size() ? text[at + 1] : '\0';
    if (letter != 't' && letter != 'n' && letter != '\\') break;
    *out += letter == 't' ? '\t' : letter == 'n' ? '\n' : '\\';
    at += 2;
  }
  return at;
}

void AppendLine(std::string_view key, std::string_view value, std::string* out) {
  AppendEscaped(key, out);
  *out += '\t';
  AppendEscaped(value, out);
  *out += '\n';
}

std::string ParseLine(std::string_view text, std::string* bytes, ItemRef* item) {
  const size_t tab = text.find('\t');
  if (tab == std::string_view::npos) return "no tab between key and value";
  if (tab == 0) return "the key is empty";
  item->offset = bytes->size();
  std::string wrong = AppendPart({"key", verify::kKeyBytesMax}, text.substr(0, tab), bytes);
  item->key_bytes = bytes->size() - item->offset;
  if (wrong.empty()) {
    wrong = AppendPart({"value", verify::kValueBytesMax}, text.substr(tab + 1), bytes);
    item->value_bytes = bytes->size() - item->offset - item->key_bytes;
  }
  if (!wrong.empty()) bytes->resize(item->offset);
  return wrong;
}

LineReader::LineReader(int fd, size_t line_bytes_max) : fd_(fd), line_bytes_max_(line_bytes_max) {}

LineReader::Line LineReader::Take(size_t bytes, size_t newline_bytes) {
  const std::string_view text(buffer_.data() + begin_, bytes);
  begin_ += bytes + newline_bytes;
  searched_ = begin_;
  ++number_;
  if (std::exchange(too_long_, false) || bytes > line_bytes_max_) return {Kind::kTooLong};
  return {Kind::kLine, text};
}

// In what has not been searched yet; nullptr when there is none.
const char* LineReader::FindNewline() const {
  if (searched_ == end_) return nullptr;
  return static_cast<const char*>(std::memchr(buffer_.data() + searched_, '\n', end_ - searched_));
}

LineReader::Line LineReader::Next() {
  while (true) {
    if (const char* newline = FindNewline()) {
      return Take(static_cast<size_t>(newline - buffer_.data()) - begin_, 1);
    }
    searched_ = end_;
    if (end_ - begin_ > line_bytes_max_) {
      too_long_ = true;
      begin_ = end_;
    }
    if (at_end_) {
      if (begin_ == end_ && !too_long_) return {Kind::kEnd};
      return Take(end_ - begin_, 0);
    }
    if (!Fill()) return {Kind::kFailed};
  }
}

// Reads once, behind what is not yet returned.
bool LineReader::Fill() {
  if (begin_ > 0) {
    std::memmove(buffer_.data(), buffer_.data() + begin_, end_ - begin_);
    end_ -= begin_;
    searched_ -= begin_;
    begin_ = 0;
  }
  // Doubled, so that a long line is moved a few times only.
  if (buffer_.size() - end_ < kReadBytes) buffer_.resize(std::max(2 * end_, end_ + kReadBytes));
  ssize_t got;
  do {
    got = ::read(fd_, buffer_.data() + end_, buffer_.size() - end_);
  } while (got < 0 && errno == EINTR);
  if (got < 0) error_number_ = errno;
  if (got == 0) at_end_ = true;
  if (got > 0) end_ += static_cast<size_t>(got);
  return got >= 0;
}

bool LineReader::MustWait() const {
  if (at_end_ || FindNewline() != nullptr) return false;
  pollfd readable{fd_, POLLIN, 0};
  return ::poll(&readable, 1, 0) == 0;
}

}  // namespace plov::cli
