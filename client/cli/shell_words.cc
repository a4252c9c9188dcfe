#include "client/cli/shell_words.h"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>

namespace plov::cli {

namespace {

constexpr std::string_view kBlanks = " \t\r";
constexpr std::string_view kWordEnds = " \t\r'\"\\";

class Splitter {
 public:
  explicit Splitter(std::string_view line) : rest_(line) {}

  std::expected<std::vector<std::string>, Error> Words() {
    std::vector<std::string> words;
    while (SkipBlanks()) {
      words.emplace_back();
      if (auto taken = TakeWord(&words.back()); !taken) return std::unexpected(taken.error());
    }
    return words;
  }

 private:
  using Taken = std::expected<void, Error>;

  static std::unexpected<Error> Endless(std::string_view what) {
    return Fail(Code::kInvalidArgument, fmt::format("the line ends within {}", what));
  }

  // False at the end.
  bool SkipBlanks() {
    rest_.remove_prefix(std::min(rest_.find_first_not_of(kBlanks), rest_.size()));
    return !rest_.empty();
  }

  char TakeByte() {
    const char byte = rest_[0];
    rest_.remove_prefix(1);
    return byte;
  }

  // Parts that touch each other are one word.
  Taken TakeWord(std::string* word) {
    while (!rest_.empty() && kBlanks.find(rest_[0]) == kBlanks.npos) {
      const size_t plain = std::min(rest_.find_first_of(kWordEnds), rest_.size());
      word->append(rest_.substr(0, plain));
      rest_.remove_prefix(plain);
      if (plain > 0) continue;
      if (auto taken = TakeQuoted(TakeByte(), word); !taken) return taken;
    }
    return {};
  }

  Taken TakeQuoted(char quote, std::string* word) {
    if (quote == '\'') return TakeSingle(word);
    if (quote == '"') return TakeDouble(word);
    if (rest_.empty()) return Endless("an escape: a backslash takes the byte behind it as it is");
    *word += TakeByte();
    return {};
  }

  Taken TakeSingle(std::string* word) {
    const size_t end = rest_.find('\'');
    if (end == rest_.npos) return Endless("'...'");
    word->append(rest_.substr(0, end));
    rest_.remove_prefix(end + 1);
    return {};
  }

  Taken TakeDouble(std::string* word) {
    while (!rest_.empty()) {
      const char byte = TakeByte();
      if (byte == '"') return {};
      if (byte != '\\') {
        *word += byte;
      } else if (auto taken = TakeEscape(word); !taken) {
        return taken;
      }
    }
    return Endless("\"...\"");
  }

  Taken TakeEscape(std::string* word) {
    if (rest_.empty()) return {};  // the quotes have no end either
    const char letter = TakeByte();
    if (letter == 'x') return TakeHex(word);
    constexpr std::string_view kLetters = "nrt\"\\";
    constexpr std::string_view kBytes = "\n\r\t\"\\";
    const size_t known = kLetters.find(letter);
    if (known == kLetters.npos) *word += '\\';  // it is itself, as in a shell
    *word += known == kLetters.npos ? letter : kBytes[known];
    return {};
  }

  Taken TakeHex(std::string* word) {
    unsigned byte = 0;
    const std::string_view digits = rest_.substr(0, 2);
    const auto [end, failure] =
        std::from_chars(digits.data(), digits.data() + digits.size(), byte, 16);
    if (failure != std::errc() || end != digits.data() + 2) {
      return Fail(Code::kInvalidArgument,
                  fmt::format("'\\x{}' is not a byte: two hexadecimal digits follow \\x", digits));
    }
    *word += static_cast<char>(byte);
    rest_.remove_prefix(2);
    return {};
  }

  std::string_view rest_;
};

}  // namespace

std::expected<std::vector<std::string>, Error> SplitWords(std::string_view line) {
  return Splitter(line).Words();
}

}  // namespace plov::cli
