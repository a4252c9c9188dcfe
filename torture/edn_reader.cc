#include "torture/edn_reader.h"

#include <algorithm>

namespace plov::torture {

namespace {

// Deeper nesting is nobody's history, and would be our stack.
constexpr size_t kDepthMax = 100;

std::string Quoted(std::string_view text) {
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') quoted += '\\';
    quoted += c;
  }
  return quoted + '"';
}

}  // namespace

const EdnValue* EdnValue::Find(std::string_view name) const {
  if (type != Type::kMap) return nullptr;
  for (size_t i = 0; i + 1 < items.size(); i += 2) {
    const bool is_name = items[i].type == Type::kKeyword || items[i].type == Type::kString;
    if (is_name && items[i].text == name) return &items[i + 1];
  }
  return nullptr;
}

std::string EdnValue::Canonical() const {
  switch (type) {
    case Type::kNil:
      return "nil";
    case Type::kAtom:
      return text;
    case Type::kString:
      return Quoted(text);
    case Type::kKeyword:
      return ":" + text;
    case Type::kSequence:
    case Type::kMap:
      break;
  }
  std::string all(1, type == Type::kMap ? '{' : '[');
  for (const EdnValue& item : items) {
    if (all.size() > 1) all += ' ';
    all += item.Canonical();
  }
  return all + (type == Type::kMap ? '}' : ']');
}

std::unexpected<Error> EdnReader::Wrong(std::string_view what) const {
  return Fail(Code::kInvalidArgument, std::to_string(line_) + ": " + std::string(what));
}

bool EdnReader::IsBlank(char c) const {
  return c == ' ' || c == ',' || (c >= '\t' && c <= '\r') || (is_json_ && c == ':');
}

bool EdnReader::EndsWord(char c) const {
  return c == '\0' || IsBlank(c) || std::string_view("()[]{}\";").find(c) != std::string_view::npos;
}

void EdnReader::Skip() {
  if (text_[at_++] == '\n') ++line_;
}

void EdnReader::SkipBlanks() {
  while (!AtEnd() && (IsBlank(Peek()) || Peek() == ';')) {
    if (Peek() != ';') {
      Skip();
      continue;
    }
    while (!AtEnd() && Peek() != '\n') Skip();
  }
}

std::expected<std::optional<EdnValue>, Error> EdnReader::Next() {
  for (;;) {
    SkipBlanks();
    if (AtEnd()) return std::nullopt;
    const bool is_discarded = Peek() == '#' && Peek(1) == '_';
    if (is_discarded) at_ += 2;
    auto value = Read(0);
    if (!value) return std::unexpected(value.error());
    if (!is_discarded) return std::move(*value);
  }
}

EdnReader::Result EdnReader::Read(size_t depth) {
  using Type = EdnValue::Type;
  SkipBlanks();
  if (AtEnd()) return Wrong("the file ends within a value");
  if (depth > kDepthMax) return Wrong("values are nested too deep");
  switch (Peek()) {
    case '"':
      return ReadString();
    case '[':
      return ReadItems(Type::kSequence, ']', depth);
    case '(':
      return ReadItems(Type::kSequence, ')', depth);
    case '{':
      return ReadItems(Type::kMap, '}', depth);
    case '#':
      return ReadDispatch(depth);
    case ')':
    case ']':
    case '}':
      return Wrong(std::string("there is nothing that '") + Peek() + "' closes");
    default:
      return ReadWord();
  }
}

EdnReader::Result EdnReader::ReadString() {
  EdnValue value{.type = EdnValue::Type::kString, .line = line_};
  Skip();
  while (!AtEnd() && Peek() != '"') {
    if (Peek() == '\\') {
      Skip();
      if (AtEnd()) break;
      const std::string_view from = "nrt";
      const size_t escape = from.find(Peek());
      value.text += escape == std::string_view::npos ? Peek() : "\n\r\t"[escape];
    } else {
      value.text += Peek();
    }
    Skip();
  }
  if (AtEnd()) return Wrong("a string has no end");
  Skip();
  return value;
}

EdnReader::Result EdnReader::ReadWord() {
  EdnValue value{.type = EdnValue::Type::kAtom, .line = line_};
  const size_t begin = at_;
  // A character may be one that ends words: \( is one.
  if (Peek() == '\\') at_ += 2;
  while (!EndsWord(Peek())) ++at_;
  at_ = std::min(at_, text_.size());
  value.text = text_.substr(begin, at_ - begin);
  if (value.text.empty()) return Wrong("a byte that no value begins with");
  if (value.text == (is_json_ ? "null" : "nil")) value = {.line = line_};
  if (value.text.starts_with(':')) {
    value.type = EdnValue::Type::kKeyword;
    value.text.erase(0, 1);
    if (value.text.empty()) return Wrong("a keyword without a name");
  }
  return value;
}

EdnReader::Result EdnReader::ReadItems(EdnValue::Type type, char closing, size_t depth) {
  EdnValue value{.type = type, .line = line_};
  Skip();
  for (;;) {
    SkipBlanks();
    if (AtEnd()) {
      return Wrong("the file ends within what line " + std::to_string(value.line) + " opens");
    }
    if (Peek() == closing) break;
    const bool is_discarded = Peek() == '#' && Peek(1) == '_';
    if (is_discarded) at_ += 2;
    auto item = Read(depth + 1);
    if (!item) return item;
    if (!is_discarded) value.items.push_back(std::move(*item));
  }
  Skip();
  if (type == EdnValue::Type::kMap && value.items.size() % 2 != 0) {
    return Wrong("a map has a key without a value");
  }
  return value;
}

// A set, or a tag.
EdnReader::Result EdnReader::ReadDispatch(size_t depth) {
  if (Peek(1) == '{') {
    ++at_;
    return ReadItems(EdnValue::Type::kSequence, '}', depth);
  }
  Skip();
  if (auto tag = ReadWord(); !tag) return tag;
  return Read(depth + 1);
}

}  // namespace plov::torture
