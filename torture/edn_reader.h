// EDN reader: values of Clojure's extensible data notation, as Jepsen writes histories.
//
// Read are nil, booleans, numbers, strings, characters, keywords, symbols, lists, vectors, maps,
// sets, comments and discarded forms. A tag (#inst, #jepsen.history.Op) is dropped, and what it
// tags is kept. JSON is read as the same values: its colons are blanks and its null is nil. Source:
// edn-format/edn.
#pragma once

#include <cstddef>
#include <cstdint>
#include <expected>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "verify/error.h"

namespace plov::torture {

struct EdnValue {
  enum class Type : uint8_t { kNil, kAtom, kString, kKeyword, kSequence, kMap };

  Type type = Type::kNil;
  std::string text = {};             // of an atom, as it is written; of a keyword without its colon
  std::vector<EdnValue> items = {};  // of a map keys and values in turn
  size_t line = 0;

  bool is_nil() const { return type == Type::kNil; }
  bool IsKeyword(std::string_view name) const { return type == Type::kKeyword && text == name; }
  // Of a map, by keyword or string; nullptr where there is none.
  const EdnValue* Find(std::string_view name) const;
  // The same text for the same value, however it was written.
  std::string Canonical() const;
};

class EdnReader {
 public:
  // text: stays alive.
  enum class Notation { kEdn, kJson };
  explicit EdnReader(std::string_view text, Notation notation = Notation::kEdn)
      : text_(text), is_json_(notation == Notation::kJson) {}

  // The next value, or nothing at the end. Errors: kInvalidArgument with "LINE: what is wrong".
  std::expected<std::optional<EdnValue>, Error> Next();

 private:
  using Result = std::expected<EdnValue, Error>;

  bool AtEnd() const { return at_ >= text_.size(); }
  char Peek(size_t ahead = 0) const {
    return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0';
  }
  bool IsBlank(char c) const;
  bool EndsWord(char c) const;
  void Skip();
  void SkipBlanks();
  std::unexpected<Error> Wrong(std::string_view what) const;
  Result Read(size_t depth);
  Result ReadString();
  Result ReadWord();
  Result ReadItems(EdnValue::Type type, char closing, size_t depth);
  Result ReadDispatch(size_t depth);

  std::string_view text_;
  bool is_json_;
  size_t at_ = 0;
  size_t line_ = 1;
};

}  // namespace plov::torture
