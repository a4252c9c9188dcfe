#include "door/redis/inline_words.h"

#include <cctype>

namespace plov::door::redis {

namespace {

bool IsSpace(char c) { return std::isspace(static_cast<unsigned char>(c)) != 0; }

int HexDigit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

char EscapedCharacter(char c) {
  switch (c) {
    case 'n':
      return '\n';
    case 'r':
      return '\r';
    case 't':
      return '\t';
    case 'b':
      return '\b';
    case 'a':
      return '\a';
    default:
      return c;
  }
}

// The rest of a line, taken from its beginning.
class Rest {
 public:
  explicit Rest(std::string_view text) : text_(text) {}

  void SkipSpaces() {
    while (!text_.empty() && IsSpace(text_[0])) text_.remove_prefix(1);
  }
  bool is_empty() const { return text_.empty(); }

  bool TakeWord(std::string* word) {
    while (!text_.empty() && !IsSpace(text_[0])) {
      const char c = text_[0];
      text_.remove_prefix(1);
      if (c == '"' || c == '\'') {
        return (c == '"' ? TakeDoubleQuoted(word) : TakeSingleQuoted(word)) &&
               (text_.empty() || IsSpace(text_[0]));
      }
      *word += c;
    }
    return true;
  }

 private:
  bool TakeDoubleQuoted(std::string* word) {
    while (!text_.empty()) {
      const char c = text_[0];
      if (c == '"') {
        text_.remove_prefix(1);
        return true;
      }
      const bool is_hex = text_.size() >= 4 && c == '\\' && text_[1] == 'x' &&
                          HexDigit(text_[2]) >= 0 && HexDigit(text_[3]) >= 0;
      if (is_hex) {
        *word += static_cast<char>(HexDigit(text_[2]) * 16 + HexDigit(text_[3]));
        text_.remove_prefix(4);
      } else if (c == '\\' && text_.size() >= 2) {
        *word += EscapedCharacter(text_[1]);
        text_.remove_prefix(2);
      } else {
        *word += c;
        text_.remove_prefix(1);
      }
    }
    return false;
  }

  bool TakeSingleQuoted(std::string* word) {
    while (!text_.empty()) {
      if (text_[0] == '\'') {
        text_.remove_prefix(1);
        return true;
      }
      if (text_.starts_with("\\'")) text_.remove_prefix(1);
      *word += text_[0];
      text_.remove_prefix(1);
    }
    return false;
  }

  std::string_view text_;
};

}  // namespace

bool SplitInline(std::string_view line, std::vector<std::string>* words) {
  Rest rest(line.substr(0, line.find('\0')));
  for (rest.SkipSpaces(); !rest.is_empty(); rest.SkipSpaces()) {
    if (!rest.TakeWord(&words->emplace_back())) return false;
  }
  return true;
}

}  // namespace plov::door::redis
