#include "program/output.h"

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <system_error>

#include "program/json.h"

namespace plov::program {

namespace {

constexpr size_t kBufferBytes = size_t{64} << 10;  // what a pipe takes at once

// Of a character, or of a byte that begins none. C1 has two bytes in UTF-8, and one elsewhere.
bool IsControl(std::string_view character) {
  const auto first = static_cast<unsigned char>(character[0]);
  if (character.size() == 1) {
    return (first < 0x20 && first != '\t' && first != '\n') || first >= 0x7f;
  }
  return first == 0xc2 && static_cast<unsigned char>(character[1]) < 0xa0;
}

}  // namespace

int WriteAll(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(fd, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return errno;
    bytes.remove_prefix(static_cast<size_t>(written));
  }
  return 0;
}

std::string ForTerminal(std::string_view text) {
  std::string shown;
  while (!text.empty()) {
    const size_t count = std::max<size_t>(CharacterBytes(text), 1);
    const std::string_view character = text.substr(0, count);
    text.remove_prefix(count);
    if (!IsControl(character)) {
      shown += character;
      continue;
    }
    for (const char c : character) {
      shown += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
    }
  }
  return shown;
}

Output::Output(int fd) : fd_(fd), is_terminal_(::isatty(fd) == 1) {}

void Output::Write(std::string_view bytes) {
  if (!good()) return;
  if (is_terminal_) {
    buffer_ += ForTerminal(bytes);
  } else {
    buffer_.append(bytes);
  }
  if (buffer_.size() >= kBufferBytes) Flush();
}

void Output::Flush() {
  if (good()) error_number_ = WriteAll(fd_, buffer_);
  buffer_.clear();
}

std::expected<void, Error> Output::Finish() {
  Flush();
  if (good()) return {};
  return Fail(Code::kSystem, fmt::format("cannot write to standard output: {}; the output is cut",
                                         std::generic_category().message(error_number_)));
}

}  // namespace plov::program
