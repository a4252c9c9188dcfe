// LineEditor: lines that a user types at the terminal, which is standard input and output. With libedit
// they can be edited, TAB completes commands and options, and lines of former times come back; without it
// they are read as the terminal gives them.
//
// Threads: one. SIGINT and SIGTSTP are to be ignored: at the prompt Ctrl-C and Ctrl-Z are keys.
#pragma once

#include <expected>
#include <memory>
#include <string>

#include "verify/error.h"

namespace plov::cli {

class LineEditor {
 public:
  enum class Kind { kLine, kInterrupted, kEnd };
  struct Line {
    Kind kind;
    std::string text = {};  // without its newline
  };

  // kSystem: memory ran out, or the terminal cannot be used.
  static std::expected<LineEditor, Error> Open(const std::string& prompt);
  LineEditor(LineEditor&&) noexcept;
  ~LineEditor();

  Line Next();

 private:
  struct Parts;

  explicit LineEditor(std::unique_ptr<Parts> parts);

  std::unique_ptr<Parts> parts_;
};

}  // namespace plov::cli
